/* What batches are made of: a disk, a network, decompression, decoding, augmentation. By the files
 * of the innermost frames of stack samples, and by what threads and the machine were seen to do
 * (method 11.1). */
#ifndef DIAGNOSE_INPUT_WORK_H
#define DIAGNOSE_INPUT_WORK_H

#include "diagnose/causes.h"

/* Adds what most of the time of a place goes into to the evidence, and to the advice how there is
 * less of it. `place` is the stage data, or SNAP_HOT_MAKING. */
void input_say_work(struct finding *finding, const struct diagnosis_input *input, uint32_t place);

#endif
