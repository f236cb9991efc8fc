/* The clock of the recorder: raw counter ticks, and pairs that tie them to CLOCK_MONOTONIC_RAW.
 *
 * The counter (x86 TSC, ARM generic timer) is used only if the kernel itself keeps time with it,
 * it runs at one rate in all power states, and this process may read it; otherwise ticks are
 * nanoseconds of CLOCK_MONOTONIC_RAW. Reads are not fenced: a span may move by a few
 * instructions, which costs less than waiting for them. */
#ifndef RECORD_TICKS_H
#define RECORD_TICKS_H

#include <time.h>

#include "stepscope/format.h"

struct ticks_pair {
    uint64_t ticks;
    int64_t raw_ns;
    int64_t realtime_ns;
    uint64_t bracket_ticks; /* between the counter reads around the others: bounds the error */
};

static inline uint64_t ticks_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return 0;
#endif
}

static inline int64_t ticks_clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline uint64_t ticks_now(enum ss_clock clock)
{
    return clock == SS_CLOCK_RAW ? (uint64_t)ticks_clock_ns(CLOCK_MONOTONIC_RAW) : ticks_counter();
}

enum ss_clock ticks_choose(void);

/* The best of `tries` readings: the one with the shortest bracket. */
void ticks_read_pair(enum ss_clock clock, int tries, struct ticks_pair *out);

/* Rate between two pairs; 0 if they are too close to tell. */
uint64_t ticks_per_second(const struct ticks_pair *a, const struct ticks_pair *b);

#endif
