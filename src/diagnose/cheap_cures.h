/* Variables of the environment that cure a cause by themselves: said where the run shows that they
 * would act, and are not set yet (method 11.10, 11.11). */
#ifndef DIAGNOSE_CHEAP_CURES_H
#define DIAGNOSE_CHEAP_CURES_H

#include "diagnose/causes.h"

/* Threads of OpenMP spin at barriers, on cores that others want: adds who they are to the evidence,
 * and to the advice that they may sleep. */
void cure_spinning(struct finding *finding, const struct diagnosis_input *input);

/* glibc gives freed memory back to the kernel, and takes it again: adds to the advice how it keeps
 * it. */
void cure_fresh_memory(struct finding *finding, const struct diagnosis_input *input);

#endif
