/* What `stepscope info` knows about a run: counted in one walk over its records, in memory that
 * grows with lanes and processes only. Sums stop at INT64_MAX instead of wrapping. */
#ifndef REPORT_TALLY_H
#define REPORT_TALLY_H

#include "load/hook_list.h"
#include "stepscope/reader.h"

enum { TALLY_THREAD_BYTES = 32 };

struct stage_tally {
    uint64_t spans;
    uint64_t sum_ns; /* a span inside another counts in both */
};

struct lane_tally {
    uint64_t records, spans;
    uint64_t threads;                /* that began on it, as far as their records are still there */
    char thread[TALLY_THREAD_BYTES]; /* start of the name of its last thread: untrusted bytes */
    size_t thread_bytes;
};

struct process_tally {
    uint64_t records, spans, steps;
    uint64_t threads;
    uint64_t dropped, too_deep, unbalanced; /* sums of its lanes */
    uint64_t cost_ns;                       /* measured spans x what one was measured to cost */
    uint64_t measured;                      /* spans of processes that measured it */
};

struct tally {
    struct ss_run *run;
    const char *path;
    ss_ns start_ns, end_ns;
    struct process_tally *processes;
    struct lane_tally *lanes;

    uint64_t kinds[SS_KIND_COUNT];
    struct stage_tally stages[SS_STAGE_COUNT];
    uint64_t samples, unfinished;
    bool nested; /* some span is inside another */
    struct process_tally sum;
    uint64_t bytes, process_ns, helper_cpu_ns;
    uint64_t names; /* without the unnamed one of each process */

    struct hook_list hooks;

    uint64_t dropped_by_stage[SS_STAGE_SLOTS];
    uint64_t reused, reused_by_stage[SS_STAGE_SLOTS];
    uint64_t lost_names, lost_threads;
    bool whole; /* nothing of all this was lost, and the recorder met no error */
};

/* 0 or SS_E_NOMEM; `run` and `path` must outlive the tally. */
int tally_gather(struct tally *tally, struct ss_run *run, const char *path);
void tally_release(struct tally *tally);

/* From the first start to the last sign of life of any process. */
void tally_extent(const struct ss_run *run, ss_ns *start_ns, ss_ns *end_ns);

/* For both forms of the output: "exited"; "truncated". */
const char *tally_end_word(enum ss_process_end end);
const char *tally_loss_word(enum ss_loss_kind kind);

/* a - b; 0 if it would be negative, at most INT64_MAX. */
uint64_t tally_difference(ss_ns a, ss_ns b);

#endif
