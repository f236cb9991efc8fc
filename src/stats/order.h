/* For qsort(). */
#ifndef STATS_ORDER_H
#define STATS_ORDER_H

/* Doubles from the smallest to the largest; none is NAN. */
static inline int order_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

#endif
