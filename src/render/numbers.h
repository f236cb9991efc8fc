/* Numbers of a report: a column has one unit and one number of decimals, so that its rows can be
 * compared at a glance. What is not known is "-". Functions write into `out` and return it. */
#ifndef RENDER_NUMBERS_H
#define RENDER_NUMBERS_H

#include "render/units.h"
#include "stats/interval.h"

struct scale {
    struct units_scale unit;
    int decimals;
};

/* For a column in which one value is usual and another the largest: the unit suits the usual one,
 * as long as the largest has no more than five digits in it. */
struct scale scale_for(double usual_ns, double largest_ns);

/* "84.0"; "<0.1" for what is not zero but would be written as 0. What would take more than
 * five digits has a unit of its own: "12.3h". */
const char *scale_text(char out[UNITS_SIZE], double ns, struct scale scale);

/* "61.2 %" of a share of 0.612. */
const char *share_text(char out[UNITS_SIZE], double share);

/* "999,999", "1.23 M". */
const char *count_text(char out[UNITS_SIZE], uint64_t count);

/* A number with three digits, or with all before the point: "7.30", "730", "12,345". */
const char *digits_text(char out[UNITS_SIZE], double value);

/* "27.1 of 43.5 ms": a part of a time, three digits each in the unit of the whole. */
enum { NUMBERS_PART_SIZE = 3 * UNITS_SIZE };
const char *part_text(char out[NUMBERS_PART_SIZE], double part_ns, double whole_ns);

/* "7.30 steps/s (7.21 to 7.39)": three digits, or as many as the interval needs to be seen; without
 * the interval if it is not known. */
enum { NUMBERS_RANGE_SIZE = 128 };
const char *range_text(char out[NUMBERS_RANGE_SIZE], struct interval interval, const char *unit);

/* "0.6 %", "12 %": a precision, of 0.006 and 0.12; never with an exponent. */
const char *percent_text(char out[UNITS_SIZE], double share);

/* Half of the width of an interval as a share of its middle; INFINITY if it is not known. */
double relative_error(struct interval interval);

#endif
