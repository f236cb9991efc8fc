/* A job: all launches of one distributed training, from their parts.
 *
 * The order in which parts are added does not matter. A launch of which there are two parts counts
 * by the newer one; a rank that two launches recorded counts by the one that started last. Parts of
 * another job, of another version and damaged ones are skipped, and listed. */
#ifndef JOB_JOB_VIEW_H
#define JOB_JOB_VIEW_H

#include "job/part.h"
#include "summary/snapshot.h"

struct job_launch {
    uint64_t id, sequence;
    char *job, *launcher, *host, *directory, *path;
    uint8_t boot_id[16];
    bool has_ended, is_replaced;
    int exit_code, signal;
    int64_t begin_raw_ns, begin_realtime_ns, last_raw_ns, last_realtime_ns, clock_error_ns;
    uint64_t lost_records;
    struct part_counter machine[PART_MACHINE_MOST];
    size_t counters;
    struct part_finding findings[PART_FINDINGS_MOST];
    size_t finding_count;
    size_t ranks;     /* of this job: those that count */
    int first_rank;   /* the lowest of them; -1: none */
    uint32_t host_at; /* its place among the hosts */
};

struct job_rank {
    int rank;
    uint32_t world, pid;
    size_t launch;
    int64_t started_ns, steps, steady_steps, steady_ns, wall_ns;
    uint32_t measured;
    double mean_ns[SS_STAGE_COUNT];     /* a steady step */
    double p50_ns, p95_ns, max_ns;      /* of steady steps; NAN: not known */
    double window_ns[SNAP_OWN_WINDOWS]; /* own work, over time */
    int windows;
    struct shared_step *shared;
    size_t shared_count;
    size_t compared_at; /* its place in `compared.ranks` */
};

struct job_host {
    const char *name;
    uint8_t boot_id[16];
    size_t launches, ranks;
    int first_rank; /* -1: none */
};

struct job_skipped {
    char *path, *why;
};

struct job_view {
    const char *id, *launcher; /* of its launches; "": there are none */
    struct job_launch *launches;
    size_t launch_count, launch_room;
    uint64_t *launch_ids; /* of these, while parts are added */
    size_t id_room;
    struct job_rank *ranks; /* by rank, each once */
    size_t rank_count, rank_room;
    struct job_host *hosts; /* by their lowest rank */
    size_t host_count;
    struct job_skipped *skipped;
    size_t skipped_count;
    size_t repeated;          /* recordings of a rank that do not count */
    struct snap_job compared; /* its texts are of the launches */
    int64_t took_ns;          /* from the first begin to the last end; 0: not known */
    double clock_error_ns;    /* of one host's clock against another's; NAN: not known */
    bool is_live;             /* a launch has not ended, as far as its part says */
};

/* {0} is empty. */
void job_view_release(struct job_view *view);

/* 0 or SS_E_NOMEM. */
int job_view_add(struct job_view *view, const struct job_part *part);
int job_view_skip(struct job_view *view, const char *path, const char *why);

/* Once all are added: `id` is the job that it is about; NULL: the one with most launches. 0 or
 * SS_E_NOMEM. */
int job_view_finish(struct job_view *view, const char *id);

/* The row of a rank; NULL: there is none. */
const struct job_rank *job_view_rank(const struct job_view *view, int rank);

/* What was compared of it. */
const struct snap_rank *job_view_compared(const struct job_view *view, const struct job_rank *rank);

#endif
