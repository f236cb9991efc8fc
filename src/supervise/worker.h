/* The worker of the supervisor: all that has to do with files (guard.h says why). It follows what
 * is recorded, samples, keeps the budget, and sums up at the end. */
#ifndef SUPERVISE_WORKER_H
#define SUPERVISE_WORKER_H

#include "job/job_view.h"
#include "report/report.h"
#include "supervise/job.h"
#include "supervise/job_place.h"
#include "supervise/keeper.h"
#include "supervise/live.h"
#include "supervise/samples.h"
#include "supervise/supervise.h"
#include "supervise/supervise_parts.h"

struct supervisor {
    const struct supervision *wish;
    struct run_place place;
    struct job_place job_place; /* the job that the launch is a part of */
    struct job_view view;       /* of that, once it is summed up */
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
    int64_t feed_at_ns, status_at_ns, part_at_ns;
    int64_t begin_realtime_ns; /* of the command */
    uint64_t part_sequence;    /* of the last part */
    int lowest_rank;           /* that recorded; -1: none */
    int64_t refresh_from_ns;   /* not before this for a status line: a tenth of a core */
};

/* All of the worker's life, of a `struct supervisor` whose command has been started. */
void worker_do(void *supervisor);

/* job_part.c: what the worker does for the job that its launch belongs to (job_place.h): the part,
 * again and again, and at the end the summary of the job by one of its supervisors. Without a job
 * nothing. */

/* So that the others know of this launch. */
void job_part_begin(struct supervisor *s);

/* Writes a new one if it is time; when the next one is due, INT64_MAX: never. */
int64_t job_part_follow(struct supervisor *s);

/* The last one: from `s->snapshot` and what was concluded from it. */
void job_part_end(struct supervisor *s);

/* Whether this supervisor prints the summary: the one with the lowest rank. It waits up to two
 * seconds for the parts of the others; then `s->snapshot` has the whole job. */
bool job_part_gather(struct supervisor *s);

/* Lists of runs show the job as one. */
void job_part_keep_result(struct supervisor *s);

#endif
