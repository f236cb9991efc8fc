/* Does a run become slower or faster over time, slowly or at once (rule book 10.1, 1 and 2)?
 *
 * Works on the medians of cells after the warm-up, at most 256, each of equally many steps.
 *
 * Trend: Mann and Kendall's z beyond 2.58 on at most 40 block medians, and a change of 2 % or more
 * over all by Theil and Sen. Beyond the rule book, z allows for blocks that resemble their
 * neighbours (once the trend is taken out): without that, series of 50 steps with r = 0.9 and no
 * trend are called one in 49 % of cases, with it in 6 %; of 1000 steps in 5 % and 1.5 %.
 *
 * Shifts: the best place to cut the series in two, then each half, and so on (binary
 * segmentation), at least 5 cells apart. A shift counts from max(4 standard errors, 2 %) on, where
 * the error allows for likeness of neighbours. The rule book's 3 sigma of a cell would miss a 5 %
 * shift in the middle of 1000 steps that vary by 5 %.
 *
 * It is a SHIFT if steps at the places found fit better than a straight line, else a DRIFT. */
#ifndef STATS_CHANGE_H
#define STATS_CHANGE_H

#include <stddef.h>

enum {
    CHANGE_MAX_VALUES = 256,
    CHANGE_MIN_VALUES = 20, /* fewer: CHANGE_NONE */
    CHANGE_MAX_SHIFTS = 4,
};

enum change_kind { CHANGE_NONE, CHANGE_DRIFT, CHANGE_SHIFT };

struct change_shift {
    size_t at; /* the first value at the new level */
    double before;
    double after;
};

struct change {
    enum change_kind kind;
    double trend_z;
    double trend; /* over the whole series, as a share of its median: 0.05 is 5 % slower */
    size_t shift_count;
    struct change_shift shifts[CHANGE_MAX_SHIFTS]; /* in the order of the series */
};

/* `count` <= CHANGE_MAX_VALUES. The trend and the shifts are given whatever the kind. */
void change_find(const double *medians, size_t count, struct change *out);

/* The shift with the largest difference, NULL if there is none. */
const struct change_shift *change_largest(const struct change *change);

#endif
