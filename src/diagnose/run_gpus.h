/* Which GPUs the run uses: what others do with theirs, or leave, is not ours. Inside of a container the driver
 * names processes by numbers of the host, so that there it may be a guess. */
#ifndef DIAGNOSE_RUN_GPUS_H
#define DIAGNOSE_RUN_GPUS_H

#include "model/snapshot.h"

struct run_gpus {
    uint64_t used;  /* a bit each */
    bool is_guess;  /* somebody computes on them, and the run may see them */
    bool is_hidden; /* none are known, because processes could not be told */
};

struct run_gpus run_gpus_of(const struct snapshot *snapshot, const struct ss_run *run);

bool run_gpus_has(const struct run_gpus *gpus, uint64_t gpu);

#endif
