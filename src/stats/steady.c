#include "stats/steady.h"

#include <math.h>

#include "stats/robust.h"

static struct interval ratio_of(const struct cells *cells, int64_t start, int part, int whole)
{
    double parts[CELLS_MAX];
    double wholes[CELLS_MAX];
    double scratch[3 * CELLS_MAX];
    size_t count = cells_column(cells, start, part, parts);
    cells_column(cells, start, whole, wholes);
    return interval_ratio(parts, wholes, count, scratch);
}

/* The time of one median window as a share of all. */
static double one_window(const struct cells *cells, int64_t start)
{
    double medians[CELLS_MAX];
    double scratch[CELLS_MAX];
    size_t count = cells_medians(cells, start, medians);
    double time = (double)cells_sum(cells, start, CELLS_TIME);
    if (time <= 0)
        return 0;
    double steps = (double)cells_sum(cells, start, CELLS_STEPS) / (double)(cells->windows - start);
    return robust_median(medians, count, scratch) * steps / time;
}

struct interval steady_step_ns(const struct cells *cells, int64_t start)
{
    struct interval step = ratio_of(cells, start, CELLS_TIME, CELLS_STEPS);
    step.low = fmax(step.low, 0);
    step.high += step.mid * one_window(cells, start);
    return step;
}

struct interval steady_share(const struct cells *cells, int64_t start, int part)
{
    struct interval share = ratio_of(cells, start, part, CELLS_TIME);
    double unseen = one_window(cells, start);
    share.low = fmax(share.low - unseen * share.mid, 0);
    share.high = fmin(share.high + unseen * (1 - share.mid), 1);
    return share;
}

struct interval steady_rate(const struct cells *cells, int64_t start, int column)
{
    const double second = 1e9;
    if (column == CELLS_STEPS) {
        struct interval step = steady_step_ns(cells, start);
        double mid = step.mid > 0 ? second / step.mid : 0;
        return (struct interval){second / step.high, mid, second / step.low};
    }
    struct interval rate = ratio_of(cells, start, column, CELLS_TIME);
    double low = rate.low - rate.mid * one_window(cells, start);
    return (struct interval){fmax(low, 0) * second, rate.mid * second, rate.high * second};
}

int64_t steady_more_needed(const struct cells *cells, int64_t start, double relative)
{
    int64_t windows = cells->windows - start;
    if (windows < INTERVAL_MIN_VALUES)
        return INTERVAL_MIN_VALUES - windows;
    struct interval step = steady_step_ns(cells, start);
    return interval_more_needed(windows, step.high - step.mid, relative * step.mid);
}

struct interval eta_left(const struct eta_part *parts, size_t count)
{
    double mid = 0;
    double below2 = 0;
    double above2 = 0;
    for (size_t i = 0; i < count; i++) {
        const struct eta_part *part = &parts[i];
        if (part->left <= 0)
            continue;
        double left = (double)part->left;
        double wider = sqrt(1 + (double)part->seen / left);
        double below = (part->mean_ns.mid - part->mean_ns.low) * left * wider;
        double above = (part->mean_ns.high - part->mean_ns.mid) * left * wider;
        mid += part->mean_ns.mid * left;
        below2 += below * below;
        above2 += above * above;
    }
    return (struct interval){fmax(mid - sqrt(below2), 0), mid, mid + sqrt(above2)};
}

enum eta_verdict eta_deadline(struct interval left, int64_t elapsed_ns, int64_t deadline_ns)
{
    double room = (double)(deadline_ns - elapsed_ns);
    if (left.low > room)
        return ETA_MISSED;
    if (left.high <= room)
        return ETA_HOLDS;
    return isfinite(left.high) ? ETA_UNSURE : ETA_UNKNOWN;
}
