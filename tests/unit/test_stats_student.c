/* stats/student: against closed forms and printed tables. */
#include "stats/student.h"
#include "test_stats_support.h"

static void shares_agree_with_the_closed_forms(void **state)
{
    (void)state;
    const double pi = 3.14159265358979323846;

    for (double t = -20; t <= 20; t += 0.37) {
        assert_near(student_below(t, 1), 0.5 + atan(t) / pi, 1e-12);
        assert_near(student_below(t, 2), 0.5 + t / (2 * sqrt(2 + t * t)), 1e-12);
    }
}

static void quantiles_agree_with_tables(void **state)
{
    (void)state;

    assert_near(student_quantile(0.975, 1), 12.7062047364, 1e-8);
    assert_near(student_quantile(0.975, 2), 4.3026527297, 1e-8);
    assert_near(student_quantile(0.975, 5), 2.5705818356, 1e-8);
    assert_near(student_quantile(0.975, 9), 2.2621571628, 1e-8);
    assert_near(student_quantile(0.975, 30), 2.0422724563, 1e-8);
    assert_near(student_quantile(0.975, 1e7), 1.9599641, 1e-6);
    assert_near(student_quantile(0.95, 10), 1.8124611228, 1e-8);
    assert_near(student_quantile(0.8, 1), 1.3763819205, 1e-8);
}

static void a_quantile_turns_the_share_round(void **state)
{
    (void)state;

    for (double freedom = 1; freedom < 300; freedom *= 1.7) {
        for (double p = 0.01; p < 1; p += 0.07)
            assert_near(student_below(student_quantile(p, freedom), freedom), p, 1e-9);
        assert_near(student_quantile(0.1, freedom), -student_quantile(0.9, freedom), 1e-8);
    }
    assert_near(student_quantile(0.5, 7), 0, 1e-9);
}

static void freedom_below_one_counts_as_one(void **state)
{
    (void)state;

    assert_near(student_quantile(0.975, 0.2), student_quantile(0.975, 1), 0);
    assert_true(isinf(student_quantile(1, 5)));
}

static void the_table_changes_no_bit(void **state)
{
    static const double levels[] = {0.975, 0.8};
    (void)state;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        for (double freedom = 1; freedom <= STUDENT_TABLE_MOST + 8; freedom += 0.0625)
            assert_true(student_quantile(levels[i], freedom) == student_solve(levels[i], freedom));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_changes_no_bit),
        cmocka_unit_test(shares_agree_with_the_closed_forms),
        cmocka_unit_test(quantiles_agree_with_tables),
        cmocka_unit_test(a_quantile_turns_the_share_round),
        cmocka_unit_test(freedom_below_one_counts_as_one),
    };
    return cmocka_run_group_tests_name("stats/student", tests, NULL, NULL);
}
