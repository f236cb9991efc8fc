/* The worker of the supervisor: all that has to do with files (guard.h says why). It follows what
 * is recorded, samples, keeps the budget, and sums up at the end. */
#ifndef SUPERVISE_WORKER_H
#define SUPERVISE_WORKER_H

#include "report/report.h"
#include "supervise/job.h"
#include "supervise/keeper.h"
#include "supervise/live.h"
#include "supervise/samples.h"
#include "supervise/supervise.h"
#include "supervise/supervise_parts.h"

struct supervisor {
    const struct supervision *wish;
    struct run_place place;
    struct job job;
    struct run_facts facts;
    struct live live;
    struct run_budget budget;
    struct windows windows;          /* of operations */
    struct tensorboard *tensorboard; /* NULL: not wanted */
    struct keeper *keeper;           /* NULL: files hold what their processes have copied */
    struct samples *samples;         /* NULL: none are taken */
    struct snapshot *snapshot;       /* of all, once it is summed up; NULL: it is not */
    struct analysis analysis;        /* of that */
    uint64_t start_ticks;            /* of the command, as the kernel counts */
    bool is_out_of_reach;            /* the command cannot record, which was noted */
    int64_t feed_at_ns, status_at_ns;
    int64_t refresh_from_ns; /* not before this for a status line: a tenth of a core */
};

/* All of the worker's life, of a `struct supervisor` whose command has been started. */
void worker_do(void *supervisor);

#endif
