/* Clocks of the supervisor, in nanoseconds. */
#ifndef SUPERVISE_NOW_H
#define SUPERVISE_NOW_H

#include <stdint.h>
#include <time.h>

static inline int64_t now_of(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

/* The clock of runs. */
static inline int64_t now_raw_ns(void)
{
    return now_of(CLOCK_MONOTONIC_RAW);
}

static inline int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* For timers. */
static inline int64_t now_ns(void)
{
    return now_of(CLOCK_MONOTONIC);
}

/* CPU time of this process. */
static inline int64_t now_cpu_ns(void)
{
    return now_of(CLOCK_PROCESS_CPUTIME_ID);
}

#endif
