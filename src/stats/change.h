/* Does a run become slower or faster over time, slowly or at once (method 4.1 to 4.3)?
 *
 * Works on the medians of cells after the warm-up, at most 256, each of equally many steps. Single
 * outliers among them are taken out first.
 *
 * Trend: Mann and Kendall's z beyond 2.58 on at most 40 block medians, and a change of 2 % or more
 * over all by Theil and Sen. The variance of z allows for blocks that resemble their
 * neighbours: without that, level series of 50 and 200 steps with r = 0.9 have a trend in 49 % and
 * 20 % of cases, with it in 2 % and 1 %.
 *
 * Shifts: the series is cut at the place that takes most from the sum of squares, then the pieces,
 * and so on (binary segmentation), 5 cells apart or more; then the weakest cuts are taken away
 * until each shift left is max(5 standard errors, 2 %) or more. The error allows for likeness of
 * neighbours and is that around all the levels found: otherwise a slow phase in the middle hides
 * itself. A limit of 3 sigma of a cell would miss a shift of 5 % in the middle of 1000 steps
 * that vary by 5 %.
 *
 * With both, it is a SHIFT if levels fit better than a parabola by Bayes' information criterion,
 * else a DRIFT. The share of the total change that one step has would fail here: Theil and Sen's
 * total is near 0 for a single step. */
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
    double trend;       /* from first to last, of the first: 0.05 is 5 % slower */
    size_t shift_count; /* 0 unless the kind is SHIFT */
    struct change_shift shifts[CHANGE_MAX_SHIFTS]; /* in the order of the series */
};

/* `count` <= CHANGE_MAX_VALUES. The trend is given whatever the kind. */
void change_find(const double *medians, size_t count, struct change *out);

/* The shift with the largest difference, NULL if there is none. */
const struct change_shift *change_largest(const struct change *change);

#endif
