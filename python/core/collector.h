/* Pauses of Python's garbage collector, as spans of stage gc: a function in gc.callbacks. */
#ifndef COLLECTOR_H
#define COLLECTOR_H

#include <stdatomic.h>

#include "base/compiler.h"

extern atomic_int collector_check_is_due; /* someone may have emptied the list */

/* Any thread, without the GIL. No call of the interpreter: it may be on its way out. */
static inline void collector_ask_for_check(void)
{
    atomic_store_explicit(&collector_check_is_due, 1, memory_order_relaxed);
}

/* With the GIL. If our function is gone, it is put there again and the run says so. */
void collector_check(void);

/* For code that sees events, with the GIL. */
static inline void collector_poke(void)
{
    if (UNLIKELY(atomic_load_explicit(&collector_check_is_due, memory_order_relaxed)))
        collector_check();
}

#endif
