/* Tells an adapter of a call, for what a row can not say: the begin and end of a loop, objects that
 * have to be hooked once they are there. What the adapter does or raises is not seen by the caller. */
#ifndef PYTHON_HOOK_INFORM_H
#define PYTHON_HOOK_INFORM_H

#include "hook.h"

/* Takes "before" and "after" of a row. 0, or -1 with an exception. */
int hook_inform_read(PyObject *row, struct hook_point *point);

/* After Python code of ours: drops what it raised. But Ctrl-C is the script's, which gets it when it runs next. */
void hook_inform_forget(void);

/* before(arguments): positional ones. */
void hook_inform_before(const struct hook_point *point, const struct hook_call *call);

/* after(arguments, result, failed); an exception that is being raised (result NULL) stays. */
void hook_inform_after(const struct hook_point *point, const struct hook_call *call,
                       PyObject *result);

#endif
