/* How many samples a batch has, from what a hooked call gives: the first dimension of its tensors.
 *
 * Asking takes longer than a span does, so it is done for the first batch of an iterator, or of a recording, and then
 * for each 16th one; the model goes on with the last answer. */
#ifndef PYTHON_HOOK_SAMPLES_H
#define PYTHON_HOOK_SAMPLES_H

#include "hook.h"

struct hook_samples {
    const PyObject *iterator; /* that gave the last batch; compared and never used */
    unsigned left;            /* batches of it that are not looked at */
    int32_t gate;             /* of the recording that was told */
    ss_name name;
    PyObject *kind; /* only exactly these are asked: others may run code of the script */
    PyObject *shape_of;
    PyObject *user_dict; /* collections.UserDict, which tokenizers give a kind of */
};

/* "samples": (class of tensors, what gives the shape of one). 0, or -1 with an exception. */
int hook_samples_read(PyObject *row, struct hook_point *point);
void hook_samples_release(struct hook_samples *samples);

/* A call has given a batch; NULL: there is no more. Whether it is to be looked at. */
static inline bool hook_samples_is_due(struct hook_samples *samples,
                                       const PyObject *iterator, const PyObject *batch)
{
    if (LIKELY(batch && iterator == samples->iterator && samples->left > 0 &&
               samples->gate == gate_now())) {
        samples->left--;
        return false;
    }
    return true;
}

/* Looks at it; before the span ends, for the model to find the number there. */
void hook_samples_look(struct hook_samples *samples, const PyObject *iterator,
                       PyObject *batch);

#endif
