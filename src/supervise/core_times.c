#include "supervise/core_times.h"

/* One that goes back was set to 0 by somebody. */
static uint64_t gain(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

bool core_times_add(struct core_times *times, const struct allowed_cores *allowed,
                    const struct proc_cpus *cpus)
{
    size_t found = 0;

    for (size_t i = 0; i < cpus->count; i++) {
        const uint32_t core = cpus->number[i];
        if (core >= CPU_SETSIZE)
            continue;
        if (allowed_cores_has(allowed, core)) {
            found++;
            if (times->is_seen[core]) {
                times->busy += gain(cpus->busy_of[i], times->last_busy[core]);
                times->steal += gain(cpus->steal_of[i], times->last_steal[core]);
            }
        }
        times->is_seen[core] = true;
        times->last_busy[core] = cpus->busy_of[i];
        times->last_steal[core] = cpus->steal_of[i];
    }
    return found > 0 && found == allowed->count;
}
