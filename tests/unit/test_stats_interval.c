/* stats/interval: do the intervals hold what they promise? */
#include "stats/interval.h"
#include "test_stats_support.h"

static double scratch[3 * 1000];

static void too_few_values_have_no_interval(void **state)
{
    (void)state;
    double x[20] = {1, 2, 3};

    assert_true(isinf(interval_half_width(x, 19, scratch)));
    assert_true(isfinite(interval_half_width(x, 20, scratch)));
    struct interval mean = interval_mean(x, 3, scratch);
    assert_near(mean.mid, 2, 0);
    assert_true(isinf(mean.high) && isinf(mean.low) && mean.low < 0);
    assert_near(interval_mean(x, 0, scratch).mid, 0, 0);
}

static void constant_values_have_an_interval_of_no_width(void **state)
{
    (void)state;
    double x[50];

    for (size_t i = 0; i < 50; i++)
        x[i] = 7;
    struct interval mean = interval_mean(x, 50, scratch);
    assert_near(mean.low, 7, 0);
    assert_near(mean.high, 7, 0);
}

static void batch_means_by_hand(void **state)
{
    (void)state;
    double x[200];

    /* Zigzag of no correlation that counts, around batch means 1 to 10. The means have a variance
     * of 55 / 6, t of 9 degrees is 2.262157: 2.262157 * sqrt(55 / 60) = 2.1659. */
    for (size_t i = 0; i < 200; i++)
        x[i] = (double)(i / 20 + 1) + (i % 2 ? 10 : -10);
    assert_near(interval_half_width(x, 200, scratch), 2.1659, 0.0001);
}

static void effective_size_by_hand(void **state)
{
    (void)state;
    double x[40];

    /* 1 and 3 in fours, so that all batches of four have mean 1 or 3: variance 40 / 39, lag-1
     * (30 - 9) / 40 = 0.525, corrected (40 * 0.525 + 1) / 36 = 0.6111; 40 / 4.1429 = 9.655 are
     * independent. Batches: variance 10 / 9, 2.262157 * sqrt(1 / 9) = 0.754. Effective size:
     * t of 8.655 degrees 2.2764, 2.2764 * sqrt(40 / 39 * (39 / 40) / (1 - 1 / 9.655) / 9.655). */
    for (size_t i = 0; i < 40; i++)
        x[i] = i / 4 % 2 ? 3 : 1;
    assert_near(interval_half_width(x, 40, scratch), 2.2764 * sqrt(1 / 8.655), 0.001);
}

static void independent_values_get_little_more_than_students_interval(void **state)
{
    (void)state;
    struct random random = random_from(2);
    static double x[400];
    double ratio = 0;

    for (int k = 0; k < 100; k++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < 400; i++) {
            x[i] = random_normal(&random);
            sum += x[i];
            squares += x[i] * x[i];
        }
        double variance = (squares - sum * sum / 400) / 399;
        ratio += interval_half_width(x, 400, scratch) / (1.966 * sqrt(variance / 400)) / 100;
    }
    assert_in_range(100 * ratio, 100, 130);
}

/* 90 to 99 % of 200 series are 180 to 198. 50 steps with a likeness of 0.9 are worth three that are
 * independent: the one case that may be a little below. */
static void alike_neighbours_are_allowed_for(void **state)
{
    (void)state;
    const double likeness[] = {0, 0.3, 0.5, 0.9};
    const size_t counts[] = {50, 200, 1000};
    static double x[1000];

    for (size_t a = 0; a < COUNT_OF(likeness); a++) {
        for (size_t k = 0; k < COUNT_OF(counts); k++) {
            int covered = 0;
            for (uint64_t seed = 1; seed <= 200; seed++) {
                struct series series = series_from(seed, likeness[a], 0.05);
                for (size_t i = 0; i < counts[k]; i++)
                    x[i] = series_next(&series);
                struct interval mean = interval_mean(x, counts[k], scratch);
                double truth = series_mean(&series);
                covered += mean.low <= truth && truth <= mean.high;
            }
            bool hard = likeness[a] == 0.9 && counts[k] == 50;
            if (covered < (hard ? 170 : 180) || covered > 198)
                fail_msg("likeness %g, %zu values: %d of 200", likeness[a], counts[k], covered);
        }
    }
}

static void a_ratio_is_that_of_the_sums(void **state)
{
    (void)state;
    double part[40], whole[40];

    /* Shares 0.1 of 100 and 0.5 of 10, in turn: 15 of 110, not 0.3. */
    for (size_t i = 0; i < 40; i++) {
        whole[i] = i % 2 ? 10 : 100;
        part[i] = i % 2 ? 5 : 10;
    }
    struct interval share = interval_ratio(part, whole, 40, scratch);
    assert_near(share.mid, 15.0 / 110, 1e-15);
    assert_true(share.low < share.mid && share.mid < share.high);
    assert_near(share.mid - share.low, share.high - share.mid, 1e-12);
}

static void a_part_in_step_with_the_whole_has_a_sure_share(void **state)
{
    (void)state;
    struct random random = random_from(3);
    double part[40], whole[40];

    for (size_t i = 0; i < 40; i++) {
        whole[i] = 1 + random_uniform(&random);
        part[i] = whole[i] / 4;
    }
    struct interval share = interval_ratio(part, whole, 40, scratch);
    assert_near(share.low, 0.25, 1e-12);
    assert_near(share.high, 0.25, 1e-12);
}

static void nothing_has_no_share(void **state)
{
    (void)state;
    double zero[30] = {0};

    assert_near(interval_ratio(zero, zero, 30, scratch).mid, 0, 0);
    assert_true(isinf(interval_ratio(zero, zero, 30, scratch).high));
    assert_near(interval_ratio(zero, zero, 0, scratch).mid, 0, 0);
}

static void half_the_width_needs_four_times_the_values(void **state)
{
    (void)state;

    assert_int_equal(interval_more_needed(100, 4, 2), 300);
    assert_int_equal(interval_more_needed(100, 4, 4), 0);
    assert_int_equal(interval_more_needed(100, 3, 4), 0);
    assert_int_equal(interval_more_needed(100, INFINITY, 4), -1);
    assert_int_equal(interval_more_needed(100, 1, 0), -1);
    assert_int_equal(interval_more_needed(100, 1e12, 1e-12), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_few_values_have_no_interval),
        cmocka_unit_test(constant_values_have_an_interval_of_no_width),
        cmocka_unit_test(batch_means_by_hand),
        cmocka_unit_test(effective_size_by_hand),
        cmocka_unit_test(independent_values_get_little_more_than_students_interval),
        cmocka_unit_test(alike_neighbours_are_allowed_for),
        cmocka_unit_test(a_ratio_is_that_of_the_sums),
        cmocka_unit_test(a_part_in_step_with_the_whole_has_a_sure_share),
        cmocka_unit_test(nothing_has_no_share),
        cmocka_unit_test(half_the_width_needs_four_times_the_values),
    };
    return cmocka_run_group_tests_name("stats/interval", tests, NULL, NULL);
}
