/* stats/ratio: how much faster, by hand and by simulation. */
#include "test_stats_support.h"

#include "stats/ratio.h"
#include "stats/student.h"

static void two_arms_of_runs_by_hand(void **state)
{
    (void)state;
    const double a[] = {0.00, 0.02, 0.04};
    const double b[] = {0.11, 0.12, 0.13};

    /* Means 0.02 and 0.12; variances 0.0004 and 0.0001, over 3: errors^2 4/3e-4 and 1/3e-4.
     * Welch: (5/3)^2 / ((4/3)^2 / 2 + (1/3)^2 / 2) = (25/9) / (17/18) = 50/17 degrees. */
    double reach = student_quantile(0.975, 50.0 / 17) * sqrt(5e-4 / 3);
    struct interval ratio = ratio_of_runs(a, 3, b, 3);
    assert_near(ratio.mid, exp(0.10), 1e-12);
    assert_near(ratio.low, exp(0.10 - reach), 1e-9);
    assert_near(ratio.high, exp(0.10 + reach), 1e-9);
}

static void one_run_in_an_arm_is_no_evidence(void **state)
{
    (void)state;
    const double a[] = {0.1};
    const double b[] = {0.2, 0.3};

    struct interval ratio = ratio_of_runs(a, 1, b, 2);
    assert_near(ratio.low, 0, 0);
    assert_near(ratio.mid, exp(0.15), 1e-12);
    assert_true(isinf(ratio.high));
    assert_true(isinf(ratio_of_pairs(a, 1).high));
    assert_near(ratio_of_pairs(NULL, 0).mid, 1, 0);
    assert_true(isinf(ratio_detectable(0.02, 1)));
}

static void pairs_by_hand(void **state)
{
    (void)state;
    const double pairs[] = {0.01, 0.03, 0.02, 0.02};

    /* Mean 0.02; variance 2e-4 / 3; error^2 2e-4 / 12; t of 3 degrees 3.182446. */
    struct interval ratio = ratio_of_pairs(pairs, 4);
    assert_near(log(ratio.mid), 0.02, 1e-12);
    assert_near(log(ratio.high), 0.02 + 3.182446 * sqrt(2e-4 / 12), 1e-7);
    assert_near(log(ratio.low), 0.02 - 3.182446 * sqrt(2e-4 / 12), 1e-7);
}

static void equal_runs_have_a_ratio_of_no_width(void **state)
{
    (void)state;
    const double a[] = {0.5, 0.5};

    struct interval ratio = ratio_of_runs(a, 2, a, 2);
    assert_near(ratio.low, 1, 0);
    assert_near(ratio.high, 1, 0);
}

static void a_run_each_is_widened_by_what_runs_differ(void **state)
{
    (void)state;

    /* sqrt(0.03^2 + 0.04^2 + 2 * 0.02^2) = sqrt(0.0033), t of 9 degrees 2.262157. */
    struct interval ratio = ratio_of_two(1, 0.03, 1.1, 0.04, 0.02);
    assert_near(log(ratio.high), 0.1 + 2.262157 * sqrt(0.0033), 1e-7);
    /* However sure both are: 2.262157 * sqrt(2) * 2 % = 6.4 %. */
    ratio = ratio_of_two(0, 0, 0.06, 0, 0.02);
    assert_true(ratio.low < 1 && ratio.high > 1);
}

static void five_runs_an_arm_show_4_percent_at_2_percent_noise(void **state)
{
    (void)state;

    /* (2.306004 + 0.888890) * 0.02 * sqrt(2 / 5) = 0.040413. */
    assert_near(ratio_detectable(0.02, 5), 0.040413, 1e-6);
}

/* 2000 comparisons of equal things, 5 runs an arm that vary by 2 %: about 5 % are called different;
 * of things that differ by what is detectable, about 80 %. */
static void errors_and_power_are_as_promised(void **state)
{
    (void)state;
    struct random random = random_from(1);
    int wrong = 0, found = 0;

    for (int k = 0; k < 2000; k++) {
        double a[5], b[5], c[5];
        for (size_t i = 0; i < 5; i++) {
            a[i] = 0.02 * random_normal(&random);
            b[i] = 0.02 * random_normal(&random);
            c[i] = ratio_detectable(0.02, 5) + b[i];
        }
        struct interval same = ratio_of_runs(a, 5, b, 5);
        struct interval other = ratio_of_runs(a, 5, c, 5);
        wrong += same.low > 1 || same.high < 1;
        found += other.low > 1;
    }
    assert_in_range(wrong, 0.03 * 2000, 0.065 * 2000);
    assert_in_range(found, 0.75 * 2000, 0.85 * 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_arms_of_runs_by_hand),
        cmocka_unit_test(one_run_in_an_arm_is_no_evidence),
        cmocka_unit_test(pairs_by_hand),
        cmocka_unit_test(equal_runs_have_a_ratio_of_no_width),
        cmocka_unit_test(a_run_each_is_widened_by_what_runs_differ),
        cmocka_unit_test(five_runs_an_arm_show_4_percent_at_2_percent_noise),
        cmocka_unit_test(errors_and_power_are_as_promised),
    };
    return cmocka_run_group_tests_name("stats/ratio", tests, NULL, NULL);
}
