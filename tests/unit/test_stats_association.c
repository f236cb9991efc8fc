/* stats/association: series of which it is known whether they belong together. */
#include "stats/association.h"
#include "test_stats_support.h"

enum { COUNT = 60, SERIES = 1000 };

/* Each like its neighbour by `likeness`. */
static void wander(double *x, size_t count, double likeness, struct random *random)
{
    x[0] = random_normal(random);
    for (size_t i = 1; i < count; i++)
        x[i] = likeness * x[i - 1] + sqrt(1 - likeness * likeness) * random_normal(random);
}

static void rho_is_that_of_ranks(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4, 5}, rises[] = {1, 10, 11, 90, 1000}, falls[] = {9, 7, 5, 3, 1},
                 flat[] = {2, 2, 2, 2, 2}, others[] = {2, 1, 4, 3, 5};

    assert_near(association_rho(x, rises, 5), 1, 1e-12);
    assert_near(association_rho(x, falls, 5), -1, 1e-12);
    assert_near(association_rho(x, others, 5), 0.8, 1e-12);
    assert_true(isnan(association_rho(x, flat, 5)));
    assert_true(isnan(association_rho(x, rises, 2)));
}

/* By hand: ranks 1 2.5 2.5 4 and 1.5 1.5 3 4, so 3.75 / (sqrt(4.5) sqrt(4.5)). */
static void equal_values_share_a_rank(void **state)
{
    (void)state;
    const double x[] = {1, 2, 2, 7}, y[] = {5, 5, 6, 9};

    assert_near(association_rho(x, y, 4), 3.75 / 4.5, 1e-12);
}

static void few_windows_say_nothing(void **state)
{
    (void)state;
    double x[COUNT];

    for (int i = 0; i < COUNT; i++)
        x[i] = i * 7 % 13;
    assert_true(isnan(association_p(x, x, ASSOCIATION_LEAST - 1)));
    assert_true(isnan(association_p(x, x, ASSOCIATION_MOST + 1)));
    assert_true(association_p(x, x, ASSOCIATION_LEAST) < 0.01);
}

/* A disturbance in windows that nothing else predicts, mostly 0: ties. */
static void what_goes_together_is_found(void **state)
{
    (void)state;
    int found = 0;

    for (uint64_t seed = 0; seed < 100; seed++) {
        struct random random = random_from(seed);
        double step[COUNT], wait[COUNT];
        for (int i = 0; i < COUNT; i++) {
            wait[i] = random_uniform(&random) < 0.3 ? 2 + random_uniform(&random) : 0;
            step[i] = 10 + wait[i] + 0.5 * random_normal(&random);
        }
        found += association_p(step, wait, COUNT) < 0.001;
    }
    assert_true(found >= 99);
}

static double false_alarms(double likeness)
{
    int found = 0;

    for (uint64_t seed = 0; seed < SERIES; seed++) {
        struct random random = random_from(seed);
        double x[COUNT], y[COUNT];
        wander(x, COUNT, likeness, &random);
        wander(y, COUNT, likeness, &random);
        found += association_p(x, y, COUNT) < 0.01;
    }
    return (double)found / SERIES;
}

/* The figures of the header. */
static void what_does_not_is_seldom_found(void **state)
{
    (void)state;
    print_message("p < 0.01 of unrelated series: %.3f %.3f %.3f\n", false_alarms(0),
                  false_alarms(0.5), false_alarms(0.9));
    assert_true(false_alarms(0) <= 0.02);
    assert_true(false_alarms(0.5) <= 0.05);
    assert_true(false_alarms(0.9) <= 0.2);
}

static void a_fall_is_no_rise(void **state)
{
    (void)state;
    double x[COUNT], y[COUNT];

    for (int i = 0; i < COUNT; i++) {
        x[i] = i * 7 % 13;
        y[i] = -x[i];
    }
    assert_true(association_p(x, y, COUNT) > 0.5);
}

static void the_same_series_have_the_same_p(void **state)
{
    (void)state;
    struct random random = random_from(5);
    double x[COUNT], y[COUNT];

    wander(x, COUNT, 0.3, &random);
    wander(y, COUNT, 0.3, &random);
    assert_true(association_p(x, y, COUNT) == association_p(x, y, COUNT));
}

/* 0.01 * 4, 0.029 * 3, then 0.03 * 2, which must not be less. */
static void holm_multiplies_by_what_is_left(void **state)
{
    (void)state;
    double p[] = {0.03, 0.01, NAN, 0.9, 0.029};

    association_holm(p, COUNT_OF(p));
    assert_near(p[1], 0.04, 1e-12);
    assert_near(p[4], 0.087, 1e-12);
    assert_near(p[0], 0.087, 1e-12);
    assert_near(p[3], 0.9, 1e-12);
    assert_true(isnan(p[2]));
}

/* A third of the windows waits for 4 ms of which 3 are counted; 1 ms of wait is always there. */
static void the_part_that_is_explained(void **state)
{
    (void)state;
    double step[COUNT], stall[COUNT], steps[COUNT];

    for (int i = 0; i < COUNT; i++) {
        const bool is_slow = i % 3 == 0;
        step[i] = is_slow ? 14 : 10;
        stall[i] = is_slow ? 4 : 1;
        steps[i] = is_slow ? 5 : 7;
    }
    const struct association_windows windows = {step, stall, steps, COUNT};
    const struct association_level level = association_explained(&windows);
    assert_near(level.explained, 0.75, 1e-12);
    assert_near(level.excess, 20 * 5 * 4. / (20 * 5 * 14 + 40 * 7 * 10), 1e-12);
}

static void even_steps_have_no_excess(void **state)
{
    (void)state;
    double step[COUNT], stall[COUNT];

    for (int i = 0; i < COUNT; i++) {
        step[i] = 10;
        stall[i] = i;
    }
    const struct association_level level =
        association_explained(&(struct association_windows){step, stall, step, COUNT});
    assert_true(level.excess == 0 && level.explained == 0);
}

static void what_follows_is_late(void **state)
{
    (void)state;
    struct random random = random_from(1);
    double step[COUNT], before[COUNT], after[COUNT];

    for (int i = 0; i < COUNT; i++) {
        step[i] = (i >= 20) + 0.05 * random_normal(&random);
        before[i] = (i >= 19) + 0.05 * random_normal(&random);
        after[i] = (i >= 32) + 0.05 * random_normal(&random);
    }
    assert_false(association_is_late(step, before, COUNT));
    assert_false(association_is_late(step, step, COUNT));
    assert_true(association_is_late(step, after, COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rho_is_that_of_ranks),
        cmocka_unit_test(equal_values_share_a_rank),
        cmocka_unit_test(few_windows_say_nothing),
        cmocka_unit_test(what_goes_together_is_found),
        cmocka_unit_test(what_does_not_is_seldom_found),
        cmocka_unit_test(a_fall_is_no_rise),
        cmocka_unit_test(the_same_series_have_the_same_p),
        cmocka_unit_test(holm_multiplies_by_what_is_left),
        cmocka_unit_test(the_part_that_is_explained),
        cmocka_unit_test(even_steps_have_no_excess),
        cmocka_unit_test(what_follows_is_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
