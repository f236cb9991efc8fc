/* stats/compare_ladder: how much faster, by hand and by simulation. */
#include "stats/compare_ladder.h"
#include "stats/student.h"
#include "test_stats_support.h"

static void two_arms_of_runs_by_hand(void **state)
{
    (void)state;
    const double a[] = {0.00, 0.02, 0.04};
    const double b[] = {0.11, 0.12, 0.13};

    /* Means 0.02 and 0.12; variances 0.0004 and 0.0001, over 3: errors^2 4/3e-4 and 1/3e-4.
     * Welch: (5/3)^2 / ((4/3)^2 / 2 + (1/3)^2 / 2) = (25/9) / (17/18) = 50/17 degrees. */
    struct difference difference = ratio_difference(a, 3, b, 3);
    assert_near(difference.mean, 0.10, 1e-12);
    assert_near(difference.error, sqrt(5e-4 / 3), 1e-12);
    assert_near(difference.freedom, 50.0 / 17, 1e-9);
}

static void one_run_in_an_arm_is_no_evidence(void **state)
{
    (void)state;
    const double a[] = {0.1};
    const double b[] = {0.2, 0.3};

    struct difference difference = ratio_difference(a, 1, b, 2);
    assert_near(difference.mean, 0.15, 1e-12);
    assert_true(isinf(difference.error));
    assert_true(isinf(ratio_detectable(0.02, 1)));
}

static void equal_runs_differ_by_nothing_for_sure(void **state)
{
    (void)state;
    const double a[] = {0.5, 0.5};

    struct difference difference = ratio_difference(a, 2, a, 2);
    assert_near(difference.mean, 0, 0);
    assert_near(difference.error, 0, 0);
}

static void five_runs_an_arm_show_4_percent_at_2_percent_noise(void **state)
{
    (void)state;

    /* (2.306004 + 0.888890) * 0.02 * sqrt(2 / 5) = 0.040413. */
    assert_near(ratio_detectable(0.02, 5), 0.040413, 1e-6);
}

static double reach_of(const struct difference *difference)
{
    return student_quantile(0.975, difference->freedom) * difference->error;
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
        struct difference same = ratio_difference(a, 5, b, 5), other = ratio_difference(a, 5, c, 5);
        wrong += fabs(same.mean) > reach_of(&same);
        found += other.mean > reach_of(&other);
    }
    assert_in_range(wrong, 0.03 * 2000, 0.065 * 2000);
    assert_in_range(found, 0.75 * 2000, 0.85 * 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_arms_of_runs_by_hand),
        cmocka_unit_test(one_run_in_an_arm_is_no_evidence),
        cmocka_unit_test(equal_runs_differ_by_nothing_for_sure),
        cmocka_unit_test(five_runs_an_arm_show_4_percent_at_2_percent_noise),
        cmocka_unit_test(errors_and_power_are_as_promised),
    };
    return cmocka_run_group_tests_name("stats/compare_ladder, ratios", tests, NULL, NULL);
}
