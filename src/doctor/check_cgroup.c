/* Limits of CPU time and memory that a cgroup sets, as containers and job queues do. */
#include "base/units.h"
#include "doctor/checks.h"
#include "supervise/allowed_cores.h"
#include "supervise/cgroup_limits.h"
#include "supervise/proc_file.h"

#define ROOT "/sys/fs/cgroup"
#define MB ((double)(1 << 20))

static const double little_bytes = 1024 * MB, too_little_bytes = 64 * MB;

static void say_cpu(struct doctor *doctor, struct cgroup_limit limit)
{
    struct allowed_cores allowed;

    allowed_cores_look(&allowed);
    if (!limit.is_seen) {
        doctor_say_unknown(doctor, "CPU", "no cgroup tells");
        return;
    }
    if (limit.most == 0) {
        doctor_say(doctor, "CPU", DOCTOR_OK, "none");
        return;
    }
    const bool bites = limit.most < (double)allowed.count;
    doctor_say(doctor, "CPU", bites ? DOCTOR_WARN : DOCTOR_OK,
               "%.2f cores' time by a cgroup", limit.most);
    doctor_value(doctor, limit.most, "cores");
    if (bites)
        doctor_advise(doctor,
                      "all threads stop together each time it is used up: start no "
                      "more of them than that, or raise it");
}

static void say_memory(struct doctor *doctor, struct cgroup_limit limit)
{
    char left_text[UNITS_SIZE], most_text[UNITS_SIZE];

    if (!limit.is_seen) {
        doctor_say_unknown(doctor, "memory", "no cgroup tells");
        return;
    }
    if (limit.most == 0) {
        doctor_say(doctor, "memory", DOCTOR_OK, "none");
        return;
    }
    const double left = limit.most > limit.used ? limit.most - limit.used : 0;
    const enum doctor_state state = left < too_little_bytes ? DOCTOR_BAD
                                    : left < little_bytes   ? DOCTOR_WARN
                                                            : DOCTOR_OK;
    doctor_say(doctor, "memory", state, "%s by a cgroup, %s left",
               units_bytes(most_text, (uint64_t)limit.most),
               units_bytes(left_text, (uint64_t)left));
    doctor_value(doctor, limit.most, "bytes");
    if (state != DOCTOR_OK)
        doctor_advise(doctor, "raise it, or training will be killed when it is used up");
}

void check_cgroup(struct doctor *doctor)
{
    char cgroups[4096];

    (void)proc_read("/proc/self/cgroup", cgroups, sizeof cgroups);
    say_cpu(doctor, cgroup_limit_cpu(ROOT, cgroups));
    say_memory(doctor, cgroup_limit_memory(ROOT, cgroups));
}
