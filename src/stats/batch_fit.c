#include "stats/batch_fit.h"

#include <math.h>

#include "stats/robust.h"

static const double knee_price = 0.15, left_out_error = 0.05, nearly_best = 0.95;
enum { ABOVE_KNEE = 3 };

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
            values[slopes++] = (points[k].time_ns - points[i].time_ns) /
                               (points[k].size - points[i].size);
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
            error +=
                fabs(points[i].time_ns / predicted(line, floor_ns, points[i].size) - 1);
        error *= knee ? 1 + knee_price : 1;
        if (error < least) {
            least = error;
            best = knee;
        }
    }
    return best;
}

/* Each size above the knee is told by the others. */
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

bool batch_fit_find(const struct batch_point *points, size_t count, struct batch_fit *out)
{
    if (count < 2 || count > BATCH_FIT_MOST)
        return false;
    const size_t knee = count >= BATCH_FIT_MODEL ? find_knee(points, count) : 0;
    const struct line line = line_through(points + knee, count - knee);
    *out = (struct batch_fit){.fixed_ns = fmax(line.fixed, 0),
                              .each_ns = line.each,
                              .floor_ns = floor_of(points, knee),
                              .best_size = best_size(points, count)};
    out->is_model =
        count >= BATCH_FIT_MODEL && is_predictable(points + knee, count - knee);
    return line.each > 0;
}
