/* What the parts of the module share: the arguments of a call, the end of the interpreter, room on
 * the C stack. */
#ifndef PYTHON_SUPPORT_H
#define PYTHON_SUPPORT_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* Takes the arguments of a call apart: what PyArg_ParseTuple does, for the fast way of calling. */

enum { ARGUMENTS_MOST = 4 };

struct arguments_form {
    const char *function;
    const char *names[ARGUMENTS_MOST];
    int fewest, most; /* the first `fewest` must be given */
};

/* Borrowed references, NULL for those not given or None. `names` are those of keywords or NULL. 0,
 * or -1 with TypeError. */
int arguments_take(const struct arguments_form *form, PyObject *const *arguments, Py_ssize_t count,
                   PyObject *names, PyObject **given);

/* A count, 0 if `number` is NULL; whatever has __index__ will do. 0, or -1 with an exception. */
int arguments_count(PyObject *number, const char *name, uint64_t *count);

/* Registers a function with the module atexit. Without one (it may be gone) nothing is done. */
void at_exit_call(PyMethodDef *method);

/* Whether the C stack has room for another call of Python code from here.
 *
 * From 3.11 on a Python function that calls another one uses no C stack, so scripts raise the limit
 * of recursion far beyond what that has room for; with a call of ours in between it is used after
 * all. 3.12 counts such calls itself, before that nothing does. */

#if PY_VERSION_HEX < 0x030c0000
/* Below this address of the calling thread it gets narrow; UINTPTR_MAX: not known yet. */
extern _Thread_local uintptr_t recursion_guard_end __attribute__((tls_model(SS_TLS_MODEL)));

/* The rest of the below: false with RecursionError. */
bool recursion_guard_look(uintptr_t here);

static inline bool stack_has_room(void)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    return LIKELY(here >= recursion_guard_end) || recursion_guard_look(here);
}
#else
static inline bool stack_has_room(void)
{
    return true;
}
#endif

#endif
