/* Whether what one series does goes with what another does, over the same windows of time (method
 * 8.3).
 *
 * Windows that follow each other are alike, so single ones must not be shuffled: the test moves
 * blocks of them, as many windows long as the cube root of their number, with ends that move too.
 * Of two unrelated series of 60 windows it says p < 0.01 in 2 % of the cases, also if neighbours
 * are correlated by 0.5, and in 7 % by 0.9: a p alone is no proof for what wanders, and so the size
 * has to fit as well (association_explained). Below 20 windows there is no p.
 *
 * Pure functions on finite values; what looks random is the same each time. */
#ifndef STATS_ASSOCIATION_H
#define STATS_ASSOCIATION_H

#include <stdbool.h>
#include <stddef.h>

enum {
    ASSOCIATION_LEAST = 20, /* windows */
    ASSOCIATION_MOST = 64,
    ASSOCIATION_SHUFFLES = 3999 /* at most: a p can be as small as 1 / 4000 */
};

/* Spearman's correlation of ranks; equal values share theirs. NAN if one of them never changes, or
 * below 3 values. */
double association_rho(const double *x, const double *y, size_t count);

/* How often blocks in another order correlate as much or more: one-sided, for those that rise
 * together. NAN below ASSOCIATION_LEAST windows, above ASSOCIATION_MOST, and where rho is. A p of
 * which it is clear early that it is large is found by fewer shuffles. */
double association_p(const double *x, const double *y, size_t count);

/* Holm's correction for having asked `count` <= ASSOCIATION_MOST times, in place; what is NAN was
 * not asked. */
void association_holm(double *p, size_t count);

/* Windows of steps, and what each step of them waited for something. */
struct association_windows {
    const double *step_ns, *stall_ns; /* mean of a step */
    const double *steps;
    size_t count;
};

/* What windows take more than the fastest quarter of them does: as a part of all time, and the part
 * of it that the stall has risen by. Without any excess both are 0. */
struct association_level {
    double excess, explained;
};
struct association_level association_explained(const struct association_windows *windows);

/* Whether y comes later than x: it fits x clearly better if moved to an earlier time, by 2 windows
 * up to a quarter of them. What comes later is no cause. */
bool association_is_late(const double *x, const double *y, size_t count);

#endif
