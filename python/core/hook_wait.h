/* Where a framework talks to other ranks in C++ no hook sees the wait. But the thread is off the CPU
 * then: that time of a call becomes a span of stage `comm` inside it, flagged as an estimate, since a
 * busy machine takes the CPU away too. It costs two system calls, so it is off until an adapter
 * knows that there are other ranks, and nothing is added to a call in which `comm` was seen. */
#ifndef PYTHON_HOOK_WAIT_H
#define PYTHON_HOOK_WAIT_H

#include "hook.h"

int hook_wait_read(PyObject *row, struct hook_point *point);
ATTR_HOT void hook_wait_begin(const struct hook_point *point, struct hook_visit *visit);
ATTR_HOT void
hook_wait_end(const struct hook_visit *visit); /* WAITS; while the call's span is open */
PyObject *hook_wait_switch(PyObject *module, PyObject *on);

#endif
