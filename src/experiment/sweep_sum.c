#include "experiment/sweep_sum.h"

#include <math.h>
#include <stdlib.h>

/* Beyond this part of its own CPU time, others work for the loop: then what its thread waited for a
 * core does not tell how long the step would be on a quiet machine (method 13.2). */
static const double helpers_most = 0.1;
static const double ticks_ns = 2e7; /* what counters of CPU time are off by */
static const double near_best = 0.9, errors_of_95 = 1.96;

int sweep_sum_init(struct sweep_sum *sum, const struct sweep_wish *wish)
{
    *sum = (struct sweep_sum){.count = wish->variants->count};
    for (int clock = 0; clock < SWEEP_CLOCKS; clock++)
        for (int unit = 0; unit < SWEEP_UNITS; unit++)
            rounds_init(&sum->rounds[clock][unit], sum->count);
    for (size_t i = 0; i < sum->count && wish->is_batch; i++)
        sum->arm[i].size = strtod(wish->variants->variant[i].first, NULL);
    return 0;
}

void sweep_sum_release(struct sweep_sum *sum)
{
    for (int clock = 0; clock < SWEEP_CLOCKS; clock++)
        for (int unit = 0; unit < SWEEP_UNITS; unit++)
            rounds_release(&sum->rounds[clock][unit]);
}

static void add(struct sweep_sum *sum, size_t i, const struct trial_yield *yield)
{
    struct sweep_arm *const arm = &sum->arm[i];
    const double samples = yield->samples > 0 ? yield->samples : yield->steps * arm->size;
    const double ns[SWEEP_CLOCKS] = {yield->wall_ns, yield->quiet_ns};
    const double units[SWEEP_UNITS] = {yield->steps, samples};

    if (yield->steps <= 0)
        return;
    for (int clock = 0; clock < SWEEP_CLOCKS; clock++)
        for (int unit = 0; unit < SWEEP_UNITS; unit++)
            (void)rounds_add(&sum->rounds[clock][unit], yield->round, i, ns[clock], units[unit]);
    arm->steps += yield->steps;
    arm->wall_ns += yield->wall_ns;
    arm->quiet_ns += yield->quiet_ns;
    arm->lacks_samples = arm->lacks_samples || samples <= 0;
    arm->lacks_quiet = arm->lacks_quiet || !yield->is_quiet_known;
}

void sweep_sum_take(struct sweep_sum *sum, size_t i, struct trial *trial)
{
    struct sweep_arm *const arm = &sum->arm[i];
    struct trial_yield yield;

    while (trial_next(trial, &yield))
        add(sum, i, &yield);
    arm->group_cpu_ns += (double)trial->group_cpu_ns;
    arm->thread_cpu_ns += (double)trial->thread_cpu_ns;
    trial->group_cpu_ns = trial->thread_cpu_ns = 0;
    if (trial->rss_bytes > arm->rss_bytes)
        arm->rss_bytes = trial->rss_bytes;
}

static bool is_quiet(const struct sweep_sum *sum)
{
    for (size_t i = 0; i < sum->count; i++) {
        const struct sweep_arm *const arm = &sum->arm[i];
        const double others_ns = arm->group_cpu_ns - arm->thread_cpu_ns;
        if (arm->steps > 0 &&
            (arm->lacks_quiet || others_ns > helpers_most * arm->thread_cpu_ns + ticks_ns))
            return false;
    }
    return true;
}

static bool counts_samples(const struct sweep_sum *sum)
{
    for (size_t i = 0; i < sum->count; i++)
        if (sum->arm[i].steps > 0 && sum->arm[i].lacks_samples)
            return false;
    return true;
}

const struct rounds *sweep_sum_rounds(const struct sweep_sum *sum)
{
    return &sum->rounds[is_quiet(sum) ? SWEEP_QUIET : SWEEP_WALL]
                       [counts_samples(sum) ? SWEEP_SAMPLES : SWEEP_STEPS];
}

/* By pairs, in the rounds that both have: one that was dropped has met other weather. */
size_t sweep_sum_best(const struct sweep_sum *sum)
{
    const struct rounds *const rounds = sweep_sum_rounds(sum);
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < sum->count; i++)
        if (rounds_of(rounds, i) >= ROUNDS_FEWEST &&
            (best == SIZE_MAX || rounds_ratio(rounds, i, best).mid > 1))
            best = i;
    return best;
}

static struct interval per_second(struct interval rate)
{
    return (struct interval){rate.low * 1e9, rate.mid * 1e9, rate.high * 1e9};
}

static void fill_row(const struct sweep_sum *sum, size_t i, size_t other, struct sweep_row *row)
{
    const struct rounds *const rounds = sweep_sum_rounds(sum);
    const struct sweep_arm *const arm = &sum->arm[i];
    const struct interval rate = rounds_rate(rounds, i);

    row->size = arm->size;
    row->steps = arm->steps;
    row->rss_bytes = arm->rss_bytes;
    if (rounds_of(rounds, i) < ROUNDS_FEWEST)
        return;
    row->rate = per_second(rate);
    row->of_best = rounds_ratio(rounds, i, other);
    row->step_ns = (is_quiet(sum) ? arm->quiet_ns : arm->wall_ns) / arm->steps;
    row->error_ns = row->step_ns * (rate.high - rate.low) / 2 / rate.mid / errors_of_95;
}

static int order_points(const void *a, const void *b)
{
    const double one = ((const struct batch_point *)a)->size;
    const double other = ((const struct batch_point *)b)->size;

    return (one > other) - (one < other);
}

/* The time of a step in the weather of the best one. */
static double scale_to_best(const struct sweep_result *result, const struct sweep_row *row)
{
    const double rate = row->of_best.mid * result->rows[result->best].rate.mid;

    return rate > 0 ? row->rate.mid / rate : 1;
}

/* What a step costs whatever the size of its batch, and what a sample adds. */
static void fit(struct sweep_result *result)
{
    struct batch_point points[VARIANTS_MOST] = {{0}};
    size_t count = 0;

    for (size_t i = 0; i < result->count; i++)
        if (result->rows[i].rate.mid > 0 && result->rows[i].size > 0) {
            const struct sweep_row *const row = &result->rows[i];
            const double scale = scale_to_best(result, row);
            points[count++] = (struct batch_point){.size = row->size,
                                                   .time_ns = row->step_ns * scale,
                                                   .error_ns = row->error_ns * scale};
        }
    qsort(points, count, sizeof points[0], order_points);
    result->has_fit = batch_fit_find(points, count, &result->fit);
    if (result->has_fit)
        batch_fit_parts(points, count, &result->fit, &result->fixed_ns, &result->each_ns);
}

/* The smallest batch that is nearly as fast as the best. */
static size_t find_smallest(const struct sweep_result *result)
{
    size_t smallest = SIZE_MAX;

    for (size_t i = 0; i < result->count; i++) {
        const struct sweep_row *const row = &result->rows[i];
        if (row->rate.mid > 0 && row->size > 0 && row->of_best.mid >= near_best &&
            (smallest == SIZE_MAX || row->size < result->rows[smallest].size))
            smallest = i;
    }
    return smallest;
}

void sweep_sum_up(const struct sweep_sum *sum, const struct sweep_wish *wish,
                  struct sweep_result *result)
{
    double wall_ns = 0, quiet_ns = 0;

    result->best = sweep_sum_best(sum);
    result->counts_samples = counts_samples(sum);
    result->is_quiet = is_quiet(sum);
    for (size_t i = 0; i < sum->count && result->best != SIZE_MAX; i++) {
        fill_row(sum, i, result->has_reference ? 0 : result->best, &result->rows[i]);
        wall_ns += sum->arm[i].wall_ns;
        quiet_ns += sum->arm[i].quiet_ns;
    }
    result->others_share = wall_ns > 0 ? 1 - quiet_ns / wall_ns : 0;
    if (wish->is_batch && result->best != SIZE_MAX) {
        if (wish->variants->parameter_count == 1)
            fit(result);
        result->smallest_near_best = find_smallest(result);
    }
}
