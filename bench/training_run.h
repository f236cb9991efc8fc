/* A training of known length as a run directory: a step has a wait for data, a forward with two
 * layers in it, a backward, an update and a callback, and a loader thread makes the batches beside
 * it. */
#ifndef BENCH_TRAINING_RUN_H
#define BENCH_TRAINING_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "report_contender.h"

struct training_run {
    char dir[64];
    char trace[96]; /* the same as a Chrome trace; "" if none was written */
    size_t spans;
    struct bench_run *run;
};

/* At least this many spans, in TMPDIR. Ends the program if that fails. */
void training_run_make(struct training_run *made, size_t spans, bool with_trace);
void training_run_remove(struct training_run *made);

#endif
