/* stats/change: drifts and shifts of known size, and series that have none. */
#include "stats/cells.h"
#include "stats/change.h"
#include "test_stats_support.h"

/* How many times as long as usual a step takes at the place t of 0..1. */
typedef double shape(double t);

static double flat(double t)
{
    (void)t;
    return 1;
}

static double linear(double t)
{
    return 1 + 0.1 * t;
}

static double bent(double t)
{
    return 1 + 0.1 * t * t;
}

static double falling(double t)
{
    return 1.1 - 0.1 * t;
}

static double half(double t)
{
    return t < 0.5 ? 1 : 1.1;
}

static double last_fifth(double t)
{
    return t < 0.8 ? 1 : 1.1;
}

static double slow_phase(double t)
{
    return t > 0.3 && t < 0.5 ? 1.1 : 1;
}

static double stairs(double t)
{
    return t < 0.3 ? 1 : t < 0.6 ? 1.1 : 1.2;
}

/* n steps that vary by `spread`, 1 % of them 3 times as long. Returns how many medians there are,
 * out of which the change was found. */
static size_t find(shape *times, int64_t n, double likeness, double spread, uint64_t seed,
                   struct change *out)
{
    static struct cells cells;
    double medians[CELLS_MAX];
    struct series series = series_from(seed, likeness, spread);
    series.spike_rate = 0.01;
    series.spike_factor = 3;
    cells_init(&cells, NULL, 0);
    for (int64_t i = 0; i < n; i++) {
        double time = series_next(&series) * times((double)i / (double)n);
        cells_add(&cells, &(struct cells_window){i, 1, 0, (int64_t)time, NULL});
    }
    size_t count = cells_medians(&cells, 0, medians);
    change_find(medians, count, out);
    return count;
}

static void level_runs_rarely_change(void **state)
{
    (void)state;
    const struct {
        double likeness;
        int64_t n;
        int most; /* of 100 */
    } cases[] = {{0, 50, 6},     {0, 1000, 6},   {0.5, 200, 6},
                 {0.5, 1000, 6}, {0.9, 200, 15}, {0.9, 1000, 6}};
    struct change change;

    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        int wrong = 0;
        for (uint64_t seed = 1; seed <= 100; seed++) {
            find(flat, cases[k].n, cases[k].likeness, 0.05, seed, &change);
            wrong += change.kind != CHANGE_NONE;
        }
        if (wrong > cases[k].most)
            fail_msg("likeness %g, %d steps: %d of 100", cases[k].likeness, (int)cases[k].n, wrong);
    }
}

static void a_slow_rise_is_a_drift_of_its_size(void **state)
{
    (void)state;
    struct change change;

    for (int64_t n = 200; n <= 20000; n *= 10) {
        find(linear, n, 0.3, 0.02, 2, &change);
        assert_int_equal(change.kind, CHANGE_DRIFT);
        assert_true(change.trend_z > 2.58);
        assert_near(change.trend, 0.1 / 1.05, 0.02);
        assert_int_equal(change.shift_count, 0);
        assert_null(change_largest(&change));

        find(bent, n, 0.3, 0.02, 2, &change);
        assert_int_equal(change.kind, CHANGE_DRIFT);
        find(falling, n, 0.3, 0.02, 2, &change);
        assert_int_equal(change.kind, CHANGE_DRIFT);
        assert_near(change.trend, -0.1 / 1.05, 0.02);
    }
}

static void a_step_is_a_shift_at_its_place(void **state)
{
    (void)state;
    struct change change;

    for (int64_t n = 200; n <= 20000; n *= 10) {
        size_t count = find(half, n, 0.3, 0.02, 3, &change);
        assert_int_equal(change.kind, CHANGE_SHIFT);
        assert_int_equal(change.shift_count, 1);
        assert_in_range(change.shifts[0].at, count / 2 - 3, count / 2 + 3);
        assert_near(change.shifts[0].before, 1e7, 0.01e7);
        assert_near(change.shifts[0].after, 1.1e7, 0.01e7);

        count = find(last_fifth, n, 0.3, 0.02, 3, &change);
        assert_int_equal(change.kind, CHANGE_SHIFT);
        assert_in_range(change.shifts[0].at, count * 4 / 5 - 3, count * 4 / 5 + 3);
    }
}

static void a_slow_phase_is_two_shifts(void **state)
{
    (void)state;
    struct change change;

    for (int64_t n = 200; n <= 20000; n *= 10) {
        size_t count = find(slow_phase, n, 0.3, 0.02, 4, &change);
        assert_int_equal(change.kind, CHANGE_SHIFT);
        assert_int_equal(change.shift_count, 2);
        assert_in_range(change.shifts[0].at, count * 3 / 10 - 2, count * 3 / 10 + 4);
        assert_in_range(change.shifts[1].at, count / 2 - 3, count / 2 + 3);
        assert_near(change.shifts[1].before, 1.1e7, 0.02e7);
        assert_near(change.shifts[1].after, 1e7, 0.02e7);
    }
}

static void stairs_are_shifts_and_the_largest_is_given(void **state)
{
    (void)state;
    struct change change;

    find(stairs, 20000, 0.3, 0.02, 5, &change);
    assert_int_equal(change.kind, CHANGE_SHIFT);
    assert_int_equal(change.shift_count, 2);
    const struct change_shift *largest = change_largest(&change);
    for (size_t k = 0; k < 2; k++)
        assert_true(fabs(largest->after - largest->before) >=
                    fabs(change.shifts[k].after - change.shifts[k].before));
}

static void a_shift_below_2_percent_does_not_count(void **state)
{
    (void)state;
    double x[100];
    struct change change;

    for (size_t i = 0; i < 100; i++)
        x[i] = i < 50 ? 1000 : 1019;
    change_find(x, 100, &change);
    assert_int_equal(change.kind, CHANGE_NONE);
    for (size_t i = 50; i < 100; i++)
        x[i] = 1021;
    change_find(x, 100, &change);
    assert_int_equal(change.kind, CHANGE_SHIFT);
    assert_int_equal(change.shifts[0].at, 50);
}

/* A shift inside a cell leaves its median between the levels, beside noise of 0.2 %. */
static void a_cell_between_two_levels_is_no_level(void **state)
{
    (void)state;
    double x[150];
    struct change change;
    struct random random = random_from(3);

    for (size_t i = 0; i < 150; i++)
        x[i] = (i < 62 ? 9.6 : i == 62 ? 11.1 : 12.6) * (1 + 0.002 * random_normal(&random));
    change_find(x, 150, &change);
    assert_int_equal(change.kind, CHANGE_SHIFT);
    assert_int_equal(change.shift_count, 1);
    assert_in_range(change.shifts[0].at, 62, 63);
    assert_near(change.shifts[0].before, 9.6, 0.02);
    assert_near(change.shifts[0].after, 12.6, 0.02);
}

static void few_or_equal_values_do_not_change(void **state)
{
    (void)state;
    double x[256] = {0};
    struct change change;

    for (size_t i = 0; i < 19; i++)
        x[i] = (double)(i * i);
    change_find(x, 19, &change);
    assert_int_equal(change.kind, CHANGE_NONE);
    memset(x, 0, sizeof(x));
    change_find(x, 256, &change);
    assert_int_equal(change.kind, CHANGE_NONE);
    for (size_t i = 0; i < 256; i++)
        x[i] = 5;
    change_find(x, 256, &change);
    assert_int_equal(change.kind, CHANGE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(level_runs_rarely_change),
        cmocka_unit_test(a_slow_rise_is_a_drift_of_its_size),
        cmocka_unit_test(a_step_is_a_shift_at_its_place),
        cmocka_unit_test(a_slow_phase_is_two_shifts),
        cmocka_unit_test(stairs_are_shifts_and_the_largest_is_given),
        cmocka_unit_test(a_shift_below_2_percent_does_not_count),
        cmocka_unit_test(a_cell_between_two_levels_is_no_level),
        cmocka_unit_test(few_or_equal_values_do_not_change),
    };
    return cmocka_run_group_tests_name("stats/change", tests, NULL, NULL);
}
