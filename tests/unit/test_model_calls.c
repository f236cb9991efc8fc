/* Where calls of a name were: in steps, outside them, or in what is cut out of them; and what is
 * counted apart of a callback. Times are in ns. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/play.h"

enum { STEPS = 100, EPOCHS = 4, IN_EVAL = CALLED_IN_CUT + CUT_EVAL };

struct names {
    unsigned data, train, end, evaluate, test_end, epoch_end, save, sync, gc, fit;
};

static struct names names_of(struct script *s)
{
    return (struct names){.data = play_name(s, "next", SS_STAGE_DATA),
                          .train =
                              script_name(s, "train", SS_STAGE_COMPUTE, SS_ROLE_TRAIN_CALL, 0, ""),
                          .end = play_name(s, "batch end", SS_STAGE_CALLBACK),
                          .evaluate = play_name(s, "evaluate", SS_STAGE_EVAL),
                          .test_end = play_name(s, "test end", SS_STAGE_CALLBACK),
                          .epoch_end = play_name(s, "epoch end", SS_STAGE_CALLBACK),
                          .save = play_name(s, "save", SS_STAGE_CHECKPOINT),
                          .sync = play_name(s, "item", SS_STAGE_SYNC),
                          .gc = play_name(s, "gc", SS_STAGE_GC),
                          .fit = play_name(s, "fit", SS_STAGE_USER)};
}

/* 10 + 80 + 10 */
static void one_step(struct script *s, const struct names *n)
{
    script_span(s, n->data, 0, 10);
    script_span(s, n->train, TRAIN, 80);
    script_span(s, n->end, 0, 10);
}

static void evaluate(struct script *s, const struct names *n)
{
    script_begin(s, n->evaluate, 0);
    for (int i = 0; i < 5; i++) {
        script_pass(s, 20);
        script_span(s, n->test_end, 0, 100);
    }
    script_end(s, 0, 0);
}

/* A callback that saves for 300 and takes 50 itself. */
static void end_epoch(struct script *s, const struct names *n)
{
    script_point(s, SS_KIND_EPOCH_END, 0);
    script_begin(s, n->epoch_end, 0);
    script_pass(s, 30);
    script_span(s, n->save, 0, 300);
    script_pass(s, 20);
    script_end(s, 0, 0);
}

static void fit(struct script *s, const struct names *n)
{
    script_point(s, SS_KIND_LOOP_BEGIN, n->fit);
    for (int i = 0; i < EPOCHS; i++) {
        script_point(s, SS_KIND_EPOCH_BEGIN, (uint64_t)i);
        for (int k = 0; k < STEPS / EPOCHS; k++)
            one_step(s, n);
        evaluate(s, n);
        end_epoch(s, n);
    }
    script_point(s, SS_KIND_LOOP_END, 0);
}

static void check_sum(const struct snap_span *span, int place, uint64_t count, int64_t ns)
{
    assert_int_equal(span->at[place].count, count);
    assert_int_equal(span->at[place].total_ns, ns);
}

static void calls_inside_an_evaluation_are_in_no_step(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    fit(s, &n);
    const struct snapshot *snapshot = script_finish(s);
    assert_int_equal(snapshot->loops[0].steps, STEPS);
    const struct snap_span *test_end = script_find(snapshot, "test end");
    check_sum(test_end, CALLED_IN_STEP, 0, 0);
    check_sum(test_end, CALLED_BETWEEN, 0, 0);
    check_sum(test_end, IN_EVAL, 5 * EPOCHS, 500 * EPOCHS);
    assert_true(isnan(test_end->share.mid));
    check_sum(script_find(snapshot, "evaluate"), IN_EVAL, EPOCHS, 600 * EPOCHS);
    const struct snap_span *end = script_find(snapshot, "batch end");
    check_sum(end, CALLED_IN_STEP, STEPS, 10 * STEPS);
    assert_true(fabs(end->share.mid - 0.1) < 1e-9);
    assert_true(fabs(end->callback->own.mid - 0.1) < 1e-9);
    script_free(s);
}

static void what_a_callback_saves_is_told_apart(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    fit(s, &n);
    const struct snapshot *snapshot = script_finish(s);
    const struct snap_span *end = script_find(snapshot, "epoch end");
    check_sum(end, CALLED_BETWEEN, EPOCHS, 350 * EPOCHS);
    check_sum(end, CALLED_IN_STEP, 0, 0);
    assert_int_equal(end->callback->count, EPOCHS);
    assert_true(end->callback->mean_ns == 350);
    assert_int_equal(end->callback->part_ns[CALLED_BETWEEN][PART_SAVE], 300 * EPOCHS);
    assert_int_equal(end->callback->part_ns[CALLED_BETWEEN][PART_WAIT], 0);
    assert_int_equal(snapshot->loops[0].between_ns[SS_STAGE_CALLBACK], 350 * EPOCHS);
    assert_int_equal(snapshot->loops[0].between_ns[SS_STAGE_SETUP], 0);
    script_free(s);
}

/* Batches with gradients off are found to be evaluation when they are over. */
static void evaluation_that_nobody_names_is_known_afterwards(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    const unsigned forward = play_name(s, "forward", SS_STAGE_FORWARD);
    const unsigned layer = play_name(s, "layer", SS_STAGE_USER);
    for (int i = 0; i < STEPS; i++) {
        one_step(s, &n);
        for (int k = 0; i % 10 == 9 && k < 3; k++) {
            script_span(s, n.data, 0, 10);
            script_begin(s, forward, SS_FLAG_EVAL);
            script_span(s, layer, 0, 40);
            script_end(s, 0, 0);
        }
    }
    const struct snapshot *snapshot = script_finish(s);
    assert_int_equal(snapshot->loops[0].steps, STEPS);
    const struct snap_span *found = script_find(snapshot, "layer");
    const uint64_t known = found->at[IN_EVAL].count;
    assert_in_range(known, 27, 30); /* the last ones have no step after them */
    check_sum(found, IN_EVAL, known, 40 * (int64_t)known);
    check_sum(found, CALLED_IN_STEP, 0, 0);
    script_free(s);
}

/* In each step 10 of its own, 60 for the device, 5 of garbage collection; a save in every tenth. */
static void the_first_span_of_a_thread_counts(void **state)
{
    (void)state;
    struct script *s = script_new();
    const unsigned forward = play_name(s, "forward", SS_STAGE_FORWARD);
    const unsigned read = play_name(s, "item", SS_STAGE_SYNC);
    const unsigned backward = play_name(s, "backward", SS_STAGE_BACKWARD);
    const unsigned update =
        script_name(s, "step", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, SS_SCOPE_NONE, "SGD");
    for (int i = 0; i < STEPS; i++) {
        script_begin(s, forward, TRAIN);
        script_span(s, read, 0, 10);
        script_end(s, 0, 0);
        script_span(s, backward, 0, 20);
        script_span(s, update, 0, 5);
    }
    const struct snapshot *snapshot = script_finish(s);
    assert_int_equal(snapshot->loops[0].steps, STEPS);
    check_sum(script_find(snapshot, "forward"), CALLED_IN_STEP, STEPS, STEPS * 10);
    check_sum(script_find(snapshot, "item"), CALLED_IN_STEP, STEPS, STEPS * 10);
    check_sum(script_find(snapshot, "backward"), CALLED_IN_STEP, STEPS, STEPS * 20);
    script_free(s);
}

static void a_wait_for_the_device_is_no_cost_of_a_callback(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    script_point(s, SS_KIND_LOOP_BEGIN, n.fit);
    for (int i = 0; i < STEPS; i++) {
        script_span(s, n.data, 0, 10);
        script_span(s, n.train, TRAIN, 15);
        script_begin(s, n.end, 0);
        script_span(s, n.sync, 0, 60);
        script_span(s, n.gc, 0, 5);
        if (i % 10 == 9) {
            script_begin(s, n.save, 0);
            script_span(s, n.sync, 0, 100); /* a part of the save */
            script_end(s, 0, 0);
        }
        script_pass(s, 10);
        script_end(s, 0, 0);
    }
    script_point(s, SS_KIND_LOOP_END, 0);
    const struct snapshot *snapshot = script_finish(s);
    const struct snap_callback *end = script_find(snapshot, "batch end")->callback;
    const int64_t *part = end->part_ns[CALLED_IN_STEP];
    assert_int_equal(part[PART_WAIT], 60 * STEPS);
    assert_int_equal(part[PART_GC], 5 * STEPS);
    assert_int_equal(part[PART_SAVE], 100 * STEPS / 10);
    const double step = 110;
    assert_true(fabs(end->own.mid - 10 / step) < 0.01);
    assert_true(fabs(end->with_waits.mid - 70 / step) < 0.03);
    script_free(s);
}

/* A callback that predicts waits for what it has the device do. */
static void a_callback_that_computes_waits_for_itself(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    const unsigned predict = play_name(s, "predict", SS_STAGE_INFER);
    script_point(s, SS_KIND_LOOP_BEGIN, n.fit);
    for (int i = 0; i < STEPS; i++) {
        script_span(s, n.data, 0, 10);
        script_span(s, n.train, TRAIN, 20);
        script_begin(s, n.end, 0);
        script_span(s, predict, 0, 30);
        script_span(s, n.sync, 0, 40);
        script_end(s, 0, 0);
    }
    script_point(s, SS_KIND_LOOP_END, 0);
    const struct snapshot *snapshot = script_finish(s);
    const struct snap_callback *end = script_find(snapshot, "batch end")->callback;
    assert_int_equal(end->part_ns[CALLED_IN_STEP][PART_WAIT], 0);
    assert_true(fabs(end->own.mid - 0.7) < 1e-9);
    script_free(s);
}

static void long_calls_of_a_callback_have_a_period(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    script_point(s, SS_KIND_LOOP_BEGIN, n.fit);
    for (int i = 0; i < 400; i++) {
        script_span(s, n.data, 0, 10);
        script_span(s, n.train, TRAIN, 1000);
        script_span(s, n.end, 0, i % 25 == 24 ? 3000 : 10);
    }
    script_point(s, SS_KIND_LOOP_END, 0);
    const struct snapshot *snapshot = script_finish(s);
    const struct snap_callback *end = script_find(snapshot, "batch end")->callback;
    assert_int_equal(end->period.steps, 25);
    assert_true(fabs(end->peak_ns - 3000) < 1);
    assert_int_equal(end->count, 400);
    script_free(s);
}

/* Of two loops, each has its own calls. */
static void calls_are_those_of_the_loop_alone(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    for (int loop = 0; loop < 2; loop++) {
        script_span(s, n.end, 0, 7); /* in no loop */
        script_point(s, SS_KIND_LOOP_BEGIN, n.fit);
        script_span(s, n.end, 0, 9); /* before its first step */
        for (int i = 0; i < (loop ? 30 : 60); i++)
            one_step(s, &n);
        script_point(s, SS_KIND_LOOP_END, 0);
    }
    const struct snapshot *snapshot = script_finish(s);
    assert_int_equal(snapshot->loop_count, 2);
    const struct snap_span *end = script_find(snapshot, "batch end");
    assert_int_equal(end->count, 94);
    check_sum(end, CALLED_IN_STEP, 60, 600);
    check_sum(end, CALLED_BEFORE, 1, 9);
    check_sum(end, CALLED_BETWEEN, 0, 0);
    script_free(s);
}

/* Compiling in the first step is before it; the same function again is in the steps. */
static void compiling_again_is_told_from_the_first_time(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    const unsigned trace = script_name(s, "trace", SS_STAGE_COMPILE, 0, 0, "train_step");
    script_point(s, SS_KIND_LOOP_BEGIN, n.fit);
    for (int i = 0; i < STEPS; i++) {
        script_span(s, n.data, 0, 10);
        script_begin(s, n.train, TRAIN);
        if (i % 20 == 0)
            script_span(s, trace, 0, i == 0 ? 5000 : 500);
        script_pass(s, 80);
        script_end(s, 0, 0);
    }
    script_point(s, SS_KIND_LOOP_END, 0);
    const struct snap_span *found = script_find(script_finish(s), "trace");
    check_sum(found, CALLED_BEFORE, 1, 5000);
    check_sum(found, CALLED_IN_STEP, 4, 2000);
    script_free(s);
}

/* A step with more spans than the log holds: nothing is lost. */
static void a_step_may_have_any_number_of_spans(void **state)
{
    (void)state;
    const int many = 3 * CALLS_WAITING_MOST;
    struct script *s = script_new();
    struct names n = names_of(s);
    const unsigned layer = play_name(s, "layer", SS_STAGE_USER);
    script_point(s, SS_KIND_LOOP_BEGIN, n.fit);
    for (int i = 0; i < 30; i++) {
        script_span(s, n.data, 0, 10);
        script_begin(s, n.train, TRAIN);
        for (int k = 0; i == 20 && k < many; k++)
            script_span(s, layer, 0, 1);
        script_pass(s, 80);
        script_end(s, 0, 0);
        script_span(s, n.end, 0, 10);
    }
    script_point(s, SS_KIND_LOOP_END, 0);
    const struct snapshot *snapshot = script_finish(s);
    check_sum(script_find(snapshot, "layer"), CALLED_IN_STEP, (uint64_t)many, many);
    check_sum(script_find(snapshot, "batch end"), CALLED_IN_STEP, 30, 300);
    script_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_inside_an_evaluation_are_in_no_step),
        cmocka_unit_test(what_a_callback_saves_is_told_apart),
        cmocka_unit_test(evaluation_that_nobody_names_is_known_afterwards),
        cmocka_unit_test(the_first_span_of_a_thread_counts),
        cmocka_unit_test(a_wait_for_the_device_is_no_cost_of_a_callback),
        cmocka_unit_test(a_callback_that_computes_waits_for_itself),
        cmocka_unit_test(long_calls_of_a_callback_have_a_period),
        cmocka_unit_test(calls_are_those_of_the_loop_alone),
        cmocka_unit_test(compiling_again_is_told_from_the_first_time),
        cmocka_unit_test(a_step_may_have_any_number_of_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
