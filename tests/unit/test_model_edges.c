/* Where the rules of docs/step-model.md meet each other. Times are in ns. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/play.h"

/* Step model 3. */

static void updates_win_over_jitted_calls_that_came_first(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned prepare = play_jitted(p.s, "prepare");
    for (int i = 0; i < 35; i++)
        script_span(p.s, prepare, 0, 3);
    for (int i = 0; i < 40; i++) {
        play_batch(&p, p.adam);
        script_span(p.s, prepare, 0, 3);
    }
    play_end_of_iterator(&p);
    const struct snapshot *snapshot = script_finish(p.s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(loop->source, SOURCE_UPDATES);
    assert_int_equal(loop->steps, 40);
    assert_int_equal(loop->window_steps, 1);
    assert_int_equal(play_segment(snapshot, SEGMENT_STARTUP_NS), 35 * 3);
    assert_int_equal(loop->wall_ns, 40 * 68 - 3); /* the last call leads to nothing */
    script_free(p.s);
}

static void two_gans_one_after_the_other_count_iterations(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned second[2] = {play_optimizer(p.s, "RMSprop"), play_optimizer(p.s, "RMSprop#2")};
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 20; i++) {
        play_batch(&p, p.adam);
        play_update(&p, p.sgd);
    }
    play_end_of_iterator(&p);
    for (int i = 0; i < 30; i++) {
        play_batch(&p, second[0]);
        play_update(&p, second[1]);
    }
    play_end_of_iterator(&p);
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(snapshot->loop_count, 2);
    assert_int_equal(snapshot->loops[0].steps, 30);
    assert_int_equal(snapshot->loops[1].steps, 20);
    assert_int_equal(snapshot->loops[0].wall_ns, 30 * 120);
    script_free(p.s);
}

/* After an epoch's end the second optimizer acts first: that starts no step. */
static void a_start_by_another_optimizer_does_not_count(void **state)
{
    (void)state;
    struct play p = play_new();
    script_span(p.s, p.setup, 0, 3);
    for (int epoch = 0; epoch < 3; epoch++) {
        if (epoch > 0)
            play_batch(&p, p.sgd);
        for (int i = 0; i < 10; i++)
            play_batch(&p, p.adam);
        play_end_of_iterator(&p);
    }
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(play_only_loop(snapshot)->steps, 30);
    assert_int_equal(play_segment(snapshot, SEGMENT_BETWEEN_NS), 2 * (1 + 65));
    script_free(p.s);
}

static void a_train_call_stands_for_the_updates_in_it(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned call = script_name(p.s, "train_step", SS_STAGE_COMPUTE, SS_ROLE_TRAIN_CALL,
                                SS_SCOPE_NONE, "model");
    for (int i = 0; i < 10; i++) {
        script_begin(p.s, call, TRAIN);
        play_update(&p, p.adam);
        script_end(p.s, 0, 1);
    }
    script_span(p.s, call, FAILED, 2);
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 10);
    assert_int_equal(loop->updates, 10);
    script_free(p.s);
}

/* Step model 4. */

static void without_data_the_first_step_starts_at_the_first_train_forward(void **state)
{
    (void)state;
    struct play p = play_new();
    script_span(p.s, p.transfer, 0, 400); /* model.to(device) */
    script_span(p.s, p.forward, EVAL, 300);
    for (int i = 0; i < 5; i++)
        play_update(&p, p.adam);
    script_point(p.s, SS_KIND_EPOCH_END, 0);
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(play_only_loop(snapshot)->steps, 5);
    assert_int_equal(play_only_loop(snapshot)->steady_ns, 5 * 55);
    assert_int_equal(play_segment(snapshot, SEGMENT_STARTUP_NS), 700);
    script_free(p.s);
}

static void set_up_ends_start_up_without_data_too(void **state)
{
    (void)state;
    struct play p = play_new();
    script_span(p.s, p.forward, TRAIN, 400); /* to see that it works */
    script_span(p.s, p.setup, 0, 7);
    script_span(p.s, p.sync, 0, 1);
    for (int i = 0; i < 5; i++) {
        script_span(p.s, p.transfer, 0, 4);
        play_update(&p, p.adam);
    }
    script_point(p.s, SS_KIND_EPOCH_END, 0);
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(play_only_loop(snapshot)->steady_ns, 5 * 59);
    assert_int_equal(play_segment(snapshot, SEGMENT_STARTUP_NS), 408);
    script_free(p.s);
}

static void what_an_optimizer_transfers_leads_nothing(void **state)
{
    (void)state;
    struct play p = play_new();
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 5; i++) {
        play_batch(&p, p.adam);
        script_begin(p.s, p.zero, 0);
        script_span(p.s, p.transfer, 0, 4);
        script_end(p.s, 0, 0);
        script_span(p.s, p.save, 0, 100);
    }
    play_end_of_iterator(&p);
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 5);
    assert_int_equal(loop->steady_ns, 5 * 69);
    assert_int_equal(loop->stage[SS_STAGE_OPTIMIZER].total_ns, 5 * 9);
    script_free(p.s);
}

static void a_mark_before_the_end_of_the_iterator_starts_no_step(void **state)
{
    (void)state;
    struct play p = play_new();
    for (int i = 0; i < 5; i++) {
        script_point(p.s, SS_KIND_STEP, 8);
        play_batch(&p, p.adam);
    }
    script_point(p.s, SS_KIND_STEP, 8);
    play_end_of_iterator(&p);
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 5);
    assert_int_equal(loop->samples, 5 * 8);
    assert_int_equal(loop->flagged_steps, 0);
    script_free(p.s);
}

static void marks_alone_make_steps_and_stop_closes_the_last(void **state)
{
    (void)state;
    for (int stopped = 0; stopped < 2; stopped++) {
        struct play p = play_new();
        for (int i = 0; i < 5; i++) {
            script_point(p.s, SS_KIND_STEP, 8);
            script_pass(p.s, 50);
        }
        script_ended(p.s, stopped ? SS_END_STOPPED : SS_END_EXITED);
        const struct snap_loop *loop = play_only_loop(script_finish(p.s));
        assert_int_equal(loop->steps, stopped ? 5 : 4);
        assert_int_equal(loop->flagged_steps, 0);
        script_free(p.s);
    }
}

/* A mark inside a span: the span stays whole, and nothing is counted twice. */
static void a_mark_inside_a_span_is_no_error_of_ours(void **state)
{
    (void)state;
    struct play p = play_new();
    for (int i = 0; i < 5; i++) {
        script_begin(p.s, p.forward, TRAIN);
        script_pass(p.s, 20);
        script_point(p.s, SS_KIND_STEP, 1);
        script_pass(p.s, 10);
        script_end(p.s, 0, 0);
    }
    script_point(p.s, SS_KIND_LOOP_END, 0);
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 5);
    assert_int_equal(loop->negative_ns, 0);
    assert_int_equal(loop->stage[SS_STAGE_FORWARD].total_ns, 5 * 10);
    script_free(p.s);
}

/* Step model 5. */

static void what_lies_between_updates_of_a_new_loop_stays_there(void **state)
{
    (void)state;
    struct play p = play_new();
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 20; i++)
        play_batch(&p, p.adam);
    play_end_of_iterator(&p);
    script_pass(p.s, 70);
    for (int epoch = 0; epoch < 6; epoch++) {
        script_span(p.s, p.setup, 0, 3);
        for (int i = 0; i < 5; i++)
            play_batch(&p, p.sgd);
        play_end_of_iterator(&p);
        script_span(p.s, p.evaluate, 0, 1000);
    }
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(snapshot->loop_count, 2);
    assert_int_equal(snapshot->loops[0].steps, 30);
    assert_int_equal(snapshot->loops[0].segment_ns[SEGMENT_BETWEEN_NS], 5 * 4);
    assert_int_equal(snapshot->loops[0].segment_ns[SEGMENT_EVAL_NS], 5 * 1000);
    assert_int_equal(play_segment(snapshot, SEGMENT_EVAL_NS), 6 * 1000);
    assert_int_equal(play_segment(snapshot, SEGMENT_IDLE_NS), 1 + 70 + 3);
    script_free(p.s);
}

static void two_jitted_trainings_are_two_loops(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned first = play_jitted(p.s, "train_a"), second = play_jitted(p.s, "train_b");
    unsigned eval = play_jitted(p.s, "eval_fn");
    for (int i = 0; i < 40; i++)
        script_span(p.s, first, TRAIN, 10);
    for (int i = 0; i < 30; i++) /* many in a row, and yet no training */
        script_span(p.s, eval, 0, 7);
    for (int i = 0; i < 60; i++)
        script_span(p.s, second, TRAIN, 10);
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(snapshot->loop_count, 2);
    assert_int_equal(snapshot->loops[0].steps, 60);
    assert_int_equal(snapshot->loops[1].steps, 40);
    assert_int_equal(play_segment(snapshot, SEGMENT_EVAL_NS), 30 * 7);
    script_free(p.s);
}

/* Step model 2.2. */

static void a_batch_that_is_left_out_belongs_to_the_evaluation(void **state)
{
    (void)state;
    struct play p = play_new();
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 6; i++) {
        play_batch(&p, p.adam);
        if (i % 2 == 1) {
            for (int k = 0; k < 4; k++) {
                script_span(p.s, p.data, 0, 10);
                if (k != 2)
                    script_span(p.s, p.forward, EVAL, 12);
            }
        }
    }
    play_end_of_iterator(&p);
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(play_only_loop(snapshot)->negative_ns, 0);
    assert_int_equal(play_only_loop(snapshot)->steps, 6);
    assert_int_equal(play_segment(snapshot, SEGMENT_EVAL_NS), 3 * (4 * 10 + 3 * 12) + 1);
    script_free(p.s);
}

static void evaluation_has_its_set_up_whatever_comes_in_between(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned gc = play_name(p.s, "gen2", SS_STAGE_GC);
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 6; i++) {
        play_batch(&p, p.adam);
        if (i % 2 == 1) {
            script_span(p.s, p.setup, 0, 8);
            script_span(p.s, gc, 0, 4);
            script_span(p.s, p.data, 0, 10);
            script_span(p.s, p.forward, TRAIN, 12); /* only the iterator tells */
            play_end_of_iterator(&p);
        }
    }
    play_end_of_iterator(&p);
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(play_only_loop(snapshot)->steps, 6);
    assert_int_equal(play_segment(snapshot, SEGMENT_EVAL_NS), 3 * (8 + 4 + 10 + 12 + 1));
    script_free(p.s);
}

static void compute_without_gradients_is_evaluation(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned test = script_name(p.s, "test", SS_STAGE_COMPUTE, SS_ROLE_EVAL_CALL, 0, "");
    for (int i = 0; i < 8; i++) {
        play_batch(&p, p.adam);
        if (i % 4 == 3) {
            script_span(p.s, p.data, 0, 10);
            script_span(p.s, p.compute, EVAL, 40);
            script_span(p.s, p.data, 0, 10);
            script_span(p.s, test, 0, 40);
        }
    }
    play_end_of_iterator(&p);
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(play_only_loop(snapshot)->steps, 8);
    assert_int_equal(play_segment(snapshot, SEGMENT_EVAL_NS), 2 * 100 + 1);
    script_free(p.s);
}

/* Step model 3.5. */

static void a_jitted_function_before_the_first_epoch_is_not_training(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned init = play_jitted(p.s, "init"), step = play_jitted(p.s, "train_step");
    script_span(p.s, init, 0, 500);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        script_point(p.s, SS_KIND_EPOCH_BEGIN, epoch);
        for (int i = 0; i < 10; i++)
            script_span(p.s, step, 0, 20);
        script_point(p.s, SS_KIND_EPOCH_END, 0);
        script_pass(p.s, 6);
    }
    const struct snapshot *snapshot = script_finish(p.s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(loop->steps, 30);
    assert_int_equal(loop->epoch_count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(loop->epochs[i].steps, 10);
    assert_int_equal(play_segment(snapshot, SEGMENT_BETWEEN_NS), 2 * 6);
    script_free(p.s);
}

static void a_rare_function_with_gradients_is_no_evaluation(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned grad = play_jitted(p.s, "grad_fn"), apply = play_jitted(p.s, "apply_fn");
    for (int i = 0; i < 200; i++) {
        script_span(p.s, grad, TRAIN, 20);
        if (i % 4 == 3)
            script_span(p.s, apply, TRAIN, 5);
    }
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(play_segment(snapshot, SEGMENT_EVAL_NS), 0);
    script_free(p.s);
}

static void a_rare_function_inside_a_cycle_is_cut_out(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned grad = play_jitted(p.s, "grad_fn"), apply = play_jitted(p.s, "apply_fn");
    unsigned eval = play_jitted(p.s, "eval_fn");
    for (int i = 0; i < 100; i++) {
        script_span(p.s, grad, 0, 20);
        if (i % 10 == 5)
            script_span(p.s, eval, 0, 7);
        script_span(p.s, apply, 0, 5);
        script_span(p.s, p.sync, 0, 1);
    }
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(play_only_loop(snapshot)->steps, 100);
    assert_int_equal(play_segment(snapshot, SEGMENT_EVAL_NS), 10 * 7);
    script_free(p.s);
}

static void jitted_calls_that_nobody_waited_for_are_in_no_statistics(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned step = play_jitted(p.s, "train_step");
    for (int i = 0; i < 45; i++) {
        script_span(p.s, step, 0, 5);
        if (i % 10 == 9)
            script_span(p.s, p.sync, 0, 200);
    }
    script_point(p.s, SS_KIND_LOOP_END, 0);
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 45);
    assert_int_equal(loop->flagged_steps, 5);
    assert_int_equal(loop->window_steps, 10);
    script_free(p.s);
}

/* Step model 1.7. */

static void waits_of_two_loops_at_once_are_not_given(void **state)
{
    (void)state;
    for (int overlays = 0; overlays < 2; overlays++) {
        struct play p = play_new();
        unsigned call = script_name(p.s, "call", SS_STAGE_COMPUTE, SS_ROLE_TRAIN_CALL, 0, "");
        for (int i = 0; i < 5; i++) {
            script_lane(p.s, 1);
            script_begin(p.s, call, TRAIN);
            script_lane(p.s, 2);
            script_span(p.s, p.data, 0, 5);
            script_begin(p.s, call, TRAIN);
            script_lane(p.s, 4);
            script_span(p.s, p.data, overlays ? SS_FLAG_OVERLAY : SS_FLAG_PRODUCER, 30);
            script_lane(p.s, 2);
            script_end(p.s, 0, 1);
            script_lane(p.s, 1);
            script_end(p.s, 0, 1);
        }
        const struct snapshot *snapshot = script_finish(p.s);
        assert_int_equal(snapshot->loop_count, 2);
        for (int i = 0; i < 2; i++) {
            const struct snap_stage *data = &snapshot->loops[i].stage[SS_STAGE_DATA];
            bool own = snapshot->loops[i].lane == 2;
            assert_int_equal(data->measured, !overlays && own);
            assert_int_equal(data->reason != NULL, overlays);
        }
        script_free(p.s);
    }
}

/* Told late, in the middle of another call: it is no part of that, or of any step. */
static void what_a_device_does_is_beside_the_step(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned device = play_name(p.s, "device: forward", SS_STAGE_FORWARD);
    for (int i = 0; i < 50; i++) {
        const int64_t start_ns = script_now(p.s);
        play_batch(&p, p.adam);
        script_begin(p.s, p.user, 0);
        script_begin(p.s, p.sync, 0);
        script_pass(p.s, 20);
        script_append(p.s, device, SS_FLAG_PRODUCER, start_ns + 15, start_ns + 65);
        script_append(p.s, device, SS_FLAG_PRODUCER | EVAL, start_ns + 65, start_ns + 85);
        script_pass(p.s, 15);
        script_end(p.s, 0, 0);
        script_end(p.s, 0, 0);
    }
    const struct snapshot *snapshot = script_finish(p.s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(loop->steps, 50);
    assert_float_equal(loop->stage[SS_STAGE_FORWARD].share.mid, 0.20, 1e-9);
    assert_float_equal(loop->stage[SS_STAGE_SYNC].share.mid, 0.35, 1e-9);
    assert_float_equal(loop->device[SS_STAGE_FORWARD].mid, 0.50, 0.02);
    assert_true(isnan(loop->device[SS_STAGE_BACKWARD].mid));
    assert_int_equal(script_find(snapshot, "device: forward")->total_ns, 50 * 70);
    assert_true(isnan(script_find(snapshot, "device: forward")->share.mid));
    assert_int_equal(script_find(snapshot, "item")->self_ns, 50 * 35);
    assert_int_equal(snapshot->orphan_spans, 0);
    script_free(p.s);
}

/* Step model 6. */

static void evaluation_before_the_first_step_is_in_the_books_of_the_loop(void **state)
{
    (void)state;
    struct play p = play_new();
    for (int k = 0; k < 2; k++) {
        script_pass(p.s, 13);
        script_point(p.s, SS_KIND_LOOP_BEGIN, p.fit);
        script_pass(p.s, 4);
        script_span(p.s, p.evaluate, 0, 90); /* a sanity check */
        for (int i = 0; i < 4; i++)
            play_batch(&p, p.adam);
        script_point(p.s, SS_KIND_LOOP_END, 0);
    }
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(snapshot->loop_count, 2);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(snapshot->loops[k].segment_ns[SEGMENT_EVAL_NS], 90);
        assert_int_equal(snapshot->loops[k].segment_ns[SEGMENT_STARTUP_NS], 4);
    }
    assert_int_equal(play_segment(snapshot, SEGMENT_STARTUP_NS), 13 + 4 + 4);
    assert_int_equal(play_segment(snapshot, SEGMENT_IDLE_NS), 13);
    script_free(p.s);
}

static void validation_after_the_last_batch_counts_in_its_epoch(void **state)
{
    (void)state;
    struct play p = play_new();
    script_point(p.s, SS_KIND_LOOP_BEGIN, p.fit);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        script_point(p.s, SS_KIND_EPOCH_BEGIN, epoch);
        for (int i = 0; i < 4; i++)
            play_batch(&p, p.adam);
        play_end_of_iterator(&p);
        script_span(p.s, p.evaluate, 0, 50);
        script_point(p.s, SS_KIND_EPOCH_END, 0);
        script_span(p.s, p.evaluate, 0, 7); /* of no epoch */
    }
    script_point(p.s, SS_KIND_LOOP_END, 0);
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(loop->epochs[i].steps, 4);
        assert_int_equal(loop->epochs[i].eval_ns, 50);
    }
    assert_int_equal(loop->segment_ns[SEGMENT_EVAL_NS], 3 * 57);
    script_free(p.s);
}

static void names_have_shares_in_a_loop_that_only_epochs_announce(void **state)
{
    (void)state;
    struct play p = play_new();
    script_point(p.s, SS_KIND_EPOCH_BEGIN, 0);
    script_pass(p.s, 33);
    for (int i = 0; i < 100; i++)
        play_batch(&p, p.adam);
    play_end_of_iterator(&p);
    const struct snapshot *snapshot = script_finish(p.s);
    assert_true(fabs(script_find(snapshot, "forward")->share.mid - 20. / 65) < 0.05);
    script_free(p.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_win_over_jitted_calls_that_came_first),
        cmocka_unit_test(two_gans_one_after_the_other_count_iterations),
        cmocka_unit_test(a_start_by_another_optimizer_does_not_count),
        cmocka_unit_test(a_train_call_stands_for_the_updates_in_it),
        cmocka_unit_test(without_data_the_first_step_starts_at_the_first_train_forward),
        cmocka_unit_test(set_up_ends_start_up_without_data_too),
        cmocka_unit_test(what_an_optimizer_transfers_leads_nothing),
        cmocka_unit_test(a_mark_before_the_end_of_the_iterator_starts_no_step),
        cmocka_unit_test(marks_alone_make_steps_and_stop_closes_the_last),
        cmocka_unit_test(a_mark_inside_a_span_is_no_error_of_ours),
        cmocka_unit_test(what_lies_between_updates_of_a_new_loop_stays_there),
        cmocka_unit_test(two_jitted_trainings_are_two_loops),
        cmocka_unit_test(a_batch_that_is_left_out_belongs_to_the_evaluation),
        cmocka_unit_test(evaluation_has_its_set_up_whatever_comes_in_between),
        cmocka_unit_test(compute_without_gradients_is_evaluation),
        cmocka_unit_test(a_jitted_function_before_the_first_epoch_is_not_training),
        cmocka_unit_test(a_rare_function_with_gradients_is_no_evaluation),
        cmocka_unit_test(a_rare_function_inside_a_cycle_is_cut_out),
        cmocka_unit_test(jitted_calls_that_nobody_waited_for_are_in_no_statistics),
        cmocka_unit_test(waits_of_two_loops_at_once_are_not_given),
        cmocka_unit_test(what_a_device_does_is_beside_the_step),
        cmocka_unit_test(evaluation_before_the_first_step_is_in_the_books_of_the_loop),
        cmocka_unit_test(validation_after_the_last_batch_counts_in_its_epoch),
        cmocka_unit_test(names_have_shares_in_a_loop_that_only_epochs_announce),
    };
    return cmocka_run_group_tests_name("where rules of the step model meet", tests, NULL, NULL);
}
