/* stats/robust: medians and what rests on them. */
#include "stats/robust.h"
#include "test_stats_support.h"

static void a_median_is_the_middle_or_the_mean_of_two(void **state)
{
    (void)state;
    double scratch[4];

    assert_near(robust_median((double[]){3, 1, 2}, 3, scratch), 2, 0);
    assert_near(robust_median((double[]){4, 1, 3, 2}, 4, scratch), 2.5, 0);
    assert_near(robust_median((double[]){7}, 1, scratch), 7, 0);
    assert_near(robust_median(NULL, 0, scratch), 0, 0);
}

static void a_median_is_the_same_as_by_sorting(void **state)
{
    (void)state;
    struct random random = random_from(1);
    double x[300], kept[300], scratch[300];

    for (size_t count = 1; count <= COUNT_OF(x); count++) {
        /* Few different values, so that ties occur. */
        for (size_t i = 0; i < count; i++)
            x[i] = floor(random_uniform(&random) * (count % 3 ? 1000 : 5));
        memcpy(kept, x, sizeof(x));
        double median = robust_median(x, count, scratch);
        assert_memory_equal(x, kept, sizeof(x));
        assert_near(median, sorted_median(x, count), 0);
        assert_near(robust_median(x, count, scratch), median, 0); /* sorted input */
    }
}

static void sigma_is_1_4826_times_the_median_distance(void **state)
{
    (void)state;
    double scratch[5];

    /* Distances from 3: 2, 1, 0, 1, 97; their median 1. */
    assert_near(robust_sigma((double[]){1, 2, 3, 4, 100}, 5, 3, scratch), 1.4826, 0);
}

static void sigma_of_a_normal_sample_is_its_standard_deviation(void **state)
{
    (void)state;
    struct random random = random_from(2);
    static double x[20000], scratch[20000];

    for (size_t i = 0; i < COUNT_OF(x); i++)
        x[i] = 5 + 2 * random_normal(&random);
    assert_near(robust_sigma(x, COUNT_OF(x), 5, scratch), 2, 0.04);
}

static void winsorising_pulls_outliers_back_to_three_sigma(void **state)
{
    (void)state;
    double x[] = {1, 2, 3, 4, 100, -100, 3};
    double scratch[7], out[7];

    /* Median 3; distances 2 1 0 1 97 103 0, median 1; reach 3 * 1.4826 = 4.4478. */
    robust_winsorise(x, 7, out, scratch);
    assert_near(out[4], 7.4478, 1e-12);
    assert_near(out[5], -1.4478, 1e-12);
    assert_near(out[0], 1, 0);
    assert_near(x[4], 100, 0);
}

static void winsorising_leaves_values_alone_when_most_are_equal(void **state)
{
    (void)state;
    double x[] = {5, 5, 5, 5, 9};
    double scratch[5];

    robust_winsorise(x, 5, x, scratch);
    assert_near(x[4], 9, 0);
}

static void a_single_outlier_becomes_the_median_around_it(void **state)
{
    (void)state;
    double x[] = {10, 11, 10, 11, 50, 10, 11, 10, 11, 10};
    double out[10], scratch[20];

    robust_despike(x, 10, out, scratch);
    assert_near(out[4], 11, 0); /* of 10 11 50 10 11 */
    for (size_t i = 0; i < 10; i++)
        if (i != 4)
            assert_near(out[i], x[i], 0);
}

static void a_level_of_three_values_is_no_outlier(void **state)
{
    (void)state;
    double x[] = {10, 10, 10, 10, 20, 20, 20, 10, 10, 10, 10};
    double start[] = {20, 20, 10, 10, 10, 10, 10};
    double out[11], scratch[22];

    robust_despike(x, 11, out, scratch);
    for (size_t i = 0; i < 11; i++)
        assert_near(out[i], x[i], 0);
    robust_despike(start, 7, out, scratch);
    assert_near(out[0], 20, 0);
    assert_near(out[1], 20, 0);
}

static void what_differs_by_less_than_2_percent_is_no_outlier(void **state)
{
    (void)state;
    double x[] = {100, 100, 100, 101.9, 100, 100, 102.1, 100, 100};
    double out[9], scratch[18];

    robust_despike(x, 9, out, scratch);
    assert_near(out[3], 101.9, 0);
    assert_near(out[6], 100, 0);
}

static void despiking_takes_any_count(void **state)
{
    (void)state;
    double x[] = {1, 50, 1, 1};
    double out[4], scratch[8];

    for (size_t count = 0; count <= 4; count++)
        robust_despike(x, count, out, scratch);
    assert_near(out[1], 1, 0);
}

static void correlation_of_neighbours_by_hand(void **state)
{
    (void)state;
    double zigzag[] = {1, 3, 1, 3, 1, 3, 1, 3};
    double scratch[8];

    /* Deviations -1.5 -0.5 0.5 1.5: products 0.75 - 0.25 + 0.75 over squares 5. */
    assert_near(robust_lag1((double[]){1, 2, 3, 4}, 4, scratch), 0.25, 1e-15);
    assert_near(robust_lag1((double[]){2, 2, 2}, 3, scratch), 0, 0);
    assert_near(robust_lag1(NULL, 0, scratch), 0, 0);
    /* Deviations -1 1 -1 1 ...: -7 over 8; corrected (8 * -0.875 + 1) / 4 is below 0. */
    assert_near(robust_lag1(zigzag, 8, scratch), -0.875, 1e-15);
    assert_near(robust_inflation(zigzag, 8, 1, scratch), 1, 0);
}

static void correlation_leaves_pairs_with_an_outlier_out(void **state)
{
    (void)state;
    double x[] = {1, 2, 1, 2, 100, 2, 1, 2};
    double scratch[8];

    /* Median 2, sigma 0.74: all but 100 count. Mean 11 / 7, so deviations -4/7 and 3/7; five pairs
     * of product -12/49, squares 84/49 of seven: (-12/49) / (12/49) * 7/8. */
    assert_near(robust_lag1(x, 8, scratch), -0.875, 1e-12);
}

static void inflation_takes_the_low_bias_of_short_series_away(void **state)
{
    (void)state;
    double raw = 0, corrected = 0, x[40], scratch[40];

    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct series series = series_from(seed, 0.6, 0.01);
        for (size_t i = 0; i < 40; i++)
            x[i] = series_next(&series);
        raw += robust_lag1(x, 40, scratch) / 2000;
        double inflation = robust_inflation(x, 40, 1, scratch);
        corrected += (inflation - 1) / (inflation + 1) / 2000;
    }
    assert_true(raw < 0.53); /* bias about -(1 + 4 * 0.6) / 40 = -0.085 */
    assert_near(corrected, 0.6, 0.025);
}

static void inflation_is_not_known_from_few_values(void **state)
{
    (void)state;
    double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    double scratch[15];

    assert_near(robust_inflation(x, 7, 1, scratch), 1, 0);
    assert_near(robust_inflation(x, 15, 2, scratch), 1, 0);
    /* r is above 1 - 2 / 15 after correction: (1 + 13 / 15) / (2 / 15) = 14. */
    assert_near(robust_inflation(x, 15, 1, scratch), 14, 1e-9);
}

static void spikes_do_not_hide_correlation(void **state)
{
    (void)state;
    static double x[5000], scratch[5000];
    struct series series = series_from(3, 0.8, 0.01);
    series.spike_rate = 0.01;
    series.spike_factor = 3;

    double mean = 0, together = 0, alone = 0;
    for (size_t i = 0; i < COUNT_OF(x); i++)
        mean += (x[i] = series_next(&series)) / (double)COUNT_OF(x);
    for (size_t i = 1; i < COUNT_OF(x); i++) {
        together += (x[i] - mean) * (x[i - 1] - mean);
        alone += (x[i] - mean) * (x[i] - mean);
    }
    assert_true(together / alone < 0.1); /* the textbook's */
    assert_near(robust_lag1(x, COUNT_OF(x), scratch), 0.8, 0.03);
}

static void slope_is_the_median_of_all_pairs(void **state)
{
    (void)state;
    double scratch[10];

    /* Slopes 1, 2, (4 - 1) / 2 = 1.5. */
    assert_near(robust_slope((double[]){1, 2, 4}, 3, scratch), 1.5, 0);
    /* One wild value of five does not turn it. */
    assert_near(robust_slope((double[]){1, 2, 90, 4, 5}, 5, scratch), 1, 0);
}

static void trend_z_by_hand(void **state)
{
    (void)state;
    double rising[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    double falling[] = {9, 8, 7, 6};

    /* 45 rises; variance 10 * 9 * 25 / 18 = 125; z = 44 / sqrt(125). */
    assert_near(robust_trend_z(rising, 10, 1), 44 / sqrt(125), 1e-12);
    assert_near(robust_trend_z(rising, 10, 4), 22 / sqrt(125), 1e-12);
    /* 6 falls; variance 4 * 3 * 13 / 18 = 26 / 3. */
    assert_near(robust_trend_z(falling, 4, 1), -5 / sqrt(26.0 / 3), 1e-12);
}

static void trend_z_counts_ties(void **state)
{
    (void)state;
    double tied[] = {1, 1, 2, 3};
    double constant[] = {2, 2, 2, 2};

    /* 5 rises; variance (4 * 3 * 13 - 2 * 1 * 9) / 18 = 138 / 18. */
    assert_near(robust_trend_z(tied, 4, 1), 4 / sqrt(138.0 / 18), 1e-12);
    assert_near(robust_trend_z(constant, 4, 1), 0, 0);
}

static void blocks_cover_all_values(void **state)
{
    (void)state;
    double x[] = {1, 2, 3, 4, 5, 6, 7};
    double out[3], scratch[7];

    /* 7 values in 3 blocks: [1 2] [3 4] [5 6 7]. */
    robust_block_medians(x, 7, 3, out, scratch);
    assert_near(out[0], 1.5, 0);
    assert_near(out[1], 3.5, 0);
    assert_near(out[2], 6, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_median_is_the_middle_or_the_mean_of_two),
        cmocka_unit_test(a_median_is_the_same_as_by_sorting),
        cmocka_unit_test(sigma_is_1_4826_times_the_median_distance),
        cmocka_unit_test(sigma_of_a_normal_sample_is_its_standard_deviation),
        cmocka_unit_test(winsorising_pulls_outliers_back_to_three_sigma),
        cmocka_unit_test(winsorising_leaves_values_alone_when_most_are_equal),
        cmocka_unit_test(a_single_outlier_becomes_the_median_around_it),
        cmocka_unit_test(a_level_of_three_values_is_no_outlier),
        cmocka_unit_test(what_differs_by_less_than_2_percent_is_no_outlier),
        cmocka_unit_test(despiking_takes_any_count),
        cmocka_unit_test(correlation_of_neighbours_by_hand),
        cmocka_unit_test(correlation_leaves_pairs_with_an_outlier_out),
        cmocka_unit_test(inflation_takes_the_low_bias_of_short_series_away),
        cmocka_unit_test(inflation_is_not_known_from_few_values),
        cmocka_unit_test(spikes_do_not_hide_correlation),
        cmocka_unit_test(slope_is_the_median_of_all_pairs),
        cmocka_unit_test(trend_z_by_hand),
        cmocka_unit_test(trend_z_counts_ties),
        cmocka_unit_test(blocks_cover_all_values),
    };
    return cmocka_run_group_tests_name("stats/robust", tests, NULL, NULL);
}
