/* stats/compare_ladder: which word a comparison gets, by hand and on simulated runs. */
#include <stdio.h>

#include "stats/cells.h"
#include "stats/compare_ladder.h"
#include "stats/steady.h"
#include "stats/student.h"
#include "stats/warmup.h"
#include "test_stats_support.h"

static const double MATTERS = 0.02;

static void one_run_a_side_is_an_indication_as_wide_as_runs_may_differ(void **state)
{
    (void)state;
    const double log_a = 1, log_b = 1.1, error_a = 0.03, error_b = 0.04;
    const struct compare_arm a = {&log_a, &error_a, 1, 0.02, 0};
    const struct compare_arm b = {&log_b, &error_b, 1, 0.02, 0};

    const struct compare_gap gap = compare_arms(&a, &b);
    /* sqrt(0.03^2 + 0.04^2 + 2 * 0.02^2) = sqrt(0.0033), t of 9 degrees 2.262157. */
    assert_int_equal(gap.level, COMPARE_INDICATION);
    assert_near(compare_interval(&gap.difference).low, 0.1 - 2.262157 * sqrt(0.0033), 1e-7);
    assert_near(compare_interval(&gap.difference).high, 0.1 + 2.262157 * sqrt(0.0033), 1e-7);
}

static void two_runs_a_side_are_an_indication_with_half_the_variance(void **state)
{
    (void)state;
    const double value[] = {0.0, 0.1}, error[] = {0.03, 0.03};
    const struct compare_arm one = {value, error, 1, 0.04, 0};
    const struct compare_arm two = {value, error, 2, 0.04, 0};

    const struct compare_gap gap = compare_arms(&one, &two);
    assert_int_equal(gap.level, COMPARE_INDICATION);
    assert_near(gap.difference.mean, 0.05, 1e-12);
    assert_near(gap.difference.error, sqrt(0.0025 + 0.0025 / 2), 1e-12);
    assert_near(gap.sigma, 0.05, 1e-12);
    assert_int_equal(compare_arms(&two, &two).level, COMPARE_INDICATION);
}

static void three_runs_a_side_are_a_test_of_what_is_seen(void **state)
{
    (void)state;
    const double x[] = {0.00, 0.02, 0.04}, y[] = {0.11, 0.12, 0.13};
    const double error[] = {9, 9, 9};
    const struct compare_arm a = {x, error, 3, 9, 0};
    const struct compare_arm b = {y, error, 3, 9, 0};

    const struct compare_gap gap = compare_arms(&a, &b);
    /* Welch: error sqrt(5e-4 / 3), 50/17 degrees (test_stats_ratio.c). */
    const double reach = student_quantile(0.975, 50.0 / 17) * sqrt(5e-4 / 3);
    assert_int_equal(gap.level, COMPARE_TEST);
    assert_near(compare_interval(&gap.difference).low, 0.1 - reach, 1e-9);
    /* Pooled variance of 4e-4 and 1e-4. */
    assert_near(gap.sigma, sqrt(2.5e-4), 1e-12);
}

static void more_runs_do_not_lower_what_all_of_them_share(void **state)
{
    (void)state;
    const double value[] = {0.1, 0.1, 0.1, 0.1, 0.1}, error[5] = {0};
    const struct compare_arm a = {value, error, 5, 0.02, 0.003};
    const struct compare_arm b = {value, error, 5, 0.02, 0.004};

    const struct compare_gap gap = compare_arms(&a, &b);
    assert_near(gap.difference.error, 0.005, 1e-12);
    assert_near(gap.sigma, 0, 0);
}

static void the_chance_and_the_interval_say_the_same(void **state)
{
    (void)state;

    for (double freedom = 2; freedom < 20; freedom += 1.5) {
        struct difference edge = {.error = 0.01, .freedom = freedom};
        edge.mean = -student_quantile(0.975, freedom) * edge.error;
        assert_near(compare_chance(&edge), 0.05, 1e-7);
        assert_near(compare_interval(&edge).high, 0, 1e-9);
    }
    assert_near(compare_chance(&(struct difference){0, 0, 4}), 1, 0);
    assert_near(compare_chance(&(struct difference){0.1, 0, 4}), 0, 0);
}

static void holm_by_hand(void **state)
{
    (void)state;
    double chance[] = {0.04, NAN, 0.01, 0.02, 0.5};

    /* 0.01 x 4, 0.02 x 3, 0.04 x 2, 0.5 x 1. */
    compare_correct(chance, COUNT_OF(chance));
    assert_near(chance[2], 0.04, 1e-12);
    assert_near(chance[3], 0.06, 1e-12);
    assert_near(chance[0], 0.08, 1e-12);
    assert_near(chance[4], 0.5, 1e-12);
    assert_true(isnan(chance[1]));

    /* 0.03 x 2 is more than 0.031 x 1, and 0.9 x 2 than 1. */
    double close[] = {0.031, 0.03}, large[] = {0.9, 0.95};
    compare_correct(close, 2);
    assert_near(close[0], 0.06, 1e-12);
    compare_correct(large, 2);
    assert_near(large[0], 1, 0);
}

static void words(void **state)
{
    (void)state;
    static const struct {
        struct interval change;
        double chance;
        enum compare_word word;
    } cases[] = {
        {{0.01, 0.05, 0.09}, 0.02, COMPARE_SLOWER},
        {{-0.09, -0.05, -0.01}, 0.02, COMPARE_FASTER},
        {{0.01, 0.05, 0.09}, 0.06, COMPARE_INCONCLUSIVE}, /* after Holm's correction */
        {{-0.01, 0.05, 0.11}, 0.09, COMPARE_INCONCLUSIVE},
        {{0.005, 0.015, 0.025}, 0.01, COMPARE_INCONCLUSIVE}, /* real, perhaps small */
        {{0.005, 0.010, 0.015}, 0.001, COMPARE_SAME},        /* real, and small */
        {{-0.015, 0, 0.015}, 0.9, COMPARE_SAME},
        {{-INFINITY, 0.3, INFINITY}, 1, COMPARE_INCONCLUSIVE},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(compare_judge(cases[i].change, cases[i].chance, MATTERS), cases[i].word);
}

static void the_median_decides_only_where_the_mean_can_not(void **state)
{
    (void)state;

    assert_int_equal(compare_headline(COMPARE_SLOWER, COMPARE_FASTER), COMPARE_SLOWER);
    assert_int_equal(compare_headline(COMPARE_SAME, COMPARE_SLOWER), COMPARE_SAME);
    assert_int_equal(compare_headline(COMPARE_INCONCLUSIVE, COMPARE_SLOWER), COMPARE_SLOWER);
    assert_int_equal(compare_headline(COMPARE_INCONCLUSIVE, COMPARE_FASTER), COMPARE_FASTER);
    assert_int_equal(compare_headline(COMPARE_INCONCLUSIVE, COMPARE_SAME), COMPARE_INCONCLUSIVE);
}

static void more_runs_are_those_that_the_power_takes(void **state)
{
    (void)state;
    struct compare_gap gap = {.sigma = 0.02};

    /* Five a side tell 4.04 % at a spread of 2 % (tests/unit/test_stats_ratio.c). */
    assert_int_equal(compare_more_runs(&gap, 1, 1, 0.0405), 4);
    assert_int_equal(compare_more_runs(&gap, 3, 4, 0.0405), 2);
    /* One more at least, or why was it not told; three a side at least. */
    assert_int_equal(compare_more_runs(&gap, 8, 8, 0.0405), 1);
    assert_int_equal(compare_more_runs(&gap, 1, 1, 5), 2);
    assert_int_equal(compare_more_runs(&gap, 3, 3, 0.001), -1);
    gap.sigma = INFINITY;
    assert_int_equal(compare_more_runs(&gap, 3, 3, 0.02), -1);
}

/* Runs as they are: a slow start, neighbours that resemble each other, spikes, and a
 * level of its own for each run. What is compared is what a report has of the steady
 * steps: their mean, and their median. */
enum { STEPS = 2000, WARM_UP = 20, MOST_RUNS = 3, COMPARISONS = 200 };

struct shape {
    size_t runs; /* of a side */
    double likeness;
    double run_spread; /* standard deviation of the runs' levels */
    double slower;     /* of B */
};

struct side {
    double mean[MOST_RUNS], median[MOST_RUNS], error[MOST_RUNS];
};

static void simulate(struct side *side, size_t run, uint64_t seed, double level, double likeness)
{
    static struct cells cells;
    static double times[STEPS];
    struct series series = series_from(seed, likeness, 0.02);
    struct warmup warmup;

    series.spike_rate = 0.01;
    series.spike_factor = 3;
    cells_init(&cells, NULL, 0);
    for (int64_t i = 0; i < STEPS; i++) {
        const double slow = i < WARM_UP ? 4 : 1;
        times[i] = floor(slow * exp(level) * series_next(&series));
        cells_add(&cells, &(struct cells_window){i, 1, 0, (int64_t)times[i], NULL});
    }
    warmup_find(&cells, &warmup);
    const struct interval step = steady_step_ns(&cells, warmup.start);
    side->mean[run] = log(step.mid);
    side->error[run] = (step.high - step.mid) / student_quantile(0.975, 9) / step.mid;
    side->median[run] = log(sorted_median(times + warmup.start, (size_t)(STEPS - warmup.start)));
}

static enum compare_word judge(const double *a, const double *error_a, const double *b,
                               const double *error_b, size_t runs)
{
    const struct compare_arm arm_a = {a, error_a, runs, 0.02, 0};
    const struct compare_arm arm_b = {b, error_b, runs, 0.02, 0};
    const struct compare_gap gap = compare_arms(&arm_a, &arm_b);
    const struct interval log = compare_interval(&gap.difference);

    return compare_judge((struct interval){expm1(log.low), expm1(log.mid), expm1(log.high)},
                         compare_chance(&gap.difference), MATTERS);
}

static enum compare_word compare_once(uint64_t seed, const struct shape *shape)
{
    struct side side[2];
    struct random levels = random_from(seed + 7000000);

    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < shape->runs; i++) {
            const double level =
                shape->run_spread * random_normal(&levels) + (k == 1 ? log(1 + shape->slower) : 0);
            simulate(&side[k], i, seed * 100 + 10 * k + i, level, shape->likeness);
        }
    return compare_headline(
        judge(side[0].mean, side[0].error, side[1].mean, side[1].error, shape->runs),
        judge(side[0].median, side[0].error, side[1].median, side[1].error, shape->runs));
}

/* How many of the comparisons get each word. */
struct words {
    int of[COMPARE_SLOWER + 1];
};

static struct words count_words(struct shape shape)
{
    struct words words = {{0}};

    for (uint64_t seed = 1; seed <= COMPARISONS; seed++)
        words.of[compare_once(seed, &shape)]++;
    return words;
}

static void three_runs_a_side_find_5_percent_and_seldom_what_is_not_there(void **state)
{
    (void)state;
    const double spreads[] = {0.01, 0.015, 0.02}, likenesses[] = {0.3, 0.9};

    for (size_t k = 0; k < COUNT_OF(likenesses); k++)
        for (size_t i = 0; i < COUNT_OF(spreads); i++) {
            const struct words same = count_words((struct shape){3, likenesses[k], spreads[i], 0});
            const struct words slower =
                count_words((struct shape){3, likenesses[k], spreads[i], 0.05});
            printf("# runs vary by %.1f %%, likeness %.1f: of %d, A/A called slower %d, "
                   "+5 %% found %d\n",
                   100 * spreads[i], likenesses[k], COMPARISONS, same.of[COMPARE_SLOWER],
                   slower.of[COMPARE_SLOWER]);
            assert_in_range(same.of[COMPARE_SLOWER], 0, COMPARISONS / 20);
            assert_in_range(same.of[COMPARE_FASTER], 0, COMPARISONS / 20);
            assert_int_equal(slower.of[COMPARE_FASTER], 0);
            if (spreads[i] == 0.01)
                assert_in_range(slower.of[COMPARE_SLOWER], 9 * COMPARISONS / 10, COMPARISONS);
        }
}

static void one_run_a_side_seldom_sees_what_is_not_there(void **state)
{
    (void)state;
    const struct words same = count_words((struct shape){1, 0.9, 0.02, 0});
    const struct words slower = count_words((struct shape){1, 0.9, 0.02, 0.15});

    assert_in_range(same.of[COMPARE_SLOWER], 0, COMPARISONS / 20);
    assert_in_range(same.of[COMPARE_FASTER], 0, COMPARISONS / 20);
    assert_in_range(slower.of[COMPARE_SLOWER], 9 * COMPARISONS / 10, COMPARISONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_run_a_side_is_an_indication_as_wide_as_runs_may_differ),
        cmocka_unit_test(two_runs_a_side_are_an_indication_with_half_the_variance),
        cmocka_unit_test(three_runs_a_side_are_a_test_of_what_is_seen),
        cmocka_unit_test(more_runs_do_not_lower_what_all_of_them_share),
        cmocka_unit_test(the_chance_and_the_interval_say_the_same),
        cmocka_unit_test(holm_by_hand),
        cmocka_unit_test(words),
        cmocka_unit_test(the_median_decides_only_where_the_mean_can_not),
        cmocka_unit_test(more_runs_are_those_that_the_power_takes),
        cmocka_unit_test(three_runs_a_side_find_5_percent_and_seldom_what_is_not_there),
        cmocka_unit_test(one_run_a_side_seldom_sees_what_is_not_there),
    };
    return cmocka_run_group_tests_name("stats/compare_ladder", tests, NULL, NULL);
}
