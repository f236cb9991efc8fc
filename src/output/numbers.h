/* Numbers of a report: a column has one unit and one number of decimals, so that its rows can be
 * compared at a glance. What is not known is "-". Functions write into `out` and return it. */
#ifndef OUTPUT_NUMBERS_H
#define OUTPUT_NUMBERS_H

#include "base/units.h"
#include "stats/interval.h"

struct scale {
    struct units_scale unit;
    int decimals;
};

/* For a column in which this is a usual value. */
struct scale scale_for(double typical_ns);

/* "84.0"; "<0.1" for what is more than nothing but would be written as 0. */
const char *scale_text(char out[UNITS_SIZE], double ns, struct scale scale);

/* "61.2 %" of a share of 0.612. */
const char *share_text(char out[UNITS_SIZE], double share);

/* A number above 0 with three digits, or more if `precision` (half the width of its interval) is
 * smaller than those show: "7.30", "7.302". */
const char *digits_text(char out[UNITS_SIZE], double value, double precision);

/* Half of the width of an interval as a share of its middle; INFINITY if it is not known. */
double relative_error(struct interval interval);

#endif
