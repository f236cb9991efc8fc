/* Cores that this process may use, and whether their clock changes with the load. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/checks.h"
#include "supervise/allowed_cores.h"
#include "supervise/proc_file.h"

static bool read_of_core(int core, const char *name, char *out, size_t size)
{
    char path[128];

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/%s", core, name);
    if (!proc_read(path, out, size))
        return false;
    out[strcspn(out, "\n")] = '\0';
    return true;
}

static void say_governor(struct doctor *doctor, int core)
{
    char governor[64], now[32], most[32];

    if (core < 0 || !read_of_core(core, "scaling_governor", governor, sizeof governor)) {
        doctor_say_unknown(doctor, "governor", "no cpufreq, as in most virtual machines");
        return;
    }
    const bool is_steady = strcmp(governor, "performance") == 0;
    const double now_ghz = read_of_core(core, "scaling_cur_freq", now, sizeof now)
                               ? strtod(now, NULL) / 1e6
                               : 0;
    const double most_ghz = read_of_core(core, "cpuinfo_max_freq", most, sizeof most)
                                ? strtod(most, NULL) / 1e6
                                : 0;
    doctor_say(doctor, "governor", is_steady ? DOCTOR_OK : DOCTOR_WARN,
               "%s, core %d at %.2f of %.2f GHz", governor, core, now_ghz, most_ghz);
    doctor_value(doctor, now_ghz * 1e9, "Hz");
    if (!is_steady)
        doctor_advise(doctor, "clocks follow the load; for steady numbers: cpupower "
                              "frequency-set -g performance");
}

void check_cores(struct doctor *doctor)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    struct allowed_cores allowed;
    int first = -1;

    allowed_cores_look(&allowed);
    if (allowed.count == 0) {
        doctor_say_unknown(doctor, "cores", "the affinity cannot be read");
        say_governor(doctor, 0);
        return;
    }
    for (int core = 0; core < CPU_SETSIZE && first < 0; core++)
        first = CPU_ISSET((size_t)core, &allowed.set) ? core : -1;
    doctor_say(doctor, "cores", allowed.count < 2 ? DOCTOR_WARN : DOCTOR_OK,
               "%zu of %ld may be used", allowed.count, online);
    doctor_value(doctor, (double)allowed.count, "cores");
    if (allowed.count < 2)
        doctor_advise(doctor, "training, its loaders and the recorder share one core; "
                              "allow more, with taskset or in the container");
    say_governor(doctor, first);
}
