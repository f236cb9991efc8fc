#include "stats/change.h"

#include <math.h>
#include <stdbool.h>

#include "stats/robust.h"

enum { BLOCKS = 40, MIN_CELLS = 5, CELLS_A_CUT = 50 };

static const double PRACTICAL = 0.02;
static const double TREND_Z = 2.58;
static const double SHIFT_ERRORS = 5;

/* The series without single outliers, and the segments found in it so far: segment k is
 * [edge[k], edge[k + 1]). */
struct series {
    double x[CHANGE_MAX_VALUES];
    size_t count;
    size_t edge[CHANGE_MAX_SHIFTS + 2];
    size_t segments;
    double noise; /* around the levels of the segments */
};

static double median_of(const double *x, size_t count)
{
    double scratch[CHANGE_MAX_VALUES];
    return robust_median(x, count, scratch);
}

static double sum_of(const double *x, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += x[i];
    return sum;
}

/* Takes a smooth curve out of x: a parabola, as a sum of a level, a slope and a bend that are at
 * right angles to each other. Returns the sum of squares of what is left. */
static double take_curve_out(const double *x, size_t count, double *rest)
{
    double n = (double)count;
    double middle = (n - 1) / 2;
    double spread = (n * n - 1) / 12; /* mean square of the places */
    double mean = sum_of(x, 0, count) / n;
    double slope = 0, slopes = 0, bend = 0, bends = 0;
    for (size_t i = 0; i < count; i++) {
        double t = (double)i - middle;
        double u = t * t - spread;
        slope += t * x[i];
        slopes += t * t;
        bend += u * x[i];
        bends += u * u;
    }
    double misfit = 0;
    for (size_t i = 0; i < count; i++) {
        double t = (double)i - middle;
        double u = t * t - spread;
        rest[i] = x[i] - mean - slope / slopes * t - bend / bends * u;
        misfit += rest[i] * rest[i];
    }
    return misfit;
}

/* Where Theil and Sen's line begins; a steep curve may take it below the values, or below 0. */
static double fitted_start(const double *x, size_t n, double slope)
{
    double left[BLOCKS];
    for (size_t i = 0; i < n; i++)
        left[i] = x[i] - slope * (double)i;
    const double start = median_of(left, n);
    return start > x[0] / 2 ? start : x[0];
}

/* Returns the change over all, of the median. */
static double find_trend(const struct series *s, struct change *out)
{
    double blocks[BLOCKS];
    double even[BLOCKS];
    double scratch[CHANGE_MAX_VALUES];
    double slopes[BLOCKS * (BLOCKS - 1) / 2];
    size_t n = s->count < BLOCKS ? s->count : BLOCKS;
    robust_block_medians(s->x, s->count, n, blocks, scratch);
    double slope = robust_slope(blocks, n, slopes);
    take_curve_out(blocks, n, even);
    out->trend_z = robust_trend_z(blocks, n, robust_inflation(even, n, 2, scratch));
    double start = fitted_start(blocks, n, slope);
    out->trend = start > 0 ? slope * (double)(n - 1) / start : 0;
    return slope * (double)(n - 1) / median_of(blocks, n);
}

/* Where cutting [from, to) in two takes most from the sum of squares; `*gain` is how much. 0 if
 * it is too short to cut. */
static size_t best_cut(const double *x, size_t from, size_t to, double *gain)
{
    double n = (double)(to - from);
    double mean = sum_of(x, from, to) / n;
    size_t best = 0;
    double left = 0;
    *gain = 0;
    for (size_t cut = from + 1; cut + MIN_CELLS <= to; cut++) {
        left += x[cut - 1] - mean;
        double k = (double)(cut - from);
        double taken = left * left * n / (k * (n - k));
        if (cut >= from + MIN_CELLS && taken > *gain) {
            *gain = taken;
            best = cut;
        }
    }
    return best;
}

/* Cuts the segment where that takes most from the sum of squares. */
static bool add_cut(struct series *s)
{
    size_t best = 0;
    size_t place = 0;
    double most = 0;
    for (size_t k = 0; k < s->segments; k++) {
        double gain;
        size_t cut = best_cut(s->x, s->edge[k], s->edge[k + 1], &gain);
        if (cut > 0 && gain > most) {
            most = gain;
            best = cut;
            place = k + 1;
        }
    }
    if (best == 0)
        return false;
    for (size_t k = s->segments + 1; k > place; k--)
        s->edge[k] = s->edge[k - 1];
    s->edge[place] = best;
    s->segments++;
    return true;
}

static void remove_cut(struct series *s, size_t place)
{
    for (size_t k = place; k < s->segments; k++)
        s->edge[k] = s->edge[k + 1];
    s->segments--;
}

static double level_of(const struct series *s, size_t segment)
{
    size_t from = s->edge[segment];
    size_t to = s->edge[segment + 1];
    return sum_of(s->x, from, to) / (double)(to - from);
}

/* The noise around the levels, as that of a mean of one value: neighbours resemble each other. */
static double noise_of(const struct series *s)
{
    double rest[CHANGE_MAX_VALUES];
    double scratch[CHANGE_MAX_VALUES];
    for (size_t k = 0; k < s->segments; k++) {
        double level = level_of(s, k);
        for (size_t i = s->edge[k]; i < s->edge[k + 1]; i++)
            rest[i] = s->x[i] - level;
    }
    double sigma = robust_sigma(rest, s->count, 0, scratch);
    double n = (double)s->count;
    sigma *= sqrt(n / (n - (double)s->segments));
    return sigma * sqrt(robust_inflation(rest, s->count, s->segments, scratch));
}

/* A cell in which the level changes lies between two levels. It may end up in a short segment of
 * its own, whose mean differs from its neighbours' and whose median does not. */
static double shift_of_cut(const struct series *s, size_t place)
{
    const size_t *edge = s->edge + place - 1;
    double means = level_of(s, place) - level_of(s, place - 1);
    double medians =
        median_of(s->x + edge[1], edge[2] - edge[1]) - median_of(s->x + edge[0], edge[1] - edge[0]);
    return fmin(fabs(means), fabs(medians));
}

/* How many times over the shift at a cut is larger than it must be to count. */
static double weight_of_cut(const struct series *s, size_t place)
{
    const size_t *edge = s->edge + place - 1;
    double before = level_of(s, place - 1);
    double parts = 1 / (double)(edge[1] - edge[0]) + 1 / (double)(edge[2] - edge[1]);
    double least = fmax(SHIFT_ERRORS * s->noise * sqrt(parts), PRACTICAL * before);
    return least > 0 ? shift_of_cut(s, place) / least : 0;
}

/* Takes the weakest cut away, until all that are left count. */
static void prune_cuts(struct series *s)
{
    while (s->segments > 1) {
        size_t weakest = 1;
        for (size_t k = 2; k < s->segments; k++)
            if (weight_of_cut(s, k) < weight_of_cut(s, weakest))
                weakest = k;
        if (weight_of_cut(s, weakest) >= 1)
            break;
        remove_cut(s, weakest);
    }
}

static void find_shifts(struct series *s)
{
    size_t most = s->count / CELLS_A_CUT;
    if (most > CHANGE_MAX_SHIFTS)
        most = CHANGE_MAX_SHIFTS;
    bool more = true;
    while (more && s->segments <= most)
        more = add_cut(s);
    s->noise = noise_of(s);
    prune_cuts(s);
}

static void write_shifts(const struct series *s, const double *medians, struct change *out)
{
    out->shift_count = s->segments - 1;
    for (size_t k = 0; k < out->shift_count; k++) {
        const size_t *edge = s->edge + k;
        out->shifts[k] = (struct change_shift){
            .at = edge[1],
            .before = median_of(medians + edge[0], edge[1] - edge[0]),
            .after = median_of(medians + edge[1], edge[2] - edge[1]),
        };
    }
}

/* The sum of squares that levels between the edges leave. */
static double misfit_of_levels(const struct series *s)
{
    double misfit = 0;
    for (size_t k = 0; k < s->segments; k++) {
        double level = level_of(s, k);
        for (size_t i = s->edge[k]; i < s->edge[k + 1]; i++)
            misfit += (s->x[i] - level) * (s->x[i] - level);
    }
    return misfit;
}

/* Compares by Bayes' information criterion: a cut has two numbers, its place and its height; the
 * curve has a slope and a bend. */
static bool levels_fit_better(const struct series *s)
{
    double cuts = (double)s->segments - 1;
    double rest[CHANGE_MAX_VALUES];
    double gain = take_curve_out(s->x, s->count, rest) - misfit_of_levels(s);
    return gain > (2 * cuts - 2) * log((double)s->count) * s->noise * s->noise;
}

void change_find(const double *medians, size_t count, struct change *out)
{
    *out = (struct change){.kind = CHANGE_NONE};
    if (count < CHANGE_MIN_VALUES)
        return;
    struct series s = {.count = count, .edge = {0, count}, .segments = 1};
    double scratch[2 * CHANGE_MAX_VALUES];
    robust_despike(medians, count, s.x, scratch);
    const double total = find_trend(&s, out);
    find_shifts(&s);
    bool trend = fabs(out->trend_z) > TREND_Z && fabs(total) >= PRACTICAL;
    bool shift = s.segments > 1 && (!trend || levels_fit_better(&s));
    if (shift)
        write_shifts(&s, medians, out);
    if (shift || trend)
        out->kind = shift ? CHANGE_SHIFT : CHANGE_DRIFT;
}

const struct change_shift *change_largest(const struct change *change)
{
    const struct change_shift *largest = NULL;
    for (size_t k = 0; k < change->shift_count; k++) {
        const struct change_shift *shift = &change->shifts[k];
        if (!largest || fabs(shift->after - shift->before) > fabs(largest->after - largest->before))
            largest = shift;
    }
    return largest;
}
