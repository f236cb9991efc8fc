#include "stats/interval.h"

#include <math.h>

#include "stats/robust.h"
#include "stats/student.h"

enum { BATCHES = 10 };

/* With fewer, Student's t grows faster than the error that it stands for. */
static const double LEAST_EFFECTIVE = 4;

static double mean_of(const double *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i];
    return sum / (double)count;
}

static double variance_of(const double *x, size_t count)
{
    double mean = mean_of(x, count);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum / (double)(count - 1);
}

static double half_width_by_batches(const double *x, size_t count)
{
    double means[BATCHES];
    for (size_t k = 0; k < BATCHES; k++) {
        size_t from = k * count / BATCHES;
        size_t to = (k + 1) * count / BATCHES;
        means[k] = mean_of(x + from, to - from);
    }
    return student_quantile(0.975, BATCHES - 1) * sqrt(variance_of(means, BATCHES) / BATCHES);
}

static double half_width_by_effective_size(const double *x, size_t count, double *scratch)
{
    double n = (double)count;
    double *tame = scratch;
    robust_winsorise(x, count, tame, scratch + count);
    double variance = variance_of(tame, count);
    double effective = n / robust_inflation(x, count, 1, scratch + count);
    effective = fmax(effective, LEAST_EFFECTIVE);
    /* A short stretch of a slow wave shows less than its whole variance. */
    variance *= (1 - 1 / n) / (1 - 1 / effective);
    return student_quantile(0.975, effective - 1) * sqrt(variance / effective);
}

double interval_half_width(const double *x, size_t count, double *scratch)
{
    if (count < INTERVAL_MIN_VALUES)
        return INFINITY;
    return fmax(half_width_by_batches(x, count), half_width_by_effective_size(x, count, scratch));
}

struct interval interval_mean(const double *x, size_t count, double *scratch)
{
    double mid = count > 0 ? mean_of(x, count) : 0;
    double half = interval_half_width(x, count, scratch);
    return (struct interval){mid - half, mid, mid + half};
}

struct interval interval_ratio(const double *part, const double *whole, size_t count,
                               double *scratch)
{
    double parts = 0;
    double wholes = 0;
    for (size_t i = 0; i < count; i++) {
        parts += part[i];
        wholes += whole[i];
    }
    double ratio = wholes > 0 ? parts / wholes : 0;
    double *rest = scratch + 2 * count;
    for (size_t i = 0; i < count; i++)
        rest[i] = part[i] - ratio * whole[i];
    double half = wholes > 0 ? interval_half_width(rest, count, scratch) : INFINITY;
    if (isfinite(half))
        half *= (double)count / wholes;
    return (struct interval){ratio - half, ratio, ratio + half};
}

int64_t interval_more_needed(int64_t count, double half_width, double wanted)
{
    if (!isfinite(half_width) || !(wanted > 0))
        return -1;
    double factor = half_width / wanted;
    double more = ceil((double)count * (factor * factor - 1));
    if (more <= 0)
        return 0;
    return more < 9e18 ? (int64_t)more : INT64_MAX;
}
