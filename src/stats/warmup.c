#include "stats/warmup.h"

#include <math.h>
#include <stdbool.h>

#include "stats/robust.h"

static const double TOLERANCE = 0.02;

/* The medians of the cells and what their second half says. */
struct reference {
    double medians[CELLS_MAX];
    size_t count;
    size_t width; /* cells that are looked at together */
    double level;
    double sigma;
    double tolerance; /* of the median of `width` cells */
    double inflation; /* of the variance of a mean, because neighbours are alike */
};

static double median_of(const double *x, size_t count)
{
    double scratch[CELLS_MAX];
    return robust_median(x, count, scratch);
}

/* The second half as it would be without its trend, which is not noise. */
static void take_trend_out(const double *half, size_t count, double *out)
{
    size_t part = count / 2;
    double rise = median_of(half + count - part, part) - median_of(half, part);
    double slope = rise / (double)(count - part);
    for (size_t i = 0; i < count; i++)
        out[i] = half[i] - slope * (double)i;
}

static void make_reference(const struct cells *cells, struct reference *ref)
{
    double even[CELLS_MAX];
    double scratch[CELLS_MAX];
    ref->count = cells_medians(cells, 0, ref->medians);
    ref->width = ref->count >= 50 ? 5 : 3;
    const double *half = ref->medians + ref->count / 2;
    size_t count = ref->count - ref->count / 2;
    ref->level = median_of(half, count);
    take_trend_out(half, count, even);
    ref->sigma = robust_sigma(even, count, median_of(even, count), scratch);
    double noise = 1.25 * ref->sigma / sqrt((double)ref->width);
    ref->tolerance = fmax(TOLERANCE * ref->level, 3 * noise);
    ref->inflation = robust_inflation(even, count, 2, scratch);
}

/* Whether the medians of two stretches of cells differ by more than 2 % and than their noise. */
static bool differ(const struct reference *ref, double a, size_t a_count, double b, size_t b_count)
{
    double parts = 1 / (double)a_count + 1 / (double)b_count;
    double noise = 1.25 * ref->sigma * sqrt(ref->inflation * parts);
    return fabs(a - b) > fmax(TOLERANCE * ref->level, 3 * noise);
}

/* Goes back from the half to the first stretch of cells at another level; all that is before its
 * end must differ as a whole, to the same side. Returns the first cell after it, 0 if there is
 * none; `*before` is the level of what is before. */
static size_t last_change(const struct reference *ref, double *before)
{
    size_t half = ref->count - ref->count / 2;
    for (size_t i = ref->count / 2 - ref->width + 1; i-- > 0;) {
        double here = median_of(ref->medians + i, ref->width);
        if (fabs(here - ref->level) <= ref->tolerance)
            continue;
        size_t start = i + ref->width / 2 + 1;
        *before = median_of(ref->medians, start);
        if ((here > ref->level) == (*before > ref->level) &&
            differ(ref, *before, start, ref->level, half))
            return start;
    }
    return 0;
}

/* The noise of single steps, from the second half of the head: cells of many steps have less. */
static double step_sigma(const struct cells *cells)
{
    double x[CELLS_HEAD];
    double scratch[CELLS_HEAD];
    size_t count = 0;
    int64_t kept = cells->windows < CELLS_HEAD ? cells->windows : CELLS_HEAD;
    for (int64_t i = kept / 2; i < kept; i++)
        x[count++] = cells->head[i].median_ns;
    return robust_sigma(x, count, median_of(x, count), scratch);
}

/* How many windows at the very beginning are slow. */
static int64_t slow_head(const struct cells *cells, const struct reference *ref)
{
    double limit = 1.10 * ref->level + 5 * fmax(ref->sigma, step_sigma(cells));
    double first_limit = fmin(limit, 2 * ref->level);
    int64_t most = cells->windows / 4 < CELLS_HEAD ? cells->windows / 4 : CELLS_HEAD;
    int64_t slow = 0;
    while (slow < most && cells->head[slow].median_ns > (slow ? limit : first_limit))
        slow++;
    if (slow < CELLS_HEAD)
        return slow;
    size_t cell = (size_t)(cells_first_whole(cells, slow) / cells->size);
    limit = 1.10 * ref->level + 5 * ref->sigma;
    while (cell < ref->count / 4 && ref->medians[cell] > limit)
        cell++;
    return (int64_t)cell * cells->size;
}

static bool second_half_drifts(const struct reference *ref)
{
    size_t quarter = ref->count / 4;
    double third = median_of(ref->medians + ref->count - 2 * quarter, quarter);
    double fourth = median_of(ref->medians + ref->count - quarter, quarter);
    return differ(ref, third, quarter, fourth, quarter);
}

static void classify(const struct cells *cells, const struct reference *ref, struct warmup *out)
{
    double before = 0;
    size_t cell = last_change(ref, &before);
    bool reaches_half = cell > ref->count / 2 - ref->width;
    bool slower_first = cell > 0 && before > ref->level;
    if (cell > 0)
        out->change = (int64_t)cell * cells->size;
    if (slower_first) {
        int64_t half = cells->windows / 2;
        out->start = reaches_half ? cells_cut(cells, half) : out->change;
        out->granularity = cells->size;
    } else {
        out->start = slow_head(cells, ref);
        out->granularity = out->start < CELLS_HEAD ? 1 : cells->size;
    }
    if (second_half_drifts(ref))
        out->class = WARMUP_DRIFTING;
    else if (reaches_half)
        out->class = WARMUP_NO_STEADY_STATE;
    else if (cell > 0)
        out->class = slower_first ? WARMUP_SLOWER_FIRST : WARMUP_FASTER_FIRST;
    else
        out->class = WARMUP_FLAT;
}

static double warmup_cost(const struct cells *cells, const struct warmup *warmup)
{
    int64_t time = cells_sum(cells, 0, CELLS_TIME) - cells_sum(cells, warmup->start, CELLS_TIME);
    int64_t steps = cells_sum(cells, 0, CELLS_STEPS) - cells_sum(cells, warmup->start, CELLS_STEPS);
    return (double)time - (double)steps * warmup->typical_ns;
}

void warmup_find(const struct cells *cells, struct warmup *out)
{
    *out = (struct warmup){.class = WARMUP_TOO_FEW, .granularity = 1, .change = -1};
    if (cells->windows < WARMUP_MIN_STEADY) {
        out->missing = WARMUP_MIN_STEADY - cells->windows;
        return;
    }
    struct reference ref;
    make_reference(cells, &ref);
    out->typical_ns = ref.level;
    out->tolerance_ns = ref.tolerance;
    classify(cells, &ref, out);
    int64_t steady = cells->windows - out->start;
    if (steady < WARMUP_MIN_STEADY && out->class != WARMUP_NO_STEADY_STATE) {
        out->class = WARMUP_TOO_FEW;
        out->missing = WARMUP_MIN_STEADY - steady;
    }
    out->cost_ns = warmup_cost(cells, out);
}
