/* stats/cells: exact sums, medians that spikes and periods do not move, in fixed memory. */
#include "stats/cells.h"
#include "test_stats_support.h"

enum { PARTS = 3 };

static int64_t parts_memory[CELLS_ROWS * PARTS];
static int64_t other_memory[CELLS_ROWS * PARTS];

static void add(struct cells *cells, int64_t step, double time_ns)
{
    int64_t parts[PARTS] = {(int64_t)time_ns / 2, (int64_t)time_ns / 7, 1};
    cells_add(cells, &(struct cells_window){.first_step = step,
                                            .steps = 1,
                                            .start_ns = 1000 * step,
                                            .time_ns = (int64_t)time_ns,
                                            .parts = parts});
}

static void sums_are_exact_from_every_cut(void **state)
{
    (void)state;
    static int64_t time[5000];
    static struct cells cells;
    struct random random = random_from(1);

    cells_init(&cells, parts_memory, PARTS);
    for (int64_t n = 1; n <= 5000; n++) {
        time[n - 1] = (int64_t)(random_uniform(&random) * 1e9);
        add(&cells, n - 1, (double)time[n - 1]);
        if (n % 97 != 0 && n > 300)
            continue;
        int64_t sum = 0, sevenths = 0;
        for (int64_t start = n; start >= 0; start--) {
            if (start < n) {
                sum += time[start];
                sevenths += time[start] / 7;
            }
            if (cells_cut(&cells, start) != start)
                continue;
            assert_int_equal(cells_sum(&cells, start, CELLS_TIME), sum);
            assert_int_equal(cells_sum(&cells, start, CELLS_STEPS), n - start);
            assert_int_equal(cells_sum(&cells, start, 1), sevenths);
            assert_int_equal(cells_sum(&cells, start, 2), n - start);
        }
    }
}

static void columns_add_up_to_the_sum(void **state)
{
    (void)state;
    static struct cells cells;
    double column[CELLS_MAX];
    const int64_t starts[] = {0, 1, 37, 64, 128, 512};

    cells_init(&cells, parts_memory, PARTS);
    for (int64_t i = 0; i < 3001; i++)
        add(&cells, i, (double)(1000 + i));
    assert_int_equal(cells.size, 16);
    for (size_t k = 0; k < COUNT_OF(starts); k++) {
        size_t count = cells_column(&cells, starts[k], CELLS_TIME, column);
        double sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += column[i];
        assert_near(sum, (double)cells_sum(&cells, starts[k], CELLS_TIME), 0);
    }
    /* From 37 on: cell 2 (windows 32 to 47) without 32 to 36, so 11 windows of 1042 on average. */
    cells_column(&cells, 37, CELLS_TIME, column);
    assert_near(column[0], 11 * 1042, 0);
}

static void long_runs_have_128_to_256_cells(void **state)
{
    (void)state;
    static struct cells cells;

    cells_init(&cells, NULL, 0);
    for (int64_t i = 0; i < 100000; i++) {
        cells_add(&cells, &(struct cells_window){i, 1, 0, 1000, NULL});
        assert_true(cells.count < CELLS_MAX);
        assert_true(i < 128 || cells.count >= CELLS_MAX / 2);
    }
    assert_int_equal(cells.size, 512); /* 100,000 / 256 = 391 */
}

static void a_cut_is_any_place_of_the_head_or_a_whole_cell(void **state)
{
    (void)state;
    static struct cells cells;

    cells_init(&cells, NULL, 0);
    for (int64_t i = 0; i < 3000; i++)
        cells_add(&cells, &(struct cells_window){i + 7, 1, 0, 1000, NULL});
    assert_int_equal(cells_cut(&cells, 63), 63);
    assert_int_equal(cells_cut(&cells, 64), 64);
    assert_int_equal(cells_cut(&cells, 65), 80);
    assert_int_equal(cells_cut(&cells, 96), 96);
    assert_int_equal(cells_first_whole(&cells, 63), 64);
    assert_int_equal(cells_step_at(&cells, 63), 70);
    assert_int_equal(cells_step_at(&cells, 80), 87);
    assert_int_equal(cells_step_at(&cells, 3000), -1);
}

static void medians_are_those_of_the_steps(void **state)
{
    (void)state;
    static struct cells cells;
    static double x[256];
    double medians[CELLS_MAX];
    struct random random = random_from(4);

    /* 20,000 windows: cells of 128, the last ones filled when their size was 128 already. */
    cells_init(&cells, NULL, 0);
    for (int64_t i = 0; i < 128 * 156 + 70; i++) {
        double value = floor(1e6 * random_uniform(&random));
        x[i % 128] = value;
        cells_add(&cells, &(struct cells_window){i, 1, 0, (int64_t)value, NULL});
        if (i == 128 * 156 - 1) {
            assert_int_equal(cells_medians(&cells, 0, medians), 156);
            assert_near(medians[155], sorted_median(x, 128), 0);
        }
    }
    /* 70 of 128: more than half of a cell, so it counts. */
    assert_int_equal(cells_medians(&cells, 0, medians), 157);
    assert_near(medians[156], sorted_median(x, 70), 0);
    assert_int_equal(cells_medians(&cells, 1, medians), 156);
    assert_int_equal(cells_medians(&cells, 256, medians), 155);
}

static void rare_spikes_do_not_lift_old_cells(void **state)
{
    (void)state;
    static struct cells cells;
    double medians[CELLS_MAX];

    for (int64_t n = 500; n <= 64000; n *= 2) {
        struct series series = series_from(5, 0.3, 0.01);
        series.spike_rate = 0.03;
        series.spike_factor = 10;
        cells_init(&cells, NULL, 0);
        for (int64_t i = 0; i < n; i++) {
            int64_t value = (int64_t)series_next(&series);
            cells_add(&cells, &(struct cells_window){i, 1, 0, value, NULL});
        }
        size_t count = cells_medians(&cells, 0, medians);
        size_t lifted = 0;
        for (size_t i = 0; i < count; i++)
            lifted += medians[i] > 1.05e7;
        /* Means would be lifted by 27 %. Up to cells of 4 steps a spike may be half of one. */
        assert_true(lifted <= (cells.size <= 4 ? count / 10 : 0));
    }
}

static void a_period_does_not_alias_into_the_medians(void **state)
{
    (void)state;
    static struct cells cells;
    double medians[CELLS_MAX];

    /* Cells of 512 windows are sampled every 4th on average; every 4th window is slow. */
    for (int64_t phase = 0; phase < 4; phase++) {
        cells_init(&cells, NULL, 0);
        for (int64_t i = 0; i < 512 * 200; i++) {
            int64_t value = i % 4 == phase ? 5000 : 1000;
            cells_add(&cells, &(struct cells_window){i, 1, 0, value, NULL});
        }
        assert_int_equal(cells.size, 512);
        size_t count = cells_medians(&cells, 0, medians);
        for (size_t i = 0; i < count; i++)
            assert_near(medians[i], 1000, 0);
    }
}

static void the_longest_step_is_found_with_its_number(void **state)
{
    (void)state;
    static struct cells cells;
    int64_t step;

    cells_init(&cells, NULL, 0);
    for (int64_t i = 0; i < 40000; i++) {
        int64_t value = i == 0 ? 9000 : i == 5 ? 5000 : i == 100 ? 4000 : 1000 + i % 7;
        cells_add(&cells, &(struct cells_window){i, 1, 0, value, NULL});
    }
    assert_int_equal(cells_max(&cells, 0, &step), 9000);
    assert_int_equal(step, 0);
    assert_int_equal(cells_max(&cells, 1, &step), 5000);
    assert_int_equal(step, 5);
    /* Step 100 is in the cell whose beginning is cut off. */
    assert_int_equal(cells_max(&cells, 6, &step), 4000);
    assert_int_equal(step, 100);
    assert_int_equal(cells_max(&cells, 256, &step), 1006);
    assert_int_equal(cells_max(&cells, 40192, &step), 0);
    assert_int_equal(step, -1);
}

static void windows_of_several_steps_count_by_the_step(void **state)
{
    (void)state;
    static struct cells cells;
    double medians[CELLS_MAX];
    int64_t step;

    /* steps_per_execution = 4, 10 batches: windows of 4, 4, 2. */
    cells_init(&cells, NULL, 0);
    cells_add(&cells, &(struct cells_window){0, 4, 0, 400, NULL});
    cells_add(&cells, &(struct cells_window){4, 4, 400, 440, NULL});
    cells_add(&cells, &(struct cells_window){8, 2, 840, 240, NULL});
    assert_int_equal(cells_sum(&cells, 0, CELLS_STEPS), 10);
    assert_int_equal(cells_sum(&cells, 1, CELLS_TIME), 680);
    assert_int_equal(cells_medians(&cells, 0, medians), 3);
    assert_near(medians[1], 110, 0);
    assert_int_equal(cells_max(&cells, 0, &step), 120);
    assert_int_equal(step, 8);
    assert_int_equal(cells_step_at(&cells, 2), 8);
}

static void the_same_windows_give_the_same_cells(void **state)
{
    (void)state;
    static struct cells a, b;
    struct series series = series_from(6, 0.5, 0.1);

    memset(&a, 0x55, sizeof(a));
    memset(&b, 0xaa, sizeof(b));
    memset(parts_memory, 0x55, sizeof(parts_memory));
    memset(other_memory, 0xaa, sizeof(other_memory));
    cells_init(&a, parts_memory, PARTS);
    cells_init(&b, other_memory, PARTS);
    for (int64_t i = 0; i < 33333; i++) {
        double value = series_next(&series);
        add(&a, i, value);
        add(&b, i, value);
    }
    assert_memory_equal(a.cell, b.cell, a.count * sizeof(a.cell[0]));
    assert_memory_equal(a.head, b.head, sizeof(a.head));
    assert_int_equal(cells_sum(&a, 64, 0), cells_sum(&b, 64, 0));
}

static void no_windows_are_no_trouble(void **state)
{
    (void)state;
    static struct cells cells;
    double out[CELLS_MAX];
    int64_t step;

    cells_init(&cells, NULL, 0);
    assert_int_equal(cells_sum(&cells, 0, CELLS_TIME), 0);
    assert_int_equal(cells_column(&cells, 0, CELLS_TIME, out), 0);
    assert_int_equal(cells_medians(&cells, 0, out), 0);
    assert_int_equal(cells_max(&cells, 0, &step), 0);
    assert_int_equal(cells_step_at(&cells, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact_from_every_cut),
        cmocka_unit_test(columns_add_up_to_the_sum),
        cmocka_unit_test(long_runs_have_128_to_256_cells),
        cmocka_unit_test(a_cut_is_any_place_of_the_head_or_a_whole_cell),
        cmocka_unit_test(medians_are_those_of_the_steps),
        cmocka_unit_test(rare_spikes_do_not_lift_old_cells),
        cmocka_unit_test(a_period_does_not_alias_into_the_medians),
        cmocka_unit_test(the_longest_step_is_found_with_its_number),
        cmocka_unit_test(windows_of_several_steps_count_by_the_step),
        cmocka_unit_test(the_same_windows_give_the_same_cells),
        cmocka_unit_test(no_windows_are_no_trouble),
    };
    return cmocka_run_group_tests_name("stats/cells", tests, NULL, NULL);
}
