#include "hook_pair.h"

#include "span_stack.h"
#include <string.h>

enum { PAIRS_MOST = 16 };

struct pair {
    const PyObject *object;
    ss_name name;
    unsigned inside; /* begun again by the same object and taken back */
};

static _Thread_local struct {
    unsigned count;
    struct pair open[PAIRS_MOST];
} pairs __attribute__((tls_model(SS_TLS_MODEL)));

static struct pair *find_name(ss_name name)
{
    for (unsigned i = pairs.count; i-- > 0;) {
        if (pairs.open[i].name == name) {
            return &pairs.open[i];
        }
    }
    return NULL;
}

void hook_pair_begin(const PyObject *object, ss_name name)
{
    struct pair *outer = find_name(name);
    /* Asked twice: a pair whose end nobody saw is not open any more. */
    if (UNLIKELY(outer) && span_stack_take_back(name)) {
        outer->inside += outer->object == object;
        return;
    }
    if (pairs.count ==
        PAIRS_MOST) { /* nobody ended the oldest, or it is too deep to matter */
        memmove(pairs.open, pairs.open + 1, sizeof *pairs.open * (PAIRS_MOST - 1));
        pairs.count--;
    }
    pairs.open[pairs.count++] = (struct pair){object, name, 0};
}

bool hook_pair_end(const PyObject *object, ss_name *name)
{
    for (unsigned i = pairs.count; i-- > 0;) {
        if (pairs.open[i].object == object) {
            if (pairs.open[i].inside > 0) {
                pairs.open[i].inside--;
                return false;
            }
            *name = pairs.open[i].name;
            pairs.count = i;
            return true;
        }
    }
    return false;
}
