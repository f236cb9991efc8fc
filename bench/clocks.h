/* The clocks that a recorder may use, read the cheapest way there is. */
#ifndef BENCH_CLOCKS_H
#define BENCH_CLOCKS_H

#include <time.h>

#include "stepscope/format.h"

static inline uint64_t read_counter(void)
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

static inline uint64_t read_raw_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The same clock as a recording, which its header names (enum ss_clock). */
static inline uint64_t read_clock(uint8_t clock)
{
    return clock == SS_CLOCK_RAW ? read_raw_clock() : read_counter();
}

/* What any recorder must at least store: a span of 32 bytes, its head last. The compiler may
 * neither leave out a store nor move one across. */
static inline void store_span(struct ss_rec_span *span, uint64_t start, uint64_t end)
{
    span->start_ticks = start;
    span->end_ticks = end;
    span->arg = 0;
    __asm__ __volatile__("" ::: "memory");
    span->head = (struct ss_head){.kind = SS_KIND_SPAN, .units = 1, .name = 1};
    __asm__ __volatile__("" ::: "memory");
}

#endif
