/* The gate: one number that every event compares with the one its thread has. Equal: record, on
 * the fast path. Anything else (off, not decided, another recording, a forked child) is for the
 * slow path. It lies in a page that the kernel zeroes in a forked child, so that a child is off
 * by itself, also after a raw clone(). */
#ifndef RECORD_GATE_H
#define RECORD_GATE_H

#include <stdatomic.h>
#include <stdint.h>

enum {
    GATE_FORKED = 0,    /* zeroed: this process is a child and has no recording yet */
    GATE_UNDECIDED = 1, /* the first event looks at the environment */
    GATE_OFF = 2,
    GATE_FIRST = 3,            /* from here on: a recording, another number each time */
    GATE_BUSY = INT32_MAX - 1, /* of a thread that is inside the recorder */
    GATE_NONE = INT32_MAX      /* of a thread that has no lane */
};

extern _Atomic(_Atomic int32_t *) gate_page;

static inline int32_t gate_now(void)
{
    return atomic_load_explicit(atomic_load_explicit(&gate_page, memory_order_acquire),
                                memory_order_relaxed);
}

#endif
