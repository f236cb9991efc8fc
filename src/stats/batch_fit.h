/* What a step costs whatever its batch, and what each sample adds (method 6): from the times of
 * several sizes.
 *
 * Above a knee the time is fixed + each * size, below it a floor. From 5 sizes on the knee is
 * looked for: for each place of it the floor is the median below and the line is Theil and Sen's
 * above; the one with the least relative error wins, a knee counting 15 % against itself. It is a
 * model only with 3 sizes above the knee, times that grow, and if each size is predicted by the
 * others within 5 %. From 2 to 4 sizes there is a line and no more: an indication.
 *
 * How sure the fixed part is depends on the times of all sizes: of two that are 16 and 128, its
 * error is a seventh of that of their ratio, of 64 and 96 it is twice as large. All times are drawn
 * 400 times within their errors and the line is fitted again; 95 % of what comes out is the
 * interval. To draw blocks of steps instead would take the steps; here it has to be known how far
 * off their median is. */
#ifndef STATS_BATCH_FIT_H
#define STATS_BATCH_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "stats/interval.h"

enum { BATCH_FIT_MOST = 32, BATCH_FIT_MODEL = 5 };

struct batch_point {
    double size, time_ns;
    double error_ns; /* standard error of the time */
};

struct batch_fit {
    bool is_model;            /* else an indication */
    size_t knee;              /* sizes below it */
    double fixed_ns, each_ns; /* above the knee */
    double floor_ns;          /* 0: there is no knee */
    double best_size; /* the smallest with 95 % of the most samples per second that were seen */
};

/* Standard error of a median of `count` times with this median absolute deviation, if the mean of
 * them is known as well as `mean`: 1.25 of that of a mean that were normal, or as large as that of
 * the mean itself, since times may resemble their neighbours, but at most three times as large,
 * since spikes do not move a median. What runs differ by comes on top (method 7.2): 2 %. Of 500
 * simulated runs 93 to 98 % had the truth in the interval below. */
double batch_fit_error(double median_ns, double mad_ns, double count, struct interval mean);

/* `points` by size, each size once. False: fewer than 2 or more than BATCH_FIT_MOST sizes, or times
 * that fall by more than their errors. */
bool batch_fit_find(const struct batch_point *points, size_t count, struct batch_fit *out);

/* Part of the time of one point that samples do not cost, with a 95 % interval. The same input
 * gives the same numbers. */
struct interval batch_fit_fixed_share(const struct batch_point *points, size_t count,
                                      const struct batch_fit *fit, size_t at);

/* 95 % intervals of the fixed part and of what each sample adds, above the knee. */
void batch_fit_parts(const struct batch_point *points, size_t count, const struct batch_fit *fit,
                     struct interval *fixed_ns, struct interval *each_ns);

#endif
