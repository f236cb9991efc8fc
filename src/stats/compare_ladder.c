#include "stats/compare_ladder.h"

#include <math.h>

#include "stats/student.h"

/* Of 100 comparisons of equal things 5 may come out as different (method 7.3). */
static const double CHANCE = 0.05;

/* Behind the error of a single run stand ten batches (stats/interval.h). */
static const double FREEDOM_OF_BATCHES = 9;

/* Where this number of runs per side is not enough, the machine has to be quieter. */
enum { MOST_RUNS = 100 };

static double mean_of(const double *x, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += x[i];
    return sum / (double)count;
}

/* The variance of the mean of an arm, if its runs differ as assumed. */
static double assumed_variance(const struct compare_arm *arm)
{
    double within = 0;

    for (size_t i = 0; i < arm->count; i++)
        within += arm->error[i] * arm->error[i] / (double)arm->count;
    return (within + arm->run_sigma * arm->run_sigma) / (double)arm->count;
}

static struct difference assumed_difference(const struct compare_arm *a,
                                            const struct compare_arm *b)
{
    return (struct difference){.mean = mean_of(b->value, b->count) - mean_of(a->value, a->count),
                               .error = sqrt(assumed_variance(a) + assumed_variance(b)),
                               .freedom = FREEDOM_OF_BATCHES};
}

struct compare_gap compare_arms(const struct compare_arm *a, const struct compare_arm *b)
{
    struct compare_gap gap = {.level = COMPARE_INDICATION};

    if (a->count >= COMPARE_RUNS_FOR_TEST && b->count >= COMPARE_RUNS_FOR_TEST)
        gap.level = COMPARE_TEST;
    gap.difference = gap.level == COMPARE_TEST
                         ? ratio_difference(a->value, a->count, b->value, b->count)
                         : assumed_difference(a, b);
    gap.sigma = gap.difference.error / sqrt(1 / (double)a->count + 1 / (double)b->count);
    gap.difference.error = hypot(gap.difference.error, hypot(a->resolution, b->resolution));
    return gap;
}

struct interval compare_interval(const struct difference *difference)
{
    double reach = difference->error > 0
                       ? student_quantile(0.975, difference->freedom) * difference->error
                       : 0;

    return (struct interval){difference->mean - reach, difference->mean, difference->mean + reach};
}

double compare_chance(const struct difference *difference)
{
    if (!(difference->error > 0))
        return difference->mean == 0 ? 1 : 0;
    return 2 * student_below(-fabs(difference->mean) / difference->error, difference->freedom);
}

void compare_correct(double *chance, size_t count)
{
    bool done[COMPARE_QUESTIONS] = {false};
    double least = 0;
    size_t left = 0;

    count = count < COMPARE_QUESTIONS ? count : COMPARE_QUESTIONS;
    for (size_t i = 0; i < count; i++) {
        done[i] = !isfinite(chance[i]);
        left += !done[i];
    }
    for (; left > 0; left--) {
        size_t next = count;
        for (size_t i = 0; i < count; i++)
            if (!done[i] && (next == count || chance[i] < chance[next]))
                next = i;
        least = fmax(least, fmin(1, chance[next] * (double)left));
        chance[next] = least;
        done[next] = true;
    }
}

enum compare_word compare_judge(struct interval change, double chance, double matters)
{
    if (change.low >= -matters && change.high <= matters)
        return COMPARE_SAME;
    if (chance >= CHANCE || !(fabs(change.mid) >= matters))
        return COMPARE_INCONCLUSIVE;
    return change.mid > 0 ? COMPARE_SLOWER : COMPARE_FASTER;
}

enum compare_word compare_headline(enum compare_word mean, enum compare_word median)
{
    const bool typical = median == COMPARE_SLOWER || median == COMPARE_FASTER;

    return mean == COMPARE_INCONCLUSIVE && typical ? median : mean;
}

int64_t compare_more_runs(const struct compare_gap *gap, size_t a_count, size_t b_count,
                          double wanted)
{
    const size_t have = a_count < b_count ? a_count : b_count;
    size_t runs = have + 1 > COMPARE_RUNS_FOR_TEST ? have + 1 : COMPARE_RUNS_FOR_TEST;

    while (runs <= MOST_RUNS && !(ratio_detectable(gap->sigma, runs) <= wanted))
        runs++;
    return runs <= MOST_RUNS ? (int64_t)(runs - have) : -1;
}

struct moments {
    double mean;
    double error2; /* of the mean, squared */
    double freedom;
};

static struct moments moments_of(const double *x, size_t count)
{
    double n = (double)count;
    struct moments m = {.freedom = n - 1};
    for (size_t i = 0; i < count; i++)
        m.mean += x[i] / n;
    for (size_t i = 0; i < count; i++)
        m.error2 += (x[i] - m.mean) * (x[i] - m.mean) / (n - 1) / n;
    return m;
}

static double mean_or_0(const double *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i];
    return count > 0 ? sum / (double)count : 0;
}

struct difference ratio_difference(const double *log_a, size_t a_count, const double *log_b,
                                   size_t b_count)
{
    if (a_count < 2 || b_count < 2)
        return (struct difference){mean_or_0(log_b, b_count) - mean_or_0(log_a, a_count), INFINITY,
                                   1};
    struct moments a = moments_of(log_a, a_count);
    struct moments b = moments_of(log_b, b_count);
    double error2 = a.error2 + b.error2;
    double freedom = a.freedom + b.freedom;
    if (error2 > 0)
        freedom =
            error2 * error2 / (a.error2 * a.error2 / a.freedom + b.error2 * b.error2 / b.freedom);
    return (struct difference){b.mean - a.mean, sqrt(error2), freedom};
}

double ratio_detectable(double sigma, size_t count)
{
    if (count < 2)
        return INFINITY;
    double freedom = 2 * (double)count - 2;
    double reach = student_quantile(0.975, freedom) + student_quantile(0.8, freedom);
    return reach * sigma * sqrt(2 / (double)count);
}
