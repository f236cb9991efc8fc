#include "stats/batch_fit.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "stats/mix.h"
#include "stats/order.h"
#include "stats/robust.h"

static const double knee_price = 0.15, left_out_error = 0.05, nearly_best = 0.95;
static const double runs_differ = 0.02;
enum { ABOVE_KNEE = 3, DRAWS = 400 };

struct line {
    double fixed, each;
};

/* Theil and Sen: the median slope, and the median of what is left of each point. */
static struct line line_through(const struct batch_point *points, size_t count)
{
    enum { PAIRS = BATCH_FIT_MOST * BATCH_FIT_MOST / 2 };
    double values[PAIRS] = {0}, scratch[PAIRS];
    size_t slopes = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            values[slopes++] =
                (points[k].time_ns - points[i].time_ns) / (points[k].size - points[i].size);
    const double each = robust_median(values, slopes, scratch);
    for (size_t i = 0; i < count; i++)
        values[i] = points[i].time_ns - each * points[i].size;
    return (struct line){robust_median(values, count, scratch), each};
}

static double floor_of(const struct batch_point *points, size_t knee)
{
    double values[BATCH_FIT_MOST], scratch[BATCH_FIT_MOST];

    for (size_t i = 0; i < knee; i++)
        values[i] = points[i].time_ns;
    return knee ? robust_median(values, knee, scratch) : 0;
}

static double predicted(struct line line, double floor_ns, double size)
{
    return fmax(floor_ns, line.fixed + line.each * size);
}

static size_t find_knee(const struct batch_point *points, size_t count)
{
    double least = INFINITY;
    size_t best = 0;

    for (size_t knee = 0; knee + ABOVE_KNEE <= count; knee++) {
        const struct line line = line_through(points + knee, count - knee);
        const double floor_ns = floor_of(points, knee);
        double error = 0;
        for (size_t i = 0; i < count; i++)
            error += fabs(points[i].time_ns / predicted(line, floor_ns, points[i].size) - 1);
        error *= knee ? 1 + knee_price : 1;
        if (error < least) {
            least = error;
            best = knee;
        }
    }
    return best;
}

/* Each size above the knee is predicted from the others. */
static bool is_predictable(const struct batch_point *points, size_t count)
{
    for (size_t out = 0; out < count; out++) {
        struct batch_point others[BATCH_FIT_MOST];
        size_t left = 0;
        for (size_t i = 0; i < count; i++)
            if (i != out)
                others[left++] = points[i];
        const struct line line = line_through(others, left);
        const double found = line.fixed + line.each * points[out].size;
        if (fabs(found / points[out].time_ns - 1) > left_out_error)
            return false;
    }
    return true;
}

static double best_size(const struct batch_point *points, size_t count)
{
    double most = 0;
    size_t i = 0;

    for (size_t k = 0; k < count; k++)
        most = fmax(most, points[k].size / points[k].time_ns);
    while (points[i].size / points[i].time_ns < nearly_best * most)
        i++;
    return points[i].size;
}

double batch_fit_error(double median_ns, double mad_ns, double count, struct interval mean)
{
    const double alone = isfinite(mad_ns) && count > 0 ? 1.25 * 1.4826 * mad_ns / sqrt(count) : 0;
    const double of_mean = (mean.high - mean.low) / 4;

    const double own = isfinite(of_mean) ? fmin(fmax(alone, of_mean), 3 * alone) : alone;

    return hypot(own, runs_differ * median_ns);
}

/* Where samples cost nothing times may fall a little, by chance. */
static bool falls(const struct batch_point *points, size_t count)
{
    const struct batch_point *first = points, *last = &points[count - 1];

    return first->time_ns - last->time_ns > 2 * hypot(first->error_ns, last->error_ns);
}

bool batch_fit_find(const struct batch_point *points, size_t count, struct batch_fit *out)
{
    if (count < 2 || count > BATCH_FIT_MOST)
        return false;
    const size_t knee = count >= BATCH_FIT_MODEL ? find_knee(points, count) : 0;
    const struct line line = line_through(points + knee, count - knee);
    *out = (struct batch_fit){.knee = knee,
                              .fixed_ns = fmax(line.fixed, 0),
                              .each_ns = fmax(line.each, 0),
                              .floor_ns = floor_of(points, knee),
                              .best_size = best_size(points, count)};
    out->is_model =
        count >= BATCH_FIT_MODEL && line.each > 0 && is_predictable(points + knee, count - knee);
    return line.each > 0 || !falls(points, count);
}

static double next_uniform(uint64_t *state)
{
    return ((double)(mix_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

/* Mean 0, standard deviation 1: Box and Muller. */
static double next_normal(uint64_t *state)
{
    const double radius = sqrt(-2 * log(next_uniform(state)));

    return radius * cos(6.283185307179586 * next_uniform(state));
}

static double fixed_share(double each_ns, const struct batch_point *point)
{
    return fmin(1, fmax(0, 1 - each_ns * point->size / point->time_ns));
}

/* The times again, each moved within its error. */
static void draw(const struct batch_point *points, size_t count, uint64_t *state,
                 struct batch_point *drawn)
{
    for (size_t k = 0; k < count; k++) {
        drawn[k] = points[k];
        drawn[k].time_ns = fmax(points[k].time_ns / 10,
                                points[k].time_ns + points[k].error_ns * next_normal(state));
    }
}

static struct interval middle_of(double *values, double mid)
{
    qsort(values, DRAWS, sizeof values[0], order_doubles);
    return (struct interval){values[DRAWS / 40], mid, values[DRAWS - 1 - DRAWS / 40]};
}

struct interval batch_fit_fixed_share(const struct batch_point *points, size_t count,
                                      const struct batch_fit *fit, size_t at)
{
    struct batch_point drawn[BATCH_FIT_MOST];
    double shares[DRAWS];
    uint64_t state = 1;

    for (int i = 0; i < DRAWS; i++) {
        draw(points, count, &state, drawn);
        const struct line line = line_through(drawn + fit->knee, count - fit->knee);
        shares[i] = fixed_share(line.each, &drawn[at]);
    }
    return middle_of(shares, fixed_share(fit->each_ns, &points[at]));
}

void batch_fit_parts(const struct batch_point *points, size_t count, const struct batch_fit *fit,
                     struct interval *fixed_ns, struct interval *each_ns)
{
    struct batch_point drawn[BATCH_FIT_MOST];
    double fixed[DRAWS], each[DRAWS];
    uint64_t state = 1;

    for (int i = 0; i < DRAWS; i++) {
        draw(points, count, &state, drawn);
        const struct line line = line_through(drawn + fit->knee, count - fit->knee);
        fixed[i] = fmax(line.fixed, 0);
        each[i] = fmax(line.each, 0);
    }
    *fixed_ns = middle_of(fixed, fit->fixed_ns);
    *each_ns = middle_of(each, fit->each_ns);
}
