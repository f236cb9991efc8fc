/* The sampler: a thread of ours that takes stacks of Python threads without the GIL (frames.h), and
 * once per second what the loop thread did with its time. It has all signals blocked, stops before
 * a fork and starts again with the next event that is recorded. */
#ifndef SAMPLER_H
#define SAMPLER_H

#include <stdatomic.h>
#include <stdint.h>

extern atomic_int sampler_due; /* it shall run and does not: no event was seen yet, or a fork */
void sampler_run(void);

/* For code that records events. */
static inline void sampler_poke(void)
{
    if (atomic_load_explicit(&sampler_due, memory_order_relaxed))
        sampler_run();
}

/* The calling thread runs the training loop; until someone says so, it is the main thread. */
void sampler_loop_is_here(void);

#endif
