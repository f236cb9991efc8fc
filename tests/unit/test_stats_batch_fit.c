/* stats/batch_fit: what a step costs, and what a sample adds. */
#include "stats/batch_fit.h"
#include "stats/robust.h"
#include "test_stats_support.h"

/* Sizes 4, 8, ...: max(floor, fixed + each * size), each off by up to `noise`. */
static size_t make(struct batch_point *points, size_t count, double fixed, double each,
                   double floor_ns, double noise)
{
    struct random random = random_from(7);

    for (size_t i = 0; i < count; i++) {
        const double size = (double)(4u << i);
        const double time = fmax(floor_ns, fixed + each * size);
        points[i] =
            (struct batch_point){size, time * (1 + noise * (2 * random_uniform(&random) - 1)), 0};
    }
    return count;
}

static void two_sizes_are_an_indication(void **state)
{
    const struct batch_point points[] = {{16, 5.32e6, 0}, {128, 7.56e6, 0}};
    struct batch_fit fit;

    (void)state;
    assert_true(batch_fit_find(points, 2, &fit));
    assert_false(fit.is_model);
    assert_near(fit.fixed_ns, 5e6, 1);
    assert_near(fit.each_ns, 2e4, 1e-3);
    assert_near(fit.best_size, 128, 0);
}

static void seven_sizes_are_a_model(void **state)
{
    struct batch_point points[7];
    struct batch_fit fit;

    (void)state;
    assert_true(batch_fit_find(points, make(points, 7, 5e6, 2e4, 0, 0.01), &fit));
    assert_true(fit.is_model);
    assert_near(fit.fixed_ns, 5e6, 3e5);
    assert_near(fit.each_ns, 2e4, 1e3);
}

/* A floor (method 6.1): max(9, 1 + 0.125 size). Without the knee the line is 36 % off. */
static void a_floor_is_told_from_a_line(void **state)
{
    struct batch_point points[7];
    struct batch_fit fit;

    (void)state;
    assert_true(batch_fit_find(points, make(points, 7, 1e6, 0.125e6, 9e6, 0.005), &fit));
    assert_near(fit.floor_ns, 9e6, 1e5);
    assert_near(fit.fixed_ns + 512 * fit.each_ns, 65e6, 2e6);
}

static void what_no_line_tells_is_no_model(void **state)
{
    const struct batch_point wild[] = {
        {4, 5e6, 0}, {8, 9e6, 0}, {16, 6e6, 0}, {32, 14e6, 0}, {64, 9e6, 0}};
    const struct batch_point falling[] = {{16, 7e6, 0}, {128, 5e6, 0}};
    struct batch_fit fit;

    (void)state;
    assert_true(batch_fit_find(wild, 5, &fit));
    assert_false(fit.is_model);
    assert_false(batch_fit_find(falling, 2, &fit));
    assert_false(batch_fit_find(wild, 1, &fit));
    assert_false(batch_fit_find(wild, BATCH_FIT_MOST + 1, &fit));
}

static void the_best_size_is_the_smallest_that_is_nearly_as_good(void **state)
{
    /* Samples a ms: 1, 2, 3.9, 4. */
    const struct batch_point points[] = {
        {16, 16e6, 0}, {32, 16e6, 0}, {64, 16.4e6, 0}, {128, 32e6, 0}};
    struct batch_fit fit;

    (void)state;
    assert_true(batch_fit_find(points, 4, &fit));
    assert_near(fit.best_size, 64, 0);
}

/* Samples that cost nothing: by chance the larger batch takes less. */
static void times_may_fall_within_their_errors(void **state)
{
    const struct batch_point flat[] = {{16, 5.1e6, 0.1e6}, {128, 5e6, 0.1e6}};
    const struct batch_point falling[] = {{16, 6e6, 0.1e6}, {128, 5e6, 0.1e6}};
    struct batch_fit fit;

    (void)state;
    assert_true(batch_fit_find(flat, 2, &fit));
    assert_near(fit.each_ns, 0, 0);
    const struct interval share = batch_fit_fixed_share(flat, 2, &fit, 0);
    assert_near(share.mid, 1, 0);
    assert_true(share.low > 0.98 && share.high == 1);
    assert_false(batch_fit_find(falling, 2, &fit));
}

/* A loop of 60 steps that resemble their neighbours, some of them spikes, which is off by 2 % as a
 * whole. */
static struct batch_point measure(struct random *random, double size)
{
    enum { STEPS = 60 };
    struct series series = series_from(random_bits(random), 0.5, 0.05);
    const double level = (5e6 + 2e4 * size) / 1e7 * (1 + 0.02 * random_normal(random));
    double times[STEPS], scratch[2 * STEPS];

    series.spike_rate = 0.02;
    series.spike_factor = 3;
    for (int i = 0; i < STEPS; i++)
        times[i] = level * series_next(&series);
    const double median = robust_median(times, STEPS, scratch);
    const double mad = robust_sigma(times, STEPS, median, scratch) / 1.4826;
    return (struct batch_point){
        size, median, batch_fit_error(median, mad, STEPS, interval_mean(times, STEPS, scratch))};
}

static struct interval simulate(struct random *random, const double *sizes, size_t count)
{
    struct batch_point points[BATCH_FIT_MOST];
    struct batch_fit fit;

    for (size_t i = 0; i < count; i++)
        points[i] = measure(random, sizes[i]);
    if (!batch_fit_find(points, count, &fit))
        return (struct interval){0, 0, 0};
    return batch_fit_fixed_share(points, count, &fit, 0);
}

static double covered(const double *sizes, size_t count, double *width)
{
    enum { RUNS = 500 };
    const double truth = 5e6 / (5e6 + 2e4 * sizes[0]);
    struct random random = random_from(17);
    int hits = 0;

    *width = 0;
    for (int i = 0; i < RUNS; i++) {
        const struct interval share = simulate(&random, sizes, count);
        hits += share.low <= truth && truth <= share.high;
        *width += (share.high - share.low) / RUNS;
    }
    return (double)hits / RUNS;
}

static void the_interval_has_the_truth(void **state)
{
    static const double far[] = {16, 128}, near[] = {64, 96}, some[] = {16, 32, 64},
                        many[] = {16, 32, 64, 128, 256, 512};
    double wide_far, wide_near, wide;

    (void)state;
    const double of_far = covered(far, 2, &wide_far);
    const double of_near = covered(near, 2, &wide_near);
    const double of_some = covered(some, 3, &wide), of_many = covered(many, 6, &wide);
    assert_near(of_far, 0.92, 0.07);
    assert_near(of_near, 0.92, 0.07);
    assert_near(of_some, 0.92, 0.07);
    assert_near(of_many, 0.92, 0.07);
    assert_true(wide_near > 8 * wide_far); /* the slope of sizes that are near is not known well */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_sizes_are_an_indication),
        cmocka_unit_test(seven_sizes_are_a_model),
        cmocka_unit_test(a_floor_is_told_from_a_line),
        cmocka_unit_test(what_no_line_tells_is_no_model),
        cmocka_unit_test(times_may_fall_within_their_errors),
        cmocka_unit_test(the_interval_has_the_truth),
        cmocka_unit_test(the_best_size_is_the_smallest_that_is_nearly_as_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
