/* Do step times have two levels that come in turn, fast and slow ones, instead of one? A core that
 * is far from the memory, a loader that only sometimes is in time, and sizes of batches that
 * alternate look like that.
 *
 * The values are cut in two where that takes most from the sum of squares, with at least 15 % of
 * them on either side: rarer ones are spikes (stats/spikes.h). There are two levels if the medians
 * of both sides are 10 % apart or more, and hardly any value (5 %) lies in the middle half of the
 * way between them; of a normal distribution that is cut in its middle 27 % do, of a uniform one 25
 * %. Values that only change once, in the middle of a run, have two levels as well: whether that is
 * so must be asked elsewhere (stats/change.h). */
#ifndef STATS_MODES_H
#define STATS_MODES_H

#include <stdbool.h>
#include <stddef.h>

enum { MODES_LEAST = 40 }; /* values */

struct modes {
    bool are_two;
    double low, high;  /* medians of the two */
    double high_share; /* part of the values that belong to the upper one */
};

/* Below MODES_LEAST values there is one. Scratch: 2 * count. */
void modes_find(const double *x, size_t count, double *scratch, struct modes *out);

/* Two kinds of values in a row: do they come in stretches, in turn, or in no order?
 *
 * Wald and Wolfowitz's runs test: the number of stretches of equal kind against that of the same
 * values in random order, which is nearly normal from 10 values of each kind on. Beyond 2.58 of its
 * standard deviations, as chance has it in 1 of 100 rows: fewer are STRETCHES, more ALTERNATE. */
enum turns_order { TURNS_RANDOM, TURNS_STRETCHES, TURNS_ALTERNATE };

struct turns {
    enum turns_order order; /* RANDOM also below 10 values of a kind */
    double z;               /* standard deviations; 0: too few values */
    double stretch;         /* mean length of those above the cut, in values; 0: none is */
};

/* The kinds are those above `cut` and the others. */
void turns_find(const double *x, size_t count, double cut, struct turns *out);

#endif
