/* stats/modes: one level of step times, or two. */
#include "stats/modes.h"
#include "test_stats_support.h"

enum { COUNT = 300 };

/* Part of the steps take `factor` times as long. */
static struct modes find(uint64_t seed, double spread, double part, double factor)
{
    struct series series = series_from(seed, 0, spread);
    struct modes modes;
    double x[COUNT], scratch[2 * COUNT];

    for (int i = 0; i < COUNT; i++)
        x[i] = series_next(&series) * (random_uniform(&series.random) < part ? factor : 1);
    modes_find(x, COUNT, scratch, &modes);
    return modes;
}

static void two_levels_are_found(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++)
        for (double part = 0.3; part < 0.75; part += 0.2) {
            const struct modes modes = find(seed, 0.02, part, 1.5);
            assert_true(modes.are_two);
            assert_near(modes.low, 1e7, 2e5);
            assert_near(modes.high, 1.5e7, 3e5);
            assert_near(modes.high_share, part, 0.12);
        }
}

static void one_level_is_not_two(void **state)
{
    static const double spreads[] = {0.005, 0.02, 0.1, 0.3, 1};
    int wrong = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++)
        for (size_t i = 0; i < COUNT_OF(spreads); i++)
            wrong += find(seed, spreads[i], 0, 1).are_two;
    assert_int_equal(wrong, 0);
}

static void spikes_and_small_differences_are_not_levels(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        assert_false(find(seed, 0.02, 0.05, 5).are_two);
        assert_false(find(seed, 0.02, 0.1, 5).are_two);
        assert_false(find(seed, 0.02, 0.9, 5).are_two);
        assert_false(find(seed, 0.005, 0.5, 1.05).are_two);
    }
}

static void few_values_are_none(void **state)
{
    double x[MODES_LEAST], scratch[2 * MODES_LEAST];
    struct modes modes;

    (void)state;
    for (int i = 0; i < MODES_LEAST; i++)
        x[i] = i % 2 ? 1 : 2;
    modes_find(x, MODES_LEAST - 1, scratch, &modes);
    assert_false(modes.are_two);
    modes_find(x, MODES_LEAST, scratch, &modes);
    assert_true(modes.are_two);
    for (int i = 0; i < MODES_LEAST; i++)
        x[i] = 7;
    modes_find(x, MODES_LEAST, scratch, &modes);
    assert_false(modes.are_two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_levels_are_found),
        cmocka_unit_test(one_level_is_not_two),
        cmocka_unit_test(spikes_and_small_differences_are_not_levels),
        cmocka_unit_test(few_values_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
