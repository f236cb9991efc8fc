/* Input that a pipeline makes next to the loop: tf.data, a keras.utils.PyDataset, a generator or
 * arrays that fit() was given. What it consists of was read from its objects, so that the advice
 * names what is missing (method 5.6). */
#ifndef DIAGNOSE_INPUT_PIPELINE_H
#define DIAGNOSE_INPUT_PIPELINE_H

#include "diagnose/causes.h"

bool input_pipeline_is_known(const struct diagnosis_input *input);

/* Appends to the evidence what it is, and what its Python threads do. */
void input_pipeline_say(struct finding *finding, const struct diagnosis_input *input);

void input_pipeline_advise(struct finding *finding, const struct diagnosis_input *input);

/* Appends the function of the script that has most of the time in which batches are made in
 * parallel. */
void input_say_maker(struct finding *finding, const struct diagnosis_input *input);

#endif
