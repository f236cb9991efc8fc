/* The cores that this process may use, and so whatever it starts: fewer than the machine has where
 * a cluster, a container or taskset gives it a part. What it starts may take fewer still, or
 * others: then those of its threads. */
#ifndef SUPERVISE_ALLOWED_CORES_H
#define SUPERVISE_ALLOWED_CORES_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervise/proc_text.h"

struct allowed_cores {
    cpu_set_t set;
    size_t count; /* 0: not known */
};

void allowed_cores_look(struct allowed_cores *cores);

/* From now on those that any of these threads may use. As before if none of them is there. */
void allowed_cores_follow(struct allowed_cores *cores, const pid_t *threads, size_t count);

bool allowed_cores_has(const struct allowed_cores *cores, size_t core);

/* How many ticks they have worked. False: not known, or the kernel's list numbers them otherwise,
 * as in some containers. */
bool allowed_cores_busy(const struct allowed_cores *cores, const struct proc_cpus *cpus,
                        uint64_t *busy);

struct core_times {
    uint64_t busy, steal; /* of those that were allowed, since the first look; in ticks */
    bool is_seen[CPU_SETSIZE];
    uint64_t last_busy[CPU_SETSIZE], last_steal[CPU_SETSIZE];
};

/* False: the cores are not known, or the kernel's list numbers them otherwise, as in some
 * containers. */
bool core_times_add(struct core_times *times, const struct allowed_cores *allowed,
                    const struct proc_cpus *cpus);

#endif
