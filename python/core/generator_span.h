/* Generators, coroutines and asynchronous generators whose every resume is a span: what lies
 * between two resumes is another caller's time. */
#ifndef PYTHON_GENERATOR_SPAN_H
#define PYTHON_GENERATOR_SPAN_H

#include "core.h"

#include <stdbool.h>

#include "stepscope/recorder.h"

int generator_span_add(PyObject *module); /* readies the types */

/* Whether each call of the function, or of the method, makes one: when the call returns, nothing of
 * it has run. */
bool generator_span_is_made_by(PyObject *function);

/* Wraps `inner`, whose reference is taken over, if it is one of the three; anything else comes back
 * as it is. NULL, with an exception, if `inner` is or without memory. */
PyObject *generator_span_wrap(PyObject *inner, ss_name name);

/* The same, of a generator that gives batches: each is counted (hook_batches) unless a library that
 * it came from has reported it since. */
PyObject *generator_span_wrap_batches(PyObject *inner, ss_name name);

#endif
