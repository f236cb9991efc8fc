#include "supervise/allowed_cores.h"

void allowed_cores_look(struct allowed_cores *cores)
{
    CPU_ZERO(&cores->set);
    cores->count = sched_getaffinity(0, sizeof cores->set, &cores->set) == 0
                       ? (size_t)CPU_COUNT(&cores->set)
                       : 0;
}

bool allowed_cores_busy(const struct allowed_cores *cores, const struct proc_cpus *cpus,
                        uint64_t *busy)
{
    size_t found = 0;

    *busy = 0;
    for (size_t i = 0; i < cpus->count; i++)
        if (cpus->number[i] < CPU_SETSIZE &&
            CPU_ISSET((size_t)cpus->number[i], &cores->set)) {
            *busy += cpus->busy_of[i];
            found++;
        }
    return found > 0 && found == cores->count;
}
