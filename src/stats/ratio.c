#include "stats/ratio.h"

#include <math.h>

#include "stats/student.h"

/* Batch means of ten batches stand behind the error of a single run. */
static const double FREEDOM_OF_BATCHES = 9;

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

struct interval ratio_from_log(double difference, double error, double freedom)
{
    double reach = error > 0 ? student_quantile(0.975, freedom) * error : 0;
    return (struct interval){exp(difference - reach), exp(difference),
                             exp(difference + reach)};
}

static struct interval unknown(double difference)
{
    return (struct interval){0, exp(difference), INFINITY};
}

static double mean_or_0(const double *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i];
    return count > 0 ? sum / (double)count : 0;
}

struct difference ratio_difference(const double *log_a, size_t a_count,
                                   const double *log_b, size_t b_count)
{
    if (a_count < 2 || b_count < 2)
        return (struct difference){mean_or_0(log_b, b_count) - mean_or_0(log_a, a_count),
                                   INFINITY, 1};
    struct moments a = moments_of(log_a, a_count);
    struct moments b = moments_of(log_b, b_count);
    double error2 = a.error2 + b.error2;
    double freedom = a.freedom + b.freedom;
    if (error2 > 0)
        freedom = error2 * error2 /
                  (a.error2 * a.error2 / a.freedom + b.error2 * b.error2 / b.freedom);
    return (struct difference){b.mean - a.mean, sqrt(error2), freedom};
}

struct interval ratio_of_runs(const double *log_a, size_t a_count, const double *log_b,
                              size_t b_count)
{
    struct difference d = ratio_difference(log_a, a_count, log_b, b_count);

    return isinf(d.error) ? unknown(d.mean) : ratio_from_log(d.mean, d.error, d.freedom);
}

struct interval ratio_of_pairs(const double *log_ratios, size_t count)
{
    if (count < 2)
        return unknown(mean_or_0(log_ratios, count));
    struct moments m = moments_of(log_ratios, count);
    return ratio_from_log(m.mean, sqrt(m.error2), m.freedom);
}

struct interval ratio_of_two(double log_a, double error_a, double log_b, double error_b,
                             double run_sigma)
{
    double error =
        sqrt(error_a * error_a + error_b * error_b + 2 * run_sigma * run_sigma);
    return ratio_from_log(log_b - log_a, error, FREEDOM_OF_BATCHES);
}

double ratio_detectable(double sigma, size_t count)
{
    if (count < 2)
        return INFINITY;
    double freedom = 2 * (double)count - 2;
    double reach = student_quantile(0.975, freedom) + student_quantile(0.8, freedom);
    return reach * sigma * sqrt(2 / (double)count);
}
