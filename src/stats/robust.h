/* Statistics that a few wild values do not move (method 1.5).
 *
 * Pure functions on `count` finite values. `scratch` is the caller's, as long as the function
 * says; the values themselves stay untouched. Of no values everything is 0. */
#ifndef STATS_ROBUST_H
#define STATS_ROBUST_H

#include <stddef.h>

/* Of an even count the mean of the two in the middle. Scratch: count. */
double robust_median(const double *x, size_t count, double *scratch);

/* 1.4826 times the median distance from `centre`: the standard deviation, were it normal.
 * Scratch: count. */
double robust_sigma(const double *x, size_t count, double centre, double *scratch);

/* Pulls what lies further than 3 sigma from the median back to 3 sigma. Where more than half of
 * the values are equal sigma is 0 and says nothing: then they are copied as they are. `out` holds
 * count values and may be x. Scratch: count. */
void robust_winsorise(const double *x, size_t count, double *out, double *scratch);

/* Replaces single outliers of a series by the median of the five values around them (three at the
 * ends): those further from it than 3 sigma of all such distances and than 2 % of it. A level that
 * lasts three values stays. `out` holds count values, is not x. Scratch: 2 * count. */
void robust_despike(const double *x, size_t count, double *out, double *scratch);

/* Correlation of neighbours, both within 3 sigma of the median (all if sigma is 0). To winsorise
 * instead is not enough: 1 % of spikes pulled back to 3 sigma still make 0.82 of 0.9. Scratch:
 * count. */
double robust_lag1(const double *x, size_t count, double *scratch);

/* How many times the variance of the mean of x is that of as many independent values: (1 + r) /
 * (1 - r). The lag-1 correlation r is corrected for the low bias that it has when `levels` means
 * were taken out of x: (count r + levels) / (count - 4 levels), within 0 and 1 - 2 / count. A
 * series has one level, its mean; one from which a line or k shifts were taken out has 2 or k + 1.
 * Below 8 values a level it is 1: not known. Scratch: count. */
double robust_inflation(const double *x, size_t count, size_t levels, double *scratch);

/* Median slope of all pairs, in units a place (Theil and Sen). Scratch: count (count - 1) / 2. */
double robust_slope(const double *y, size_t count, double *scratch);

/* Mann and Kendall's z: above 2.58 the values rise, below -2.58 they fall, at 1 %. Equal values
 * count as ties. `inflation` multiplies the variance, for values that are not independent: see
 * robust_inflation(). */
double robust_trend_z(const double *y, size_t count, double inflation);

/* Medians of `blocks` <= count stretches of nearly equal length. Scratch: count. */
void robust_block_medians(const double *x, size_t count, size_t blocks, double *out,
                          double *scratch);

#endif
