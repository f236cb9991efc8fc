/* Memory that is left, and swap. */
#include "base/units.h"
#include "doctor/checks.h"
#include "supervise/proc_file.h"
#include "supervise/proc_text.h"

#define KB ((uint64_t)1024)
#define LITTLE_BYTES (1024 * KB * KB)
#define TOO_LITTLE_BYTES (128 * KB * KB)

static void say_available(struct doctor *doctor, const char *meminfo)
{
    char left[UNITS_SIZE], all[UNITS_SIZE];
    uint64_t available, total;

    if (!proc_text_field(meminfo, "MemAvailable", &available) ||
        !proc_text_field(meminfo, "MemTotal", &total)) {
        doctor_say_unknown(doctor, "available", "/proc/meminfo does not tell");
        return;
    }
    const uint64_t bytes = available * KB;
    const enum doctor_state state = bytes < TOO_LITTLE_BYTES ? DOCTOR_BAD
                                    : bytes < LITTLE_BYTES   ? DOCTOR_WARN
                                                             : DOCTOR_OK;
    doctor_say(doctor, "available", state, "%s of %s", units_bytes(left, bytes),
               units_bytes(all, total * KB));
    doctor_value(doctor, (double)bytes, "bytes");
    if (state != DOCTOR_OK)
        doctor_advise(doctor,
                      "end what holds the rest, before training swaps or is killed");
}

static void say_swap(struct doctor *doctor, const char *meminfo)
{
    char used[UNITS_SIZE], all[UNITS_SIZE];
    uint64_t total, left;

    if (!proc_text_field(meminfo, "SwapTotal", &total) ||
        !proc_text_field(meminfo, "SwapFree", &left) || left > total) {
        doctor_say_unknown(doctor, "swap", "/proc/meminfo does not tell");
        return;
    }
    if (total == 0)
        doctor_say(doctor, "swap", DOCTOR_OK, "none");
    else
        doctor_say(doctor, "swap", DOCTOR_OK, "%s of %s in use",
                   units_bytes(used, (total - left) * KB), units_bytes(all, total * KB));
    doctor_value(doctor, (double)((total - left) * KB), "bytes");
}

void check_memory(struct doctor *doctor)
{
    char meminfo[PROC_TEXT_SIZE];

    (void)proc_read("/proc/meminfo", meminfo, sizeof meminfo);
    say_available(doctor, meminfo);
    say_swap(doctor, meminfo);
}
