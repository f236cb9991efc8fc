/* The ladder by which two sides of runs are compared (method 7).
 *
 * - Three runs per side or more: a *test*. Each run gives one value; Welch's t asks
 *   whether the sides differ by more than the runs of a side do among themselves. How
 *   runs vary is seen, not assumed.
 * - Fewer: an *indication*. The error within each run is known from the run itself,
 *   what two runs of the same thing differ by is not: it is assumed (`run_sigma`).
 *
 * Values are one a run: of single steps, which resemble each other, no test is valid
 * (method 7.1). They are logarithms, where ratios are asked for, or plain. */
#ifndef STATS_COMPARE_LADDER_H
#define STATS_COMPARE_LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/interval.h"

/* How much B differs from A, and what a number of runs can show (method 7.2, 7.6). With values that
 * are logarithms the difference is a ratio: how much faster or slower B is. */

/* The mean of B's runs less that of A's, with its standard error (Welch). With fewer than two
 * runs in one of them the error is INFINITY. */
struct difference {
    double mean, error, freedom;
};
struct difference ratio_difference(const double *log_a, size_t a_count, const double *log_b,
                                   size_t b_count);

/* The smallest effect, as a log-ratio, that `count` runs an arm show with 80 % power at
 * 5 %: (t(0.975) + t(0.8)) sqrt(2 / count) sigma. INFINITY below two. */
double ratio_detectable(double sigma, size_t count);

/* With two, Student's t is so wide (4.3 to 12.7 errors) that only changes by half
 * would show. */
enum { COMPARE_RUNS_FOR_TEST = 3 };

enum compare_level { COMPARE_INDICATION, COMPARE_TEST };

enum compare_word { COMPARE_INCONCLUSIVE, COMPARE_SAME, COMPARE_FASTER, COMPARE_SLOWER };

struct compare_arm {
    const double *value; /* of each run */
    const double *error; /* its standard error, from within the run */
    size_t count;        /* at least 1 */
    double run_sigma;    /* how runs of the same thing differ, where that cannot be seen */
    double resolution;   /* standard error that all values share, as by rounding; 0: none */
};

struct compare_gap {
    enum compare_level level;
    struct difference difference; /* B less A */
    double sigma;                 /* how runs of a side differ: seen, or assumed */
};

struct compare_gap compare_arms(const struct compare_arm *a, const struct compare_arm *b);

/* The 95 % interval of the difference. */
struct interval compare_interval(const struct difference *difference);

/* How likely a difference as large is by chance alone, to both sides. */
double compare_chance(const struct difference *difference);

/* Holm's correction: each chance as large as it has to be for `count` questions asked
 * at once. INFINITY and NAN are no questions and stay. At most COMPARE_QUESTIONS. */
enum { COMPARE_QUESTIONS = 64 };
void compare_correct(double *chance, size_t count);

/* What may be said of a change, given as a share (0.05: 5 % longer). Faster or slower:
 * it is not by chance, and is at least `matters`. Same: all of its interval is closer
 * to 0 than that. */
enum compare_word compare_judge(struct interval change, double chance, double matters);

/* The word for a comparison of which both the mean and the median were judged. The
 * mean decides: it is what a run costs. Where it cannot, because rare slow steps
 * differ too much from run to run, the median may: a typical step got slower or
 * faster. Each errs in 2.5 % of equal things to either side at most, so both together
 * in 5 %. */
enum compare_word compare_headline(enum compare_word mean, enum compare_word median);

/* How many more runs per side it takes to tell a difference of `wanted` with 80 % power;
 * at least 1, and as many as make 3 per side. -1: more than 100 per side. */
int64_t compare_more_runs(const struct compare_gap *gap, size_t a_count, size_t b_count,
                          double wanted);

#endif
