/* What a step would take with more workers: said only where all of what a batch takes is known,
 * from making it to handing it over (method 5.3, 5.4). */
#ifndef DIAGNOSE_INPUT_REPLAY_H
#define DIAGNOSE_INPUT_REPLAY_H

#include "diagnose/causes.h"

/* Appends it to the advice, where it would be less. */
void input_predict(struct finding *finding, const struct diagnosis_input *input);

#endif
