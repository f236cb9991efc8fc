/* Whether workers of a PyTorch DataLoader can help an input that the loop makes itself, and how
 * many. A worker costs what it takes to hand a batch over (pickling, shared memory, a wake-up), and
 * a core while it works. */
#ifndef DIAGNOSE_INPUT_WORKERS_H
#define DIAGNOSE_INPUT_WORKERS_H

#include "diagnose/causes.h"

enum workers_verdict {
    WORKERS_HELP,
    WORKERS_COST_MORE, /* a batch is handed over more slowly than it is made */
    WORKERS_COLLATE,   /* most of the time goes into putting samples together: they are in memory */
    WORKERS_TOO_FEW, /* as many as there are cores for would take away less than half of the wait */
    WORKERS_NO_CORE  /* the training has all cores */
};

struct workers_advice {
    enum workers_verdict verdict;
    int workers; /* WORKERS_HELP: how many */
};

/* `made` is the span that makes batches. */
struct workers_advice input_workers(const struct diagnosis_input *input,
                                    const struct snap_span *made);

/* Cores for workers, where the loop thread makes batches in that stage for that share of the
 * step. */
int input_free_cores(const struct diagnosis_input *input, unsigned stage, double share);

/* The part of the samples of a place that are inside a function that puts samples together: its
 * name has `collate` in it, in PyTorch as in most libraries. NAN: too few samples. */
struct interval input_collating(const struct diagnosis_input *input, uint32_t place);

/* What handing over a batch takes: measured where there are workers; else from what it takes at
 * least here to what it may take, with as much again as the loop's process takes for putting its
 * samples together, which copies the same bytes. NAN: not known. */
struct interval input_hand_over(const struct diagnosis_input *input);

/* How many workers there are cores for, if this many are there now. */
int input_workers_most(const struct diagnosis_input *input, int workers);

/* Of these, as many as keep up: a batch then takes them no longer than the rest of a step. */
int input_workers_wanted(const struct diagnosis_input *input, int most);

/* What to change where workers do not help. */
const char *input_workers_text(enum workers_verdict verdict);

#endif
