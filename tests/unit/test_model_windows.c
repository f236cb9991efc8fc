/* Calls that return before their work is done: which stretches of them have a true end (step model
 * 7). A queue takes 32 calls at once; each one more waits until the oldest is done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/play.h"

enum { QUEUE = 32, WORK_NS = 88000, CALL_NS = 1000 };

/* What the device has not done yet. */
static int queue_calls(const struct play *p, int calls, int queued)
{
    const unsigned train = play_jitted(p->s, "train_step");
    for (int i = 0; i < calls; i++) {
        script_span(p->s, train, TRAIN, queued < QUEUE ? CALL_NS : WORK_NS);
        queued += queued < QUEUE;
    }
    return queued;
}

static void wait_for(const struct play *p, int queued)
{
    script_span(p->s, p->sync, 0, (int64_t)queued * WORK_NS);
}

static const struct snap_loop *finish(const struct play *p, int64_t steps)
{
    const struct snap_loop *loop = play_only_loop(script_finish(p->s));
    assert_int_equal(loop->source, SOURCE_JIT);
    assert_int_equal(loop->steps, steps);
    assert_true(loop->is_asynchronous);
    return loop;
}

static void a_loop_that_never_waits_has_statistics(void **state)
{
    (void)state;
    struct play p = play_new();
    queue_calls(&p, 10000, 0);
    const struct snap_loop *loop = finish(&p, 10000);
    assert_int_not_equal(loop->warmup.class, WARMUP_TOO_FEW);
    assert_true(loop->step_ns.mid > 0.99 * WORK_NS && loop->step_ns.mid <= WORK_NS);
    assert_true(loop->quantiles.p50_ns > 0.98 * WORK_NS && loop->quantiles.p50_ns < 1.01 * WORK_NS);
    assert_false(loop->is_awaited);
    script_free(p.s);
}

/* The loss is printed once, when all is over: that is the end of all steps. */
static void a_wait_after_the_last_step_is_its_end(void **state)
{
    (void)state;
    struct play p = play_new();
    wait_for(&p, queue_calls(&p, 200, 0));
    script_pass(p.s, 5000);
    const struct snap_loop *loop = finish(&p, 200);
    assert_int_equal(loop->steady_steps, 200);
    assert_int_equal(loop->steady_ns, QUEUE * CALL_NS + (int64_t)200 * WORK_NS);
    assert_true(loop->is_awaited);
    script_free(p.s);
}

/* Windows of a queue have been counted by then: what it still held is no part of the last ones. */
static void what_is_left_of_a_long_queue_is_in_no_statistics(void **state)
{
    (void)state;
    struct play p = play_new();
    wait_for(&p, queue_calls(&p, 3000, 0));
    const struct snap_loop *loop = finish(&p, 3000);
    assert_true(loop->flagged_steps > 0 && loop->flagged_steps <= QUEUE);
    assert_true(loop->quantiles.max_ns <= WORK_NS);
    script_free(p.s);
}

static void windows_end_where_results_are_waited_for(void **state)
{
    (void)state;
    struct play p = play_new();
    for (int i = 0; i < 30; i++)
        wait_for(&p, queue_calls(&p, 100, 0));
    const struct snap_loop *loop = finish(&p, 3000);
    assert_int_equal(loop->window_steps, 100);
    assert_int_equal(loop->steady_steps, 3000);
    assert_int_equal(loop->quantiles.max_ns, (QUEUE * CALL_NS + 100 * WORK_NS) / 100);
    script_free(p.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_that_never_waits_has_statistics),
        cmocka_unit_test(a_wait_after_the_last_step_is_its_end),
        cmocka_unit_test(what_is_left_of_a_long_queue_is_in_no_statistics),
        cmocka_unit_test(windows_end_where_results_are_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
