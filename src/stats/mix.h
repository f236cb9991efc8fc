/* Numbers that look random but are the same in every run: the finaliser of splitmix64, and a linear
 * congruential row. */
#ifndef STATS_MIX_H
#define STATS_MIX_H

#include <stdint.h>

static inline uint64_t mix64(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The next one of a row: 64 bits, of which the upper ones are the better. */
static inline uint64_t mix_next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state;
}

#endif
