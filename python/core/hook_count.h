/* The argument of a span, taken from the call: the length or an attribute of what it got or gave, a
 * number that its caller has, the batches that were got meanwhile. */
#ifndef PYTHON_HOOK_COUNT_H
#define PYTHON_HOOK_COUNT_H

#include "frames_layout.h"
#include "hook.h"

struct hook_count {
    PyObject *never_of; /* strong: an argument of this type has none; NULL: any has one */
    int at;             /* which argument, or one of the below */
    PyObject *attribute; /* strong: of it; NULL: len(). For batches: of self, how many
                            iterators it has that give as many each; NULL: one */
    int64_t most; /* of batches: at most so many, also if none was seen; 0: no limit */
    int64_t more; /* of a variable: so much is added */
    struct frames_variable caller; /* the variable */
};
enum { HOOK_RESULT = -1, HOOK_BATCHES = -2, HOOK_CALLER = -3 };

/* "count": (which argument or one of the above, name of an attribute or variable or None, at most or what
 * is added); "count_never_of": a type. 0, or -1 with an exception. */
int hook_count_read(PyObject *row, struct hook_point *point);
void hook_count_release(struct hook_count *count);

/* Whether there is something to count in this call. */
static inline bool hook_count_is_for(const struct hook_count *count,
                                     const struct hook_call *call)
{
    const PyObject *object = count->never_of ? hook_argument(call, count->at) : NULL;
    return !object || (PyObject *)Py_TYPE(object) != count->never_of;
}

/* The argument; 0 if it can not be told. No exception is left. */
ATTR_HOT int64_t hook_count_of(const struct hook_visit *visit,
                               const struct hook_call *call, PyObject *result);

#endif
