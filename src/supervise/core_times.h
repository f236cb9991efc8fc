/* How long the cores that a command may use have worked, and how long they were taken away, as totals that do not jump
 * when these are other cores than before: what each gains counts while it is one of them. */
#ifndef SUPERVISE_CORE_TIMES_H
#define SUPERVISE_CORE_TIMES_H

#include "supervise/allowed_cores.h"

struct core_times {
    uint64_t busy, steal; /* of those that were allowed, since the first look; in ticks */
    bool is_seen[CPU_SETSIZE];
    uint64_t last_busy[CPU_SETSIZE], last_steal[CPU_SETSIZE];
};

/* False: the cores are not known, or the kernel's list numbers them otherwise, as in some containers. */
bool core_times_add(struct core_times *times, const struct allowed_cores *allowed,
                    const struct proc_cpus *cpus);

#endif
