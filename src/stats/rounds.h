/* Variants that are measured by turns: in each round each of them once, for a moment (method 13).
 *
 * What disturbs a machine lasts longer than a round, so that it falls on all variants alike. The
 * estimate is a ratio of sums over the rounds: it counts rare slow steps for what they cost. Its
 * error is the jackknife's, over whole rounds, with Student's t. Below ROUNDS_FEWEST rounds an
 * interval reaches from 0 to INFINITY. */
#ifndef STATS_ROUNDS_H
#define STATS_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>

#include "stats/interval.h"

enum { ROUNDS_ARMS_MOST = 32, ROUNDS_FEWEST = 3 };

/* What one variant did in one round; units 0: nothing. */
struct rounds_cell {
    double ns, units;
};

struct rounds {
    size_t arms, count, room;
    struct rounds_cell *cells; /* by round, then by arm */
};

/* At most ROUNDS_ARMS_MOST arms. */
void rounds_init(struct rounds *rounds, size_t arms);
void rounds_release(struct rounds *rounds);

/* Adds to a cell, which begins with nothing. False: no memory. */
bool rounds_add(struct rounds *rounds, size_t round, size_t arm, double ns, double units);

/* Puts neighbouring rounds together, two and two: half as many stand for the same. */
void rounds_halve(struct rounds *rounds);

/* In how many rounds it did something. */
size_t rounds_of(const struct rounds *rounds, size_t arm);

/* Units per nanosecond; 0 of an arm that did nothing. */
struct interval rounds_rate(const struct rounds *rounds, size_t arm);

/* The rate of `arm` as a part of that of `other`, from the rounds that have both. */
struct interval rounds_ratio(const struct rounds *rounds, size_t arm, size_t other);

/* The same for a typical round, which a few slow steps do not move: the ratio of the rates in each
 * round, by Hodges and Lehmann, with the interval of Wilcoxon's test. Below ROUNDS_FOR_TYPICAL
 * rounds that have both it reaches from 0 to INFINITY. */
enum { ROUNDS_FOR_TYPICAL = 8 };
struct interval rounds_typical(const struct rounds *rounds, size_t arm, size_t other);

/* The part of its time that a unit saves, where its rate is this part of another. `high` is
 * INFINITY where that is not known. */
struct interval rounds_gain(struct interval ratio);

#endif
