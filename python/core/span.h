/* The names of spans of Python code, and the objects that `with` takes. */
#ifndef PYTHON_SPAN_H
#define PYTHON_SPAN_H

#include "core.h"
#include "stepscope/recorder.h"

/* The stage of this word, which may be NULL: user. -1 with ValueError if there is none. */
int span_stage(PyObject *word);

/* The name of this text, interned once; -1 with an exception if it is not a text. */
int span_name(PyObject *text, enum ss_stage stage, ss_name *name);

#endif
