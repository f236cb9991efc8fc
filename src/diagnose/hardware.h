/* Which cores and GPUs of the machine a run works on, and what holds their clocks down. */
#ifndef DIAGNOSE_HARDWARE_H
#define DIAGNOSE_HARDWARE_H

#include "summary/snapshot.h"

/* Which cores the run works on: those that the threads of its loops may use, if it works on no
 * others. */

struct run_cores {
    size_t count;                     /* 0: not measurable */
    const struct snap_resource *busy; /* the time in which they worked; NULL: not known */
};

struct run_cores run_cores_of(const struct snapshot *snapshot);

/* Which GPUs the run uses: what others do with theirs, or leave, is not ours. Inside a container
 * the driver names processes by numbers of the host, so that there it may be a guess. */

struct run_gpus {
    uint64_t used;  /* a bit each */
    bool is_guess;  /* a process computes on them, and the run may see them */
    bool is_hidden; /* none are known, because processes could not be told */
};

struct run_gpus run_gpus_of(const struct snapshot *snapshot, const struct ss_run *run);

bool run_gpus_has(const struct run_gpus *gpus, uint64_t gpu);

/* What holds the clock of a GPU down that no user has asked for: heat, a cap on its power, its
 * hardware. */

enum { GPU_HELD_SIZE = 96 };

/* "heat 40 %, power cap 7 %": parts of the time; "": nothing did, or it is not known. */
const char *gpu_held_text(char out[GPU_HELD_SIZE], const struct snapshot *snapshot, uint64_t gpu);

/* How far the mean clock of a GPU that is busy was below its highest, if it was held in a good part
 * of the time; 0: it was not, or it is not known. */
double gpu_held_lost(const struct snapshot *snapshot, uint64_t gpu);

#endif
