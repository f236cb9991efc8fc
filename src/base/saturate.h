/* Sums that stop at the largest number instead of wrapping: a crafted file may claim any time. */
#ifndef BASE_SATURATE_H
#define BASE_SATURATE_H

#include <stdint.h>

/* `more` is not negative. */
static inline void saturate_add(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = INT64_MAX;
}

#endif
