/* model/observe: windows as they end, and sums of a loop between two looks. Times are in ns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "model/observe.h"
#include "support/play.h"

struct seen {
    int windows;
    int64_t steps, time_ns, data_ns, steps_done, end_ns;
    struct model_loop_key key;
};

static void take(void *context, const struct model_window *window)
{
    struct seen *seen = context;

    seen->windows++;
    seen->steps += window->window->steps;
    seen->time_ns += window->window->time_ns;
    seen->data_ns += window->window->stage_ns[SS_STAGE_DATA];
    seen->steps_done = window->steps_done;
    seen->end_ns = window->end_ns;
    seen->key = window->loop;
    assert_true(window->counted);
}

/* Marked steps of 10 + 30. */
static void make_steps(struct script *s, int count)
{
    const unsigned data = play_name(s, "next", SS_STAGE_DATA);
    const unsigned compute = play_name(s, "train", SS_STAGE_COMPUTE);

    for (int i = 0; i < count; i++) {
        script_point(s, SS_KIND_STEP, 8);
        script_span(s, data, 0, 10);
        script_span(s, compute, TRAIN, 30);
    }
}

static void windows_come_when_they_end(void **state)
{
    struct script *s = script_new();
    struct seen seen = {0};

    (void)state;
    model_observe_windows(script_model(s), take, &seen);
    script_point(s, SS_KIND_LOOP_BEGIN, play_name(s, "fit", SS_STAGE_USER));
    make_steps(s, 5);
    assert_int_equal(seen.windows, 4); /* the fifth is still open */
    assert_int_equal(seen.steps_done, 4);
    assert_int_equal(seen.end_ns, script_now(s) - 40);
    script_point(s, SS_KIND_LOOP_END, 0);
    assert_int_equal(seen.windows, 5);
    assert_int_equal(seen.steps, 5);
    assert_int_equal(seen.time_ns, 200);
    assert_int_equal(seen.data_ns, 50);
    script_finish(s);
    script_free(s);
}

static void sums_of_a_loop_grow_with_its_pauses(void **state)
{
    struct script *s = script_new();
    struct seen seen = {0};
    struct loop_totals totals;
    struct loop_epoch epoch;

    (void)state;
    model_observe_windows(script_model(s), take, &seen);
    script_point(s, SS_KIND_LOOP_BEGIN, play_name(s, "fit", SS_STAGE_USER));
    script_point(s, SS_KIND_EPOCH_BEGIN, 7);
    make_steps(s, 3);
    assert_true(model_loop_totals(script_model(s), &seen.key, &totals));
    assert_int_equal(totals.eval_ns, 0);
    assert_int_equal(totals.epochs, 1);
    assert_false(model_loop_epoch(script_model(s), &seen.key, 0, &epoch));
    script_span(s, play_name(s, "evaluate", SS_STAGE_EVAL), 0, 500);
    script_point(s, SS_KIND_EPOCH_END, 0);
    script_span(s, play_name(s, "save", SS_STAGE_CHECKPOINT), 0, 70);
    script_point(s, SS_KIND_LOOP_END, 0);
    assert_true(model_loop_totals(script_model(s), &seen.key, &totals));
    assert_int_equal(totals.eval_ns, 500);
    assert_int_equal(totals.checkpoint_ns, 70);
    assert_true(model_loop_epoch(script_model(s), &seen.key, 0, &epoch));
    assert_int_equal(epoch.number, 7);
    assert_int_equal(epoch.steps, 3);
    assert_int_equal(epoch.end_ns - epoch.start_ns, 3 * 40 + 500);
    assert_false(model_loop_epoch(script_model(s), &seen.key, 1, &epoch));
    script_finish(s);
    script_free(s);
}

static void a_loop_that_is_not_there_has_no_sums(void **state)
{
    struct script *s = script_new();
    const struct model_loop_key key = {0, 1, 12345};
    struct loop_totals totals;
    struct loop_epoch epoch;

    (void)state;
    make_steps(s, 3);
    assert_false(model_loop_totals(script_model(s), &key, &totals));
    assert_false(model_loop_epoch(script_model(s), &key, 0, &epoch));
    script_finish(s);
    script_free(s);
}

/* A loop of its own process and lane, which goes on. */
static void have_loop(struct script *s, uint32_t process, int rank, int steps)
{
    script_process(s, process, rank);
    script_lane(s, process + 1);
    script_point(s, SS_KIND_LOOP_BEGIN, play_name(s, "fit", SS_STAGE_USER));
    make_steps(s, steps);
}

static void the_loop_of_the_report_comes_first_then_the_newest(void **state)
{
    struct script *s = script_new();
    struct model_loop_thread loops[8];

    (void)state;
    have_loop(s, 1, 2, 50);
    have_loop(s, 2, 0, 50);
    have_loop(s, 3, 1, 50);
    have_loop(s, 4, -1, 5);
    assert_int_equal(model_loop_threads(script_model(s), loops, 8), 4);
    const uint32_t ranks[] = {102, 104, 103, 101};
    for (int i = 0; i < 4; i++)
        assert_int_equal(loops[i].pid, ranks[i]);
    have_loop(s, 5, 3, 60); /* not alike: longer than all of them */
    assert_int_equal(model_loop_threads(script_model(s), loops, 2), 2);
    assert_int_equal(loops[0].pid, 105);
    assert_int_equal(loops[1].pid, 104);
    script_finish(s);
    script_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_come_when_they_end),
        cmocka_unit_test(sums_of_a_loop_grow_with_its_pauses),
        cmocka_unit_test(a_loop_that_is_not_there_has_no_sums),
        cmocka_unit_test(the_loop_of_the_report_comes_first_then_the_newest),
    };
    return cmocka_run_group_tests_name("model/observe", tests, NULL, NULL);
}
