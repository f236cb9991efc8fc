/* stats/warmup: where the steady state begins, on series whose answer is known. */
#include "stats/cells.h"
#include "stats/warmup.h"
#include "test_stats_support.h"

/* How many times as long as usual step i of n takes. */
typedef double shape(int64_t i, int64_t n);

static double flat(int64_t i, int64_t n)
{
    (void)i;
    (void)n;
    return 1;
}

static double slow_first_step(int64_t i, int64_t n)
{
    (void)n;
    return i == 0 ? 50 : 1;
}

static double slow_for_5(int64_t i, int64_t n)
{
    (void)n;
    return i < 5 ? 3 : 1;
}

static double slow_for_10(int64_t i, int64_t n)
{
    (void)n;
    return i < 10 ? 3 : 1;
}

static double slow_for_300(int64_t i, int64_t n)
{
    (void)n;
    return i < 300 ? 5 : 1;
}

static double slow_quarter(int64_t i, int64_t n)
{
    return i < n / 4 ? 1.15 : 1;
}

static double slow_40_percent(int64_t i, int64_t n)
{
    return i < n * 2 / 5 ? 1.2 : 1;
}

static double decay(int64_t i, int64_t n)
{
    return 1 + exp(-(double)i / ((double)n / 8));
}

static double slow_55_percent(int64_t i, int64_t n)
{
    return i < n * 55 / 100 ? 1.3 : 1;
}

static double fast_fifth(int64_t i, int64_t n)
{
    return i < n / 5 ? 0.8 : 1;
}

static double slower_and_slower(int64_t i, int64_t n)
{
    return 1 + 0.3 * (double)i / (double)n;
}

static struct cells cells;

/* n steps that vary by `spread`, 1 % of them 3 times as long, likeness 0.3. */
static struct warmup find(shape *times, int64_t n, double spread, uint64_t seed)
{
    struct series series = series_from(seed, 0.3, spread);
    series.spike_rate = 0.01;
    series.spike_factor = 3;
    cells_init(&cells, NULL, 0);
    for (int64_t i = 0; i < n; i++) {
        int64_t time = (int64_t)(series_next(&series) * times(i, n));
        cells_add(&cells, &(struct cells_window){i, 1, 0, time, NULL});
    }
    struct warmup out;
    warmup_find(&cells, &out);
    return out;
}

/* By how much transients lift the mean of what is kept, the mean of 40 series. */
static double lift(shape *times, int64_t n)
{
    double sum = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct warmup w = find(times, n, 0.01, seed);
        double kept = (double)cells_sum(&cells, w.start, CELLS_TIME);
        find(flat, n, 0.01, seed);
        sum += kept / (double)cells_sum(&cells, w.start, CELLS_TIME) - 1;
    }
    return sum / 40;
}

static void a_level_run_is_flat_from_the_start(void **state)
{
    (void)state;

    for (int64_t n = 20; n <= 1000000; n *= 7) {
        struct warmup w = find(flat, n, 0.01, 3);
        assert_int_equal(w.class, WARMUP_FLAT);
        assert_int_equal(w.start, 0);
        assert_int_equal(w.change, -1);
        assert_near(w.typical_ns, 1e7, 0.01e7);
        assert_near(w.cost_ns, 0, 0);
    }
}

static void a_slow_first_step_is_cut_off_exactly(void **state)
{
    (void)state;

    for (int64_t n = 50; n <= 400000; n *= 20) {
        struct warmup w = find(slow_first_step, n, 0.01, 5);
        assert_int_equal(w.class, WARMUP_FLAT);
        assert_int_equal(w.start, 1);
        assert_int_equal(w.granularity, 1);
    }
}

static void ten_slow_steps_are_cut_off_whatever_the_length(void **state)
{
    (void)state;

    for (int64_t n = 100; n <= 200000; n *= 5) {
        struct warmup w = find(slow_for_10, n, 0.01, 6);
        assert_true(w.start >= 10 && w.start < 10 + w.granularity + 2);
    }
}

static void more_slow_steps_than_the_head_are_cut_off_by_cells(void **state)
{
    (void)state;

    for (int64_t n = 1000; n <= 400000; n *= 3) {
        struct warmup w = find(slow_for_300, n, 0.01, 7);
        assert_true(w.start >= 300 && w.start <= 300 + 2 * w.granularity);
        assert_int_equal(w.granularity, cells.size);
    }
}

static void a_plateau_ends_within_a_cell(void **state)
{
    (void)state;

    for (int64_t n = 200; n <= 200000; n *= 10) {
        struct warmup w = find(slow_quarter, n, 0.01, 8);
        assert_int_equal(w.class, WARMUP_SLOWER_FIRST);
        assert_in_range(w.start, n / 4 - cells.size, n / 4 + 2 * cells.size);
        assert_int_equal(w.start, w.change);
    }
}

/* Without a cut: 5 to 25 %, 4 %, 8 %, 12 %. */
static void what_is_kept_is_hardly_lifted_by_transients(void **state)
{
    (void)state;

    for (int64_t n = 200; n <= 5000; n *= 5) {
        assert_near(lift(slow_first_step, n), 0, 0.0001);
        assert_near(lift(slow_for_10, n), 0, 0.001);
        assert_near(lift(slow_quarter, n), 0, 0.002);
        assert_near(lift(slow_40_percent, n), 0, 0.002);
        assert_near(lift(decay, n), 0, 0.012);
    }
}

static void the_cost_is_the_time_beyond_that_of_typical_steps(void **state)
{
    (void)state;

    cells_init(&cells, NULL, 0);
    for (int64_t i = 0; i < 3000; i++) {
        int64_t time = i < 10 ? 30000000 : 10000000;
        cells_add(&cells, &(struct cells_window){i, 1, 0, time, NULL});
    }
    struct warmup w;
    warmup_find(&cells, &w);
    assert_int_equal(w.start, 10);
    assert_near(w.typical_ns, 1e7, 0);
    assert_near(w.cost_ns, 10 * 2e7, 0);
}

static void a_transient_past_the_half_leaves_no_steady_state(void **state)
{
    (void)state;

    for (int64_t n = 200; n <= 20000; n *= 10) {
        struct warmup w = find(slow_55_percent, n, 0.01, 9);
        assert_int_equal(w.class, WARMUP_NO_STEADY_STATE);
        assert_int_equal(w.start, cells_cut(&cells, n / 2));
    }
}

static void a_faster_beginning_is_not_dropped(void **state)
{
    (void)state;

    for (int64_t n = 200; n <= 20000; n *= 10) {
        struct warmup w = find(fast_fifth, n, 0.01, 10);
        assert_int_equal(w.class, WARMUP_FASTER_FIRST);
        assert_int_equal(w.start, 0);
        assert_in_range(w.change, n / 5 - cells.size, n / 5 + 2 * cells.size);
    }
}

static void a_run_that_becomes_slower_and_slower_drifts(void **state)
{
    (void)state;

    for (int64_t n = 200; n <= 20000; n *= 10) {
        struct warmup w = find(slower_and_slower, n, 0.01, 11);
        assert_int_equal(w.class, WARMUP_DRIFTING);
        assert_int_equal(w.start, 0);
    }
}

static void too_few_steps_say_how_many_are_missing(void **state)
{
    (void)state;

    assert_int_equal(find(flat, 0, 0.01, 12).missing, 20);
    struct warmup w = find(flat, 19, 0.01, 12);
    assert_int_equal(w.class, WARMUP_TOO_FEW);
    assert_int_equal(w.missing, 1);
    w = find(slow_for_5, 24, 0, 12);
    assert_int_equal(w.class, WARMUP_TOO_FEW);
    assert_int_equal(w.start, 5);
    assert_int_equal(w.missing, 1);
    assert_int_equal(find(slow_for_5, 25, 0, 12).class, WARMUP_SLOWER_FIRST);
}

static void a_noisy_run_loses_a_first_step_of_twice_the_time(void **state)
{
    (void)state;

    cells_init(&cells, NULL, 0);
    struct series series = series_from(13, 0, 0.4);
    for (int64_t i = 0; i < 500; i++) {
        int64_t time = i == 0 ? 22000000 : (int64_t)series_next(&series);
        cells_add(&cells, &(struct cells_window){i, 1, 0, time, NULL});
    }
    struct warmup w;
    warmup_find(&cells, &w);
    assert_int_equal(w.start, 1);
}

static double slow_quarter_then_a_dip(int64_t i, int64_t n)
{
    return i >= n * 3 / 8 && i < n * 2 / 5 ? 0.9 : slow_quarter(i, n);
}

static void a_fast_moment_after_a_warm_up_does_not_prolong_it(void **state)
{
    (void)state;

    struct warmup w = find(slow_quarter_then_a_dip, 200, 0, 14);
    assert_int_equal(w.class, WARMUP_SLOWER_FIRST);
    assert_int_equal(w.start, 50);
}

/* Cells of 128 steps vary little; single steps are above 1.1 times the level in 1 of 3 cases. */
static void noisy_first_steps_of_long_runs_are_kept(void **state)
{
    (void)state;
    int cut = 0;

    for (uint64_t seed = 1; seed <= 50; seed++)
        cut += find(flat, 20000, 0.25, seed).start > 0;
    assert_true(cut <= 3);
}

/* A tolerance alone, without the checks of warmup.h (method 12.4), fails this: 20 to 80 %. */
static void level_runs_with_alike_neighbours_are_rarely_called_else(void **state)
{
    (void)state;
    const struct {
        double likeness;
        int64_t n;
        int most; /* of 200 */
    } cases[] = {{0, 200, 10}, {0.5, 200, 10}, {0.5, 1000, 8}, {0.9, 1000, 8}, {0.9, 200, 24}};

    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        int wrong = 0;
        for (uint64_t seed = 1; seed <= 200; seed++) {
            struct series series = series_from(seed, cases[k].likeness, 0.05);
            cells_init(&cells, NULL, 0);
            for (int64_t i = 0; i < cases[k].n; i++) {
                int64_t time = (int64_t)series_next(&series);
                cells_add(&cells, &(struct cells_window){i, 1, 0, time, NULL});
            }
            struct warmup w;
            warmup_find(&cells, &w);
            wrong += w.class != WARMUP_FLAT;
        }
        assert_true(wrong <= cases[k].most);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_run_is_flat_from_the_start),
        cmocka_unit_test(a_slow_first_step_is_cut_off_exactly),
        cmocka_unit_test(ten_slow_steps_are_cut_off_whatever_the_length),
        cmocka_unit_test(more_slow_steps_than_the_head_are_cut_off_by_cells),
        cmocka_unit_test(a_plateau_ends_within_a_cell),
        cmocka_unit_test(what_is_kept_is_hardly_lifted_by_transients),
        cmocka_unit_test(the_cost_is_the_time_beyond_that_of_typical_steps),
        cmocka_unit_test(a_transient_past_the_half_leaves_no_steady_state),
        cmocka_unit_test(a_faster_beginning_is_not_dropped),
        cmocka_unit_test(a_run_that_becomes_slower_and_slower_drifts),
        cmocka_unit_test(too_few_steps_say_how_many_are_missing),
        cmocka_unit_test(a_noisy_run_loses_a_first_step_of_twice_the_time),
        cmocka_unit_test(a_fast_moment_after_a_warm_up_does_not_prolong_it),
        cmocka_unit_test(noisy_first_steps_of_long_runs_are_kept),
        cmocka_unit_test(level_runs_with_alike_neighbours_are_rarely_called_else),
    };
    return cmocka_run_group_tests_name("stats/warmup", tests, NULL, NULL);
}
