/* stats/replay: a step with other producers. */
#include "test_stats_support.h"

#include "stats/replay.h"

static const double ms = 1e6;

/* Batches that all take the same. */
static struct replay level(double make_ms, double rest_ms, int workers)
{
    const double ns = make_ms * ms;

    return (struct replay){ns, {ns, ns, ns, ns, ns}, rest_ms * ms, workers, 2 * workers};
}

static double step_ms(struct replay replay)
{
    return replay_step_ns(&replay).mid / ms;
}

/* 100 steps: the first batch is waited for in any case, which is 1 % of the slower of the two. */
static void the_slower_of_both_makes_the_step(void **state)
{
    (void)state;
    assert_near(step_ms(level(12, 4, 1)), 12, 0.15);
    assert_near(step_ms(level(4, 12, 1)), 12, 0.15);
    assert_near(step_ms(level(12, 4, 2)), 6, 0.15);
    assert_near(step_ms(level(12, 4, 3)), 4, 0.15);
}

static void without_workers_the_loop_makes_its_batches(void **state)
{
    (void)state;
    assert_near(step_ms(level(12, 4, 0)), 16, 1e-6);
}

static void uneven_batches_are_waited_for_now_and_then(void **state)
{
    struct replay uneven = {
        8 * ms, {6 * ms, 12 * ms, 16 * ms, 30 * ms, 40 * ms}, 8 * ms, 1, 2};
    const struct interval step = replay_step_ns(&uneven), again = replay_step_ns(&uneven);

    (void)state;
    assert_true(step.mid > 8.3 * ms && step.mid < 12 * ms);
    assert_true(step.low < step.mid && step.mid < step.high);
    assert_memory_equal(&step, &again, sizeof step);
    uneven.workers = 2;
    uneven.ahead = 4;
    assert_true(replay_step_ns(&uneven).mid < step.mid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slower_of_both_makes_the_step),
        cmocka_unit_test(without_workers_the_loop_makes_its_batches),
        cmocka_unit_test(uneven_batches_are_waited_for_now_and_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
