/* How many samples a batch has, from what a hooked call gives: the first dimension of its tensors.
 *
 * Asking takes longer than a span does, so it is done for the first batch of an iterator and then for each
 * 16th one; the model goes on with the last answer. */
#ifndef PYTHON_HOOK_SAMPLES_H
#define PYTHON_HOOK_SAMPLES_H

#include "hook.h"

/* "samples": (class of tensors, what gives the shape of one). 0, or -1 with an exception. */
int hook_samples_read(PyObject *row, struct hook_point *point);
void hook_samples_free(struct hook_samples *samples);

void hook_samples_look(struct hook_samples *samples, const PyObject *iterator,
                       PyObject *batch);

/* A call has given a batch; NULL: there is no more. Before the span ends, for the model to find it there. */
static inline void hook_samples_see(const struct hook_visit *visit,
                                    const PyObject *iterator, PyObject *batch)
{
    const struct hook_point *point = visit->point;
    if (point->is_data && point->samples && visit->open) {
        hook_samples_look(point->samples, iterator, batch);
    }
}

#endif
