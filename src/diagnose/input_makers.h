/* Who makes the batches of a loop, and what the loop waits for when it waits for one (method 5.2).
 */
#ifndef DIAGNOSE_INPUT_MAKERS_H
#define DIAGNOSE_INPUT_MAKERS_H

#include "diagnose/causes.h"

/* Batches that have to be known, for their times to be. */
enum { INPUT_BATCHES_LEAST = 20 };

/* What makes batches in parallel with the loop; NULL: not seen. */
const struct snap_span *input_producer(const struct diagnosis_input *input);

/* The same, or the wait of a loop that makes its batches itself: of a DataLoader without
 * workers. */
const struct snap_span *input_maker(const struct diagnosis_input *input);

/* How many batches were being made on average. */
double input_at_a_time(const struct diagnosis_input *input, const struct snap_span *made);

/* What the wait is for, where batches are made in parallel with the loop. */
enum input_reason {
    FOR_NOBODY, /* no producer was seen */
    FOR_MAKING,
    FOR_ITS_TURN, /* later batches were ready */
    FOR_HANDOVER  /* it was made already */
};

enum input_reason input_reason(const struct diagnosis_input *input);

/* What the loop waits for a batch that has been made: pickling, shared memory, waking up, and
 * whatever the loader does with it in the loop's process. NAN: too few were seen. */
double input_hand_over_ns(const struct diagnosis_input *input);

#endif
