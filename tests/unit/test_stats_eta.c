/* stats/steady: time to finish, by hand and against what really followed. */
#include "stats/cells.h"
#include "stats/steady.h"
#include "test_stats_support.h"

static void what_is_left_by_hand(void **state)
{
    (void)state;
    const struct eta_part parts[] = {
        {100, 300, {9, 10, 12}},  /* steps: 300 * 10, wider by sqrt(1 + 100 / 300) */
        {2, 1, {40, 50, 60}},     /* an evaluation: 50, wider by sqrt(1 + 2) */
        {5, 0, {1, 2, INFINITY}}, /* nothing left of these */
    };

    struct interval left = eta_left(parts, 3);
    assert_near(left.mid, 3050, 0);
    /* (300 * 1)^2 * 4 / 3 + 10^2 * 3 = 120,300; (300 * 2)^2 * 4 / 3 + 300 = 480,300. */
    assert_near(left.low, 3050 - sqrt(120300), 1e-9);
    assert_near(left.high, 3050 + sqrt(480300), 1e-9);
}

static void a_part_never_seen_has_no_upper_end(void **state)
{
    (void)state;
    struct eta_part parts[] = {{100, 300, {9, 10, 12}}, {0, 4, {0, 0, INFINITY}}};

    struct interval left = eta_left(parts, 2);
    assert_near(left.mid, 3000, 0);
    assert_true(isinf(left.high));
    assert_true(left.low > 2600);
}

static void a_deadline_holds_or_not_or_cannot_be_told(void **state)
{
    (void)state;
    struct interval left = {900, 1000, 1200};

    assert_int_equal(eta_deadline(left, 500, 1700), ETA_HOLDS);
    assert_int_equal(eta_deadline(left, 500, 1699), ETA_UNSURE);
    assert_int_equal(eta_deadline(left, 500, 1400), ETA_UNSURE);
    assert_int_equal(eta_deadline(left, 500, 1399), ETA_MISSED);
    left.high = INFINITY;
    assert_int_equal(eta_deadline(left, 500, 1700), ETA_UNKNOWN);
    assert_int_equal(eta_deadline(left, 500, 1399), ETA_MISSED);
}

/* What really follows lies in the interval in 90 to 99.5 % of 200 runs. */
static void nine_of_ten_intervals_hold_what_follows(void **state)
{
    (void)state;
    static struct cells cells;
    const struct {
        double likeness;
        int64_t seen, left;
    } cases[] = {
        {0, 200, 200}, {0, 1000, 2000}, {0.5, 200, 1000}, {0.5, 1000, 100}, {0.9, 1000, 1000}};

    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        int holds = 0;
        for (uint64_t seed = 1; seed <= 200; seed++) {
            struct series series = series_from(seed, cases[k].likeness, 0.1);
            cells_init(&cells, NULL, 0);
            for (int64_t i = 0; i < cases[k].seen; i++) {
                int64_t time = (int64_t)series_next(&series);
                cells_add(&cells, &(struct cells_window){i, 1, 0, time, NULL});
            }
            double truth = 0;
            for (int64_t i = 0; i < cases[k].left; i++)
                truth += series_next(&series);
            struct eta_part part = {cases[k].seen, cases[k].left, steady_step_ns(&cells, 0)};
            struct interval left = eta_left(&part, 1);
            holds += left.low <= truth && truth <= left.high;
        }
        if (holds < 180 || holds > 199)
            fail_msg("case %zu: %d of 200", k, holds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_by_hand),
        cmocka_unit_test(a_part_never_seen_has_no_upper_end),
        cmocka_unit_test(a_deadline_holds_or_not_or_cannot_be_told),
        cmocka_unit_test(nine_of_ten_intervals_hold_what_follows),
    };
    return cmocka_run_group_tests_name("stats/steady, time left", tests, NULL, NULL);
}
