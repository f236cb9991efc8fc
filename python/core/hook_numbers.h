/* Numbers that a call gives in a dictionary become counters, by the names that they have there: losses and
 * metrics which a framework has brought to the host anyway. */
#ifndef PYTHON_HOOK_NUMBERS_H
#define PYTHON_HOOK_NUMBERS_H

#include "hook.h"

enum { NUMBERS_RECENT = 8 };

struct hook_numbers {
    uint64_t inside; /* groups: elsewhere numbers do not count */
    struct {
        PyObject *key; /* strong; NULL: none yet */
        ss_name name;
    } recent[NUMBERS_RECENT]; /* a framework has the same texts for them each time */
};

/* The bits of groups inside of which they count, 0 for none. 0, or -1 with an exception. */
int hook_numbers_read(struct hook_point *point, uint64_t inside);
void hook_numbers_release(struct hook_numbers *numbers);

/* Whether there is nothing that the call could give. */
static inline bool hook_numbers_has_none(const struct hook_numbers *numbers,
                                         const struct hook_call *call)
{
    return numbers && hook_argument(call, 0) == Py_None;
}

/* A call has given this. */
ATTR_HOT void hook_numbers_see(struct hook_numbers *numbers, PyObject *result);

#endif
