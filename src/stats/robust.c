#include "stats/robust.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const double SIGMA_OF_MAD = 1.4826;
static const double LIMIT_SIGMAS = 3;
static const double PRACTICAL = 0.02; /* smaller effects do not matter (method 7.3) */

/* Moves the values below `pivot`, or those that are not above it, to the front of [low, end);
 * returns where the others begin. Without a branch that depends on the values: those would be
 * guessed wrong half of the time, which takes longer than all the rest. */
static size_t part_below(double *x, size_t low, size_t end, double pivot)
{
    for (size_t i = low; i < end; i++) {
        double value = x[i];
        x[i] = x[low];
        x[low] = value;
        low += value < pivot;
    }
    return low;
}

static size_t part_not_above(double *x, size_t low, size_t end, double pivot)
{
    for (size_t i = low; i < end; i++) {
        double value = x[i];
        x[i] = x[low];
        x[low] = value;
        low += value <= pivot;
    }
    return low;
}

/* Reorders x so that place k holds what sorting would put there and nothing before it is larger. */
static double select_place(double *x, size_t count, size_t place)
{
    size_t low = 0;
    size_t end = count;
    while (end - low > 1) {
        double pivot = x[place];
        size_t equal = part_below(x, low, end, pivot);
        if (place < equal) {
            end = equal;
        } else if (equal > low) {
            low = equal;
        } else { /* the pivot is the smallest: there may be many like it */
            low = part_not_above(x, low, end, pivot);
            if (place < low)
                return pivot;
        }
    }
    return x[place];
}

/* Reorders x. */
static double median_in_place(double *x, size_t count)
{
    if (count == 0)
        return 0;
    double upper = select_place(x, count, count / 2);
    if (count % 2 == 1)
        return upper;
    double lower = x[0];
    for (size_t i = 1; i < count / 2; i++)
        if (x[i] > lower)
            lower = x[i];
    return (lower + upper) / 2;
}

double robust_median(const double *x, size_t count, double *scratch)
{
    if (count > 0)
        memcpy(scratch, x, count * sizeof(*x));
    return median_in_place(scratch, count);
}

double robust_sigma(const double *x, size_t count, double centre, double *scratch)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(x[i] - centre);
    return SIGMA_OF_MAD * median_in_place(scratch, count);
}

/* What winsorising keeps as it is: [low, high]. */
struct range {
    double low;
    double high;
};

static struct range usual_range(const double *x, size_t count, double *scratch)
{
    double centre = robust_median(x, count, scratch);
    double reach = LIMIT_SIGMAS * robust_sigma(x, count, centre, scratch);
    if (reach == 0)
        reach = INFINITY;
    return (struct range){centre - reach, centre + reach};
}

static bool is_in(double x, struct range range)
{
    return range.low <= x && x <= range.high;
}

void robust_winsorise(const double *x, size_t count, double *out, double *scratch)
{
    struct range usual = usual_range(x, count, scratch);
    for (size_t i = 0; i < count; i++)
        out[i] = fmin(fmax(x[i], usual.low), usual.high);
}

/* Median of the values around place i, i among them: five, or three at the ends. */
static double local_median(const double *x, size_t count, size_t i)
{
    size_t width = i < 2 || i + 2 >= count ? 3 : 5;
    if (width > count)
        width = count;
    size_t from = i < width / 2 ? 0 : i - width / 2;
    if (from + width > count)
        from = count - width;
    double around[5];
    return robust_median(x + from, width, around);
}

void robust_despike(const double *x, size_t count, double *out, double *scratch)
{
    double *distances = scratch + count;
    for (size_t i = 0; i < count; i++) {
        out[i] = local_median(x, count, i);
        distances[i] = x[i] - out[i];
    }
    double reach = LIMIT_SIGMAS * robust_sigma(distances, count, 0, scratch);
    for (size_t i = 0; i < count; i++)
        if (fabs(distances[i]) <= fmax(reach, PRACTICAL * fabs(out[i])))
            out[i] = x[i];
}

double robust_lag1(const double *x, size_t count, double *scratch)
{
    struct range usual = usual_range(x, count, scratch);
    double mean = 0, values = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_in(x[i], usual)) {
            mean += x[i];
            values++;
        }
    }
    mean /= fmax(values, 1);
    double alone = 0, together = 0, pairs = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_in(x[i], usual))
            continue;
        alone += (x[i] - mean) * (x[i] - mean);
        if (i > 0 && is_in(x[i - 1], usual)) {
            together += (x[i] - mean) * (x[i - 1] - mean);
            pairs++;
        }
    }
    if (alone <= 0 || pairs == 0)
        return 0;
    double n = (double)count;
    return (together / pairs) / (alone / values) * (n - 1) / n;
}

double robust_inflation(const double *x, size_t count, size_t levels, double *scratch)
{
    if (count < 8 * levels)
        return 1;
    double n = (double)count;
    double k = (double)levels;
    double r = (n * robust_lag1(x, count, scratch) + k) / (n - 4 * k);
    r = fmin(fmax(r, 0), 1 - 2 / n);
    return (1 + r) / (1 - r);
}

double robust_slope(const double *y, size_t count, double *scratch)
{
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            scratch[pairs++] = (y[j] - y[i]) / (double)(j - i);
    return median_in_place(scratch, pairs);
}

/* How many values equal y[i], if i is the first of them; else 0. */
static size_t tie_length(const double *y, size_t count, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (y[j] == y[i])
            return 0;
    size_t length = 1;
    for (size_t j = i + 1; j < count; j++)
        length += y[j] == y[i];
    return length;
}

/* n (n - 1) (2 n + 5): 18 times the variance of Kendall's sum over n values. */
static double kendall_term(double n)
{
    return n * (n - 1) * (2 * n + 5);
}

double robust_trend_z(const double *y, size_t count, double inflation)
{
    double rises = 0;
    double variance = kendall_term((double)count);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++)
            rises += (y[j] > y[i]) - (y[j] < y[i]);
        size_t ties = tie_length(y, count, i);
        if (ties > 1)
            variance -= kendall_term((double)ties);
    }
    variance *= inflation / 18;
    if (rises == 0 || variance <= 0)
        return 0;
    return (rises > 0 ? rises - 1 : rises + 1) / sqrt(variance);
}

void robust_block_medians(const double *x, size_t count, size_t blocks, double *out,
                          double *scratch)
{
    for (size_t k = 0; k < blocks; k++) {
        size_t from = k * count / blocks;
        size_t to = (k + 1) * count / blocks;
        out[k] = robust_median(x + from, to - from, scratch);
    }
}
