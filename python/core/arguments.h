/* Takes the arguments of a call apart: what PyArg_ParseTuple does, for the fast way of calling. */
#ifndef PYTHON_ARGUMENTS_H
#define PYTHON_ARGUMENTS_H

#include "core.h"
#include <stdint.h>

enum { ARGUMENTS_MOST = 4 };

struct arguments_form {
    const char *function;
    const char *names[ARGUMENTS_MOST];
    int fewest, most; /* the first `fewest` must be given */
};

/* Borrowed references, NULL for those not given or None. `names` are those of keywords or NULL. 0,
 * or -1 with TypeError. */
int arguments_take(const struct arguments_form *form, PyObject *const *arguments,
                   Py_ssize_t count, PyObject *names, PyObject **given);

/* A count, 0 if `number` is NULL; whatever has __index__ will do. 0, or -1 with an exception. */
int arguments_count(PyObject *number, const char *name, uint64_t *count);

#endif
