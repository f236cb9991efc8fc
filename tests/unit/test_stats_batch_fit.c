/* stats/batch_fit: what a step costs, and what a sample adds. */
#include "test_stats_support.h"

#include "stats/batch_fit.h"

/* Sizes 4, 8, ...: max(floor, fixed + each * size), each off by up to `noise`. */
static size_t make(struct batch_point *points, size_t count, double fixed, double each,
                   double floor_ns, double noise)
{
    struct random random = random_from(7);

    for (size_t i = 0; i < count; i++) {
        const double size = (double)(4u << i);
        const double time = fmax(floor_ns, fixed + each * size);
        points[i] = (struct batch_point){
            size, time * (1 + noise * (2 * random_uniform(&random) - 1))};
    }
    return count;
}

static void two_sizes_are_an_indication(void **state)
{
    const struct batch_point points[] = {{16, 5.32e6}, {128, 7.56e6}};
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

/* The rule book's own case: max(9, 1 + 0.125 size). Without the knee the line is 36 % off. */
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
        {4, 5e6}, {8, 9e6}, {16, 6e6}, {32, 14e6}, {64, 9e6}};
    const struct batch_point falling[] = {{16, 7e6}, {128, 5e6}};
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
        {16, 16e6}, {32, 16e6}, {64, 16.4e6}, {128, 32e6}};
    struct batch_fit fit;

    (void)state;
    assert_true(batch_fit_find(points, 4, &fit));
    assert_near(fit.best_size, 64, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_sizes_are_an_indication),
        cmocka_unit_test(seven_sizes_are_a_model),
        cmocka_unit_test(a_floor_is_told_from_a_line),
        cmocka_unit_test(what_no_line_tells_is_no_model),
        cmocka_unit_test(the_best_size_is_the_smallest_that_is_nearly_as_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
