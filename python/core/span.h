/* Spans of Python code: their names, the objects that `with` takes, and how they end.
 *
 * Such spans do not always nest: a generator that is left suspended inside a span leaves it open,
 * and tasks of an event loop take turns. The stack of a lane knows only "the innermost one", so an
 * end has to say which it means. */
#ifndef PYTHON_SPAN_H
#define PYTHON_SPAN_H

#include "core.h"

#include <stdbool.h>

#include "base/compiler.h"
#include "stepscope/recorder.h"

/* The stage of this word, which may be NULL: user. -1 with ValueError if there is none. */
int span_stage(PyObject *word);

/* The name of this text, interned once; -1 with an exception if it is not a text. */
int span_name(PyObject *text, enum ss_stage stage, ss_name *name);

/* Ends the innermost open span of this name on this thread, and whatever was left open inside it.
 * Does nothing if there is none: it was begun before the recording or the fork, on another thread,
 * or was ended with the one around it. */
ATTR_HOT void span_stack_end(ss_name name, unsigned flags);

/* Takes the innermost open span back, as if it had not begun, if it has this name and is inside
 * another one of it. False: it does not, and nothing happened. */
bool span_stack_take_back(ss_name name);

#endif
