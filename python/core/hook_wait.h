/* Where a framework talks to other ranks in C++ no hook sees the wait. But the thread is off the CPU
 * then: that time of a call becomes a span of stage `comm` inside it, flagged as an estimate, since a
 * busy machine takes the CPU away too. It costs two system calls, so it is off until an adapter
 * knows that there are other ranks, and nothing is added to a call in which `comm` was seen. */
#ifndef PYTHON_HOOK_WAIT_H
#define PYTHON_HOOK_WAIT_H

#include "hook.h"

int hook_wait_read(PyObject *row, struct hook_point *point);

extern bool hook_wait_is_on;

/* While it is on, of rows with WAITS and of `comm`: gives the visit its times. */
void hook_wait_begin(const struct hook_point *point, struct hook_visit *visit);

/* Of a visit with times, while its span is open. */
void hook_wait_end(const struct hook_visit *visit);

PyObject *hook_wait_switch(PyObject *module, PyObject *on);

#endif
