/* How much faster or slower B is than A, as a ratio with a 95 % interval (rule book 6.2, 6.3).
 *
 * Values are logarithms of what one *run* took (its steady mean or median), or of one pair's
 * ratio: single steps of a run resemble each other and are no evidence about another run. */
#ifndef STATS_RATIO_H
#define STATS_RATIO_H

#include <stddef.h>

#include "stats/interval.h"

/* exp(difference +- t * error), t of Student with `freedom` degrees. */
struct interval ratio_from_log(double difference, double error, double freedom);

/* The mean of B's runs less that of A's, with its standard error (Welch). With fewer than two
 * runs in one of them the error is INFINITY. */
struct difference {
    double mean, error, freedom;
};
struct difference ratio_difference(const double *log_a, size_t a_count,
                                   const double *log_b, size_t b_count);

/* B over A from at least two runs each (Welch). With fewer the ends are 0 and INFINITY. */
struct interval ratio_of_runs(const double *log_a, size_t a_count, const double *log_b,
                              size_t b_count);

/* The mean of at least two paired log-ratios. With fewer the ends are 0 and INFINITY. */
struct interval ratio_of_pairs(const double *log_ratios, size_t count);

/* B over A from one run each: the error of each log, and twice the variance between runs of the
 * same thing on this machine, of which `run_sigma` is the root (0.02 where it is not known). An
 * indication, no verdict. */
struct interval ratio_of_two(double log_a, double error_a, double log_b, double error_b,
                             double run_sigma);

/* The smallest effect, as a log-ratio, that `count` runs (or pairs) an arm show with 80 % power at
 * 5 %: (t(0.975) + t(0.8)) sqrt(2 / count) sigma. INFINITY below two. */
double ratio_detectable(double sigma, size_t count);

#endif
