/* Spans that one call begins and another call on the same object ends, as __enter__ and __exit__:
 * what the first one called it, so that the second need not find out again. By thread. */
#ifndef PYTHON_HOOK_PAIR_H
#define PYTHON_HOOK_PAIR_H

#include "core.h"

#include "base/compiler.h"
#include "stepscope/recorder.h"
#include <stdbool.h>

/* To be called when the span has begun. The object is only compared, never used. A span inside one of the same
 * name is a part of that: it is taken back, and its end will not be found. */
ATTR_HOT void hook_pair_begin(const PyObject *object, ss_name name);

/* False if none was begun with this object. Those begun after it are forgotten. */
ATTR_HOT bool hook_pair_end(const PyObject *object, ss_name *name);

#endif
