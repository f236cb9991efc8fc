/* What a hook records, made from a row of an adapter's table. */
#ifndef PYTHON_HOOK_POINT_H
#define PYTHON_HOOK_POINT_H

#include "hook.h"

/* From a dictionary; stepscope/_hooks.py says what may be in it. NULL with an exception. */
struct hook_point *hook_point_new(PyObject *row);
void hook_point_release(struct hook_point *point);

/* From now on every span of a call has this flag; "": none. -1 with an exception. */
int hook_point_set_condition(const char *word);

#endif
