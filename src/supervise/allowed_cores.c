#include "supervise/allowed_cores.h"

void allowed_cores_look(struct allowed_cores *cores)
{
    CPU_ZERO(&cores->set);
    cores->count = sched_getaffinity(0, sizeof cores->set, &cores->set) == 0
                       ? (size_t)CPU_COUNT(&cores->set)
                       : 0;
}

void allowed_cores_follow(struct allowed_cores *cores, const pid_t *threads, size_t count)
{
    struct allowed_cores next = {.count = 0};

    CPU_ZERO(&next.set);
    for (size_t i = 0; i < count; i++) {
        cpu_set_t own;
        if (sched_getaffinity(threads[i], sizeof own, &own) == 0)
            CPU_OR(&next.set, &next.set, &own);
    }
    next.count = (size_t)CPU_COUNT(&next.set);
    if (next.count > 0)
        *cores = next;
}

bool allowed_cores_has(const struct allowed_cores *cores, size_t core)
{
    return core < CPU_SETSIZE && CPU_ISSET(core, &cores->set);
}

bool allowed_cores_busy(const struct allowed_cores *cores, const struct proc_cpus *cpus,
                        uint64_t *busy)
{
    size_t found = 0;

    *busy = 0;
    for (size_t i = 0; i < cpus->count; i++)
        if (allowed_cores_has(cores, cpus->number[i])) {
            *busy += cpus->busy_of[i];
            found++;
        }
    return found > 0 && found == cores->count;
}

/* One that falls was reset by another program. */
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
