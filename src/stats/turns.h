/* Two kinds of values in a row: do they come in stretches, in turn, or in no order?
 *
 * Wald and Wolfowitz's runs test: the number of stretches of equal kind against that of the same values in random
 * order, which is nearly normal from 10 values of each kind on. Beyond 2.58 of its standard deviations, as chance has it in 1 of
 * 100 rows: fewer are STRETCHES, more ALTERNATE. */
#ifndef STATS_TURNS_H
#define STATS_TURNS_H

#include <stddef.h>

enum turns_order { TURNS_RANDOM, TURNS_STRETCHES, TURNS_ALTERNATE };

struct turns {
    enum turns_order order; /* RANDOM also below 10 values of a kind */
    double z;               /* standard deviations; 0: too few values */
    double stretch; /* mean length of those above the cut, in values; 0: none is */
};

/* The kinds are those above `cut` and the others. */
void turns_find(const double *x, size_t count, double cut, struct turns *out);

#endif
