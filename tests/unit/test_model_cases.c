/* The table of cases of docs/step-model.md, each as a synthetic run with its expected books. Times
 * are in ns and small, so that sums can be checked by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/play.h"

static unsigned callback(struct script *s, const char *text, unsigned scope)
{
    return script_name(s, text, SS_STAGE_CALLBACK, SS_ROLE_NONE, scope, "");
}

/* All steps, warm-up too: means of few steps are given over the steady ones, which are all here. */
static int64_t total(const struct snap_loop *loop, unsigned stage)
{
    assert_int_equal(loop->warmup_steps, 0);
    return loop->stage[stage].total_ns;
}

/* 2 epochs of 3 batches: batch-begin callback 1, train call 50, batch-end callback 4, and at the
 * end of each epoch a failing call 2, validation 100, an epoch callback 7; set-up 9 before each. */
static void keras_fit_with_callbacks_and_validation(void **state)
{
    (void)state;
    struct play p = play_new();
    struct script *s = p.s;
    unsigned fit = script_name(s, "fit", SS_STAGE_USER, SS_ROLE_LOOP, SS_SCOPE_NONE, "");
    unsigned call = script_name(s, "train_function", SS_STAGE_COMPUTE, SS_ROLE_TRAIN_CALL,
                                SS_SCOPE_NONE, "model");
    unsigned begin = callback(s, "on_train_batch_begin", SS_SCOPE_BATCH_BEGIN);
    unsigned end = callback(s, "on_train_batch_end", SS_SCOPE_BATCH_END);
    unsigned epoch_end = callback(s, "on_epoch_end", SS_SCOPE_EPOCH_END);
    unsigned evaluate = play_name(s, "evaluate", SS_STAGE_EVAL);

    script_pass(s, 500);
    script_point(s, SS_KIND_LOOP_BEGIN, fit);
    for (int epoch = 0; epoch < 2; epoch++) {
        script_point(s, SS_KIND_EPOCH_BEGIN, (uint64_t)epoch);
        script_span(s, p.setup, 0, 9);
        for (int i = 0; i < 3; i++) {
            script_span(s, begin, 0, 1);
            script_span(s, call, TRAIN, 50);
            script_span(s, end, 0, 4);
        }
        script_span(s, call, FAILED, 2);
        script_begin(s, evaluate, 0);
        script_span(s, p.data, 0, 30);
        script_span(s, p.forward, EVAL, 70);
        script_end(s, 0, 0);
        script_span(s, epoch_end, 0, 7);
        script_point(s, SS_KIND_EPOCH_END, 0);
    }
    script_point(s, SS_KIND_LOOP_END, 0);
    script_pass(s, 40);

    const struct snapshot *snapshot = script_finish(s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(loop->steps, 6);
    assert_int_equal(loop->source, SOURCE_TRAINER);
    assert_int_equal(loop->steady_ns, 6 * 55);
    assert_int_equal(total(loop, SS_STAGE_COMPUTE), 6 * 50);
    assert_int_equal(total(loop, SS_STAGE_CALLBACK), 6 * 5);
    assert_int_equal(total(loop, SS_STAGE_OTHER), 0);
    const int64_t *books = snapshot->threads[0].segment_ns;
    assert_int_equal(books[SEGMENT_STARTUP_NS], 509); /* and the first set-up */
    assert_int_equal(books[SEGMENT_EVAL_NS], 200);
    assert_int_equal(books[SEGMENT_BETWEEN_NS], 2 + 7 + 9 + 2 + 7);
    assert_int_equal(books[SEGMENT_TEARDOWN_NS], 40);
    assert_int_equal(loop->epoch_count, 2);
    assert_int_equal(loop->epochs[1].steps, 3);
    script_free(s);
}

static void a_callback_that_predicts_keeps_its_time(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned end = callback(p.s, "on_train_batch_end", SS_SCOPE_BATCH_END);
    unsigned predict = play_name(p.s, "predict", SS_STAGE_INFER);
    unsigned gc = play_name(p.s, "gen2", SS_STAGE_GC);
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 5; i++) {
        play_batch(&p, p.adam);
        script_begin(p.s, end, 0);
        script_begin(p.s, predict, 0);
        script_span(p.s, p.data, 0, 4);
        script_span(p.s, p.forward, EVAL, 6);
        script_span(p.s, gc, 0, 2);
        script_end(p.s, 0, 0);
        script_end(p.s, 0, 0);
    }
    play_end_of_iterator(&p);
    const struct snapshot *snapshot = script_finish(p.s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(loop->steps, 5);
    assert_int_equal(total(loop, SS_STAGE_CALLBACK), 5 * 10);
    assert_int_equal(total(loop, SS_STAGE_GC), 5 * 2);
    assert_int_equal(total(loop, SS_STAGE_DATA), 5 * 10);
    assert_int_equal(snapshot->threads[0].segment_ns[SEGMENT_INFER_NS], 0);
    assert_int_equal(script_find(snapshot, "predict")->total_ns, 5 * 12);
    assert_int_equal(script_find(snapshot, "on_train_batch_end")->self_ns, 0);
    script_free(p.s);
}

/* Calls of 4, 4 and 2 steps, 40 ns a step. */
static void several_steps_a_call_are_one_window(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned call = script_name(p.s, "multi_step", SS_STAGE_COMPUTE, SS_ROLE_TRAIN_CALL,
                                SS_SCOPE_NONE, "model");
    static const int steps[] = {4, 4, 2};
    for (int i = 0; i < 3; i++) {
        script_begin(p.s, call, TRAIN);
        script_pass(p.s, 40 * steps[i]);
        script_end(p.s, 0, steps[i]);
    }
    script_span(p.s, call, FAILED, 3);
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 10);
    assert_int_equal(loop->window_steps, 4);
    assert_int_equal(loop->steady_ns, 400);
    script_free(p.s);
}

/* zero_grad first or last, a scheduler, item(): the same steps. */
static void the_order_of_zero_grad_does_not_matter(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct play p = play_new();
        unsigned scheduler = play_name(p.s, "scheduler", SS_STAGE_OPTIMIZER);
        script_span(p.s, p.setup, 0, 3);
        for (int i = 0; i < 4; i++) {
            script_span(p.s, p.data, 0, 10);
            if (first)
                script_span(p.s, p.zero, 0, 2);
            script_span(p.s, p.forward, TRAIN, 20);
            script_span(p.s, p.backward, 0, 30);
            script_span(p.s, p.adam, 0, 5);
            script_span(p.s, scheduler, 0, 1);
            if (!first)
                script_span(p.s, p.zero, 0, 2);
            script_span(p.s, p.sync, 0, 4);
            script_pass(p.s, 6); /* tqdm */
        }
        play_end_of_iterator(&p);
        const struct snap_loop *loop = play_only_loop(script_finish(p.s));
        assert_int_equal(loop->steps, 4);
        assert_int_equal(loop->steady_ns, 4 * 78);
        assert_int_equal(total(loop, SS_STAGE_OPTIMIZER), 4 * 8);
        assert_int_equal(total(loop, SS_STAGE_SYNC), 4 * 4);
        assert_int_equal(total(loop, SS_STAGE_OTHER), 4 * 6);
        script_free(p.s);
    }
}

static void micro_batches_make_one_step(void **state)
{
    (void)state;
    struct play p = play_new();
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 10 * 4 + 2; i++) { /* the last two find no update */
        script_span(p.s, p.data, 0, 10);
        script_span(p.s, p.forward, TRAIN, 20);
        script_span(p.s, p.backward, 0, 30);
        if (i % 4 == 3)
            script_span(p.s, p.adam, 0, 5);
    }
    play_end_of_iterator(&p);
    const struct snapshot *snapshot = script_finish(p.s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(loop->steps, 10);
    assert_int_equal(loop->batches, 40);
    assert_int_equal(loop->steady_ns, 10 * 245);
    assert_int_equal(total(loop, SS_STAGE_DATA), 400);
    assert_int_equal(snapshot->threads[0].segment_ns[SEGMENT_TEARDOWN_NS], 2 * 60 + 1);
    script_free(p.s);
}

static void a_gan_iteration_is_one_step(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned generator = play_optimizer(p.s, "Adam#2");
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 30; i++) {
        play_batch(&p, p.adam);
        script_span(p.s, p.forward, TRAIN, 7);
        script_span(p.s, p.backward, 0, 8);
        script_span(p.s, generator, 0, 2);
    }
    play_end_of_iterator(&p);
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 30);
    assert_int_equal(loop->updates, 60);
    assert_int_equal(loop->steady_ns, 30 * 82);
    assert_int_equal(total(loop, SS_STAGE_FORWARD), 30 * 27);
    script_free(p.s);
}

static void a_closure_takes_its_time_from_the_optimizer(void **state)
{
    (void)state;
    struct play p = play_new();
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 4; i++) {
        script_span(p.s, p.data, 0, 10);
        script_begin(p.s, p.adam, 0);
        for (int k = 0; k < 3; k++) {
            script_span(p.s, p.forward, TRAIN, 20);
            script_span(p.s, p.backward, 0, 30);
            script_span(p.s, p.sync, 0, 1); /* detail of the optimizer */
            script_pass(p.s, 4);
        }
        script_end(p.s, 0, 0);
    }
    play_end_of_iterator(&p);
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 4);
    assert_int_equal(total(loop, SS_STAGE_FORWARD), 4 * 60);
    assert_int_equal(total(loop, SS_STAGE_OPTIMIZER), 4 * 15);
    assert_int_equal(total(loop, SS_STAGE_SYNC), 0);
    script_free(p.s);
}

static void a_teacher_is_forward(void **state)
{
    (void)state;
    struct play p = play_new();
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 4; i++) {
        script_span(p.s, p.data, 0, 10);
        script_span(p.s, p.forward, EVAL, 15);
        script_span(p.s, p.forward, TRAIN, 20);
        script_span(p.s, p.backward, 0, 30);
        script_span(p.s, p.adam, 0, 5);
    }
    play_end_of_iterator(&p);
    const struct snapshot *snapshot = script_finish(p.s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(loop->steps, 4);
    assert_int_equal(total(loop, SS_STAGE_FORWARD), 4 * 35);
    assert_int_equal(snapshot->threads[0].segment_ns[SEGMENT_EVAL_NS], 0);
    script_free(p.s);
}

/* Every 4 steps an evaluation of 3 batches with its own loader; `flag` says what its forwards are:
 * without gradients, or (0) as in training, so that only the iterator tells. */
static void evaluate_in_the_body(unsigned flag)
{
    struct play p = play_new();
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 8; i++) {
        play_batch(&p, p.adam);
        if (i % 4 == 3) {
            script_span(p.s, p.setup, 0, 9);
            for (int k = 0; k < 3; k++) {
                script_span(p.s, p.data, 0, 10);
                script_span(p.s, p.forward, flag, 12);
                script_pass(p.s, 1);
            }
            play_end_of_iterator(&p);
            script_pass(p.s, 5); /* print */
        }
    }
    script_span(p.s, p.data, 0, 10);
    script_span(p.s, p.forward, TRAIN, 20);
    script_span(p.s, p.backward, 0, 30);
    script_span(p.s, p.adam, 0, 5);
    play_end_of_iterator(&p);
    const struct snapshot *snapshot = script_finish(p.s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(loop->steps, 9);
    assert_int_equal(snapshot->threads[0].segment_ns[SEGMENT_EVAL_NS], 2 * (9 + 3 * 23 + 1));
    assert_int_equal(loop->steady_ns, 9 * 65 + 2 * 5);
    assert_int_equal(total(loop, SS_STAGE_DATA), 9 * 10);
    script_free(p.s);
}

static void evaluation_without_gradients_is_cut_out(void **state)
{
    (void)state;
    evaluate_in_the_body(EVAL);
}

static void evaluation_is_known_by_its_iterator(void **state)
{
    (void)state;
    evaluate_in_the_body(TRAIN);
}

/* Every 20 steps a helper makes 10 batches of its own, and each step has a teacher or has none. */
static void evaluate_without_a_loader(bool teacher)
{
    struct play p = play_new();
    const int step_ns = teacher ? 70 : 55;
    for (int i = 0; i < 60; i++) {
        if (i % 20 == 19)
            for (int k = 0; k < 10; k++) {
                script_span(p.s, p.forward, EVAL, 12);
                script_span(p.s, p.sync, 0, 1);
            }
        if (teacher)
            script_span(p.s, p.forward, EVAL, 15);
        play_update(&p, p.adam);
    }
    script_point(p.s, SS_KIND_EPOCH_END, 0);
    const struct snapshot *snapshot = script_finish(p.s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(loop->steps, 60);
    /* The forward of the teacher right after an evaluation is in its run. */
    const int64_t lost = teacher ? 3 * 15 : 0;
    assert_int_equal(play_segment(snapshot, SEGMENT_EVAL_NS), 3 * 130 + lost);
    const int64_t before = teacher ? 15 : 0; /* the first step begins with what trains */
    assert_int_equal(loop->steady_ns + loop->warmup_ns, 60 * step_ns - lost - before);
    script_free(p.s);
}

static void evaluation_without_a_loader_is_cut_out(void **state)
{
    (void)state;
    evaluate_without_a_loader(false);
    evaluate_without_a_loader(true);
}

/* A graph that is one batch: each update is followed by an evaluation of one forward. */
static void evaluation_after_each_update_is_cut_out(void **state)
{
    (void)state;
    struct play p = play_new();
    for (int i = 0; i < 12; i++) {
        script_span(p.s, p.zero, 0, 1);
        play_update(&p, p.adam);
        script_span(p.s, p.forward, EVAL, 12);
        script_span(p.s, p.sync, 0, 3);
    }
    script_point(p.s, SS_KIND_EPOCH_END, 0);
    const struct snapshot *snapshot = script_finish(p.s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(loop->steps, 12);
    assert_int_equal(play_segment(snapshot, SEGMENT_EVAL_NS), 12 * 15);
    assert_int_equal(total(loop, SS_STAGE_FORWARD), 12 * 20);
    script_free(p.s);
}

/* An agent acts before its first update too, or that has a target network in its batch; and what is
 * taught later, by another optimizer, has its teacher from its first update on. */
static void what_the_first_update_uses_is_forward(void **state)
{
    (void)state;
    enum { ACTS, TARGET, TAUGHT_LATER, CASES };
    for (int which = ACTS; which < CASES; which++) {
        struct play p = play_new();
        for (int i = 0; i < 24; i++) {
            const bool taught = which == TAUGHT_LATER && i >= 12;
            const bool learnt = i > 0 || which == ACTS; /* at first it acts at random */
            if (taught || (which != TAUGHT_LATER && learnt))
                script_span(p.s, p.forward, EVAL, 4);
            script_span(p.s, p.forward, TRAIN, 20);
            if (which == TARGET)
                script_span(p.s, p.forward, EVAL, 6);
            script_span(p.s, p.backward, 0, 30);
            script_span(p.s, taught ? p.sgd : p.adam, 0, 5);
        }
        const struct snapshot *snapshot = script_finish(p.s);
        /* The first forward of the teacher is not known to be one. */
        assert_int_equal(play_segment(snapshot, SEGMENT_EVAL_NS), which == TAUGHT_LATER ? 4 : 0);
        script_free(p.s);
    }
}

/* Means and deviations of all inputs, or how many there are of each class. */
static void a_loop_over_data_alone_is_no_evaluation(void **state)
{
    (void)state;
    struct play p = play_new();
    script_span(p.s, p.setup, 0, 3);
    for (int epoch = 0; epoch < 2; epoch++) {
        for (int i = 0; i < 5; i++)
            play_batch(&p, p.adam);
        play_end_of_iterator(&p);
        script_span(p.s, p.setup, 0, 3);
        for (int i = 0; i < 5 && epoch == 0; i++) {
            script_span(p.s, p.data, 0, 10);
            script_pass(p.s, 2);
        }
        if (epoch == 0) {
            play_end_of_iterator(&p);
            script_span(p.s, p.setup, 0, 3);
        }
    }
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(play_only_loop(snapshot)->steps, 10);
    assert_int_equal(play_only_loop(snapshot)->steady_ns, 10 * 65);
    assert_int_equal(play_segment(snapshot, SEGMENT_EVAL_NS), 0);
    assert_int_equal(play_segment(snapshot, SEGMENT_BETWEEN_NS), 1 + 3 + 60 + 1 + 3);
    script_free(p.s);
}

/* A transformation of torchvision, a batch that is got through another iterator, and gc. */
static void what_runs_while_a_batch_is_made_is_data(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned gc = play_name(p.s, "gen2", SS_STAGE_GC);
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 5; i++) {
        script_begin(p.s, p.data, 0);
        script_span(p.s, p.data, 0, 4);
        for (int k = 0; k < 3; k++)
            script_span(p.s, p.forward, TRAIN, 10);
        script_span(p.s, p.adam, 0, 1); /* of something that makes batches */
        script_span(p.s, gc, 0, 2);
        script_end(p.s, 0, 0);
        play_update(&p, p.adam);
    }
    play_end_of_iterator(&p);
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 5);
    assert_int_equal(loop->batches, 5);
    assert_int_equal(total(loop, SS_STAGE_DATA), 5 * 35);
    assert_int_equal(total(loop, SS_STAGE_FORWARD), 5 * 20);
    assert_int_equal(total(loop, SS_STAGE_GC), 5 * 2);
    script_free(p.s);
}

static void gradients_make_steps_where_nothing_else_does(void **state)
{
    (void)state;
    for (int count = 5; count <= 500; count *= 10) { /* decided at the end, and before it */
        struct play p = play_new();
        for (int i = 0; i < count; i++) {
            script_span(p.s, p.forward, TRAIN, 20);
            script_span(p.s, p.backward, 0, 30);
            script_pass(p.s, 7); /* w -= lr * w.grad */
        }
        script_point(p.s, SS_KIND_EPOCH_END, 0);
        const struct snap_loop *loop = play_only_loop(script_finish(p.s));
        assert_int_equal(loop->source, SOURCE_GRADIENTS);
        assert_int_equal(loop->steps, count);
        assert_int_equal(loop->steady_ns + loop->warmup_ns, count * 57);
        script_free(p.s);
    }
}

/* Micro-batches before the first update of an optimizer, and loops that are trained in another
 * way after each other. */
static void an_optimizer_wins_over_gradients(void **state)
{
    (void)state;
    struct play p = play_new();
    for (int i = 0; i < 10 * 40; i++) {
        script_span(p.s, p.forward, TRAIN, 20);
        script_span(p.s, p.backward, 0, 30);
        if (i % 40 == 39)
            script_span(p.s, p.adam, 0, 5);
    }
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->source, SOURCE_UPDATES);
    assert_int_equal(loop->steps, 10);
    script_free(p.s);
}

static void loops_of_other_ways_to_train_lose_no_steps(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned call = script_name(p.s, "train_step", SS_STAGE_COMPUTE, SS_ROLE_TRAIN_CALL,
                                      SS_SCOPE_NONE, "train_step");
    for (int i = 0; i < 200; i++) {
        script_span(p.s, p.forward, TRAIN, 20);
        script_span(p.s, p.backward, 0, 30);
    }
    for (int i = 0; i < 30; i++)
        play_update(&p, p.adam);
    for (int i = 0; i < 40; i++)
        script_span(p.s, call, TRAIN, 9);
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(snapshot->loop_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(snapshot->loops[i].steps,
                         snapshot->loops[i].source == SOURCE_GRADIENTS ? 200
                         : snapshot->loops[i].source == SOURCE_UPDATES ? 30
                                                                       : 40);
    script_free(p.s);
}

static void a_function_called_twice_a_cycle_is_no_update(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned step = play_jitted(p.s, "step"), loss = play_jitted(p.s, "loss");
    for (int i = 0; i < 100; i++) {
        script_span(p.s, step, TRAIN, 30);
        script_span(p.s, loss, 0, 10);
        script_span(p.s, loss, 0, 10);
        script_span(p.s, p.sync, 0, 2);
    }
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 100);
    /* What computes after an update begins the next step; the last one has no end. */
    assert_int_equal(loop->steady_ns + loop->warmup_ns, 30 + 98 * 52);
    script_free(p.s);
}

/* fit(epochs=1) in a loop of the script, then another model. */
static void fits_of_one_model_are_parts_of_one_loop(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned fit[] = {
        script_name(p.s, "fit", SS_STAGE_USER, SS_ROLE_LOOP, SS_SCOPE_NONE, "first"),
        script_name(p.s, "fit", SS_STAGE_USER, SS_ROLE_LOOP, SS_SCOPE_NONE, "second")};
    for (int i = 0; i < 4; i++) {
        script_point(p.s, SS_KIND_LOOP_BEGIN, fit[i / 3]);
        for (int k = 0; k < 5; k++)
            play_batch(&p, p.adam);
        script_point(p.s, SS_KIND_LOOP_END, 0);
        script_pass(p.s, 9);
    }
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(snapshot->loop_count, 2);
    assert_int_equal(snapshot->loops[0].steps, 15);
    assert_int_equal(snapshot->loops[0].parts, 3);
    assert_int_equal(snapshot->loops[0].steady_ns, 15 * 65);
    assert_int_equal(snapshot->loops[0].segment_ns[SEGMENT_BETWEEN_NS], 2 * 9);
    assert_int_equal(snapshot->loops[1].parts, 1);
    assert_int_equal(snapshot->loops[1].part_count, 0);
    assert_int_equal(snapshot->loops[0].part_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct snap_part *part = &snapshot->loops[0].part[i];
        assert_int_equal(part->number, i + 1);
        assert_int_equal(part->steps, 5);
        assert_int_equal(part->step_ns, 5 * 65);
        assert_int_equal(part->end_ns - part->start_ns, 5 * 65);
    }
    assert_int_equal(play_segment(snapshot, SEGMENT_IDLE_NS), 9);
    script_free(p.s);
}

/* Keras on JAX: calls return at once, and the end of an epoch waits for all of its batches. */
static void a_wait_after_the_epoch_is_time_of_its_steps(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned call =
        script_name(p.s, "train_function", SS_STAGE_COMPUTE, SS_ROLE_TRAIN_CALL, SS_SCOPE_NONE, "");
    script_mark(p.s, play_name(p.s, MODEL_EARLY_MARK, SS_STAGE_OTHER));
    script_point(p.s, SS_KIND_LOOP_BEGIN, p.fit);
    for (int epoch = 0; epoch < 3; epoch++) {
        script_point(p.s, SS_KIND_EPOCH_BEGIN, (uint64_t)epoch);
        for (int i = 0; i < 10; i++)
            script_span(p.s, call, TRAIN, 2);
        script_point(p.s, SS_KIND_EPOCH_END, 0);
        script_span(p.s, p.sync, 0, 80);
        script_pass(p.s, 7);
    }
    script_point(p.s, SS_KIND_LOOP_END, 0);
    const struct snapshot *snapshot = script_finish(p.s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(loop->steps, 30);
    assert_int_equal(loop->window_steps, 10);
    assert_int_equal(loop->steady_ns, 3 * 100);
    assert_int_equal(total(loop, SS_STAGE_SYNC), 3 * 80);
    assert_int_equal(play_segment(snapshot, SEGMENT_BETWEEN_NS), 3 * 7);
    script_free(p.s);
}

/* At exit workers are stopped and garbage is collected, after a plot and a save. */
static void the_last_step_does_not_last_to_the_exit(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned gc = play_name(p.s, "gen2", SS_STAGE_GC);
    for (int i = 0; i < 5; i++)
        play_batch(&p, p.adam);
    script_pass(p.s, 2000);
    script_span(p.s, p.save, 0, 100);
    script_span(p.s, gc, 0, 3);
    script_span(p.s, p.setup, 0, 30);
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(play_only_loop(snapshot)->steps, 5);
    assert_int_equal(play_segment(snapshot, SEGMENT_STEADY_NS), 5 * 65);
    assert_int_equal(play_segment(snapshot, SEGMENT_CHECKPOINT_NS), 100);
    assert_int_equal(play_segment(snapshot, SEGMENT_TEARDOWN_NS), 2000 + 3 + 30);
    script_free(p.s);
}

static void saving_in_the_body_is_cut_out(void **state)
{
    (void)state;
    struct play p = play_new();
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 6; i++) {
        play_batch(&p, p.adam);
        if (i == 2)
            script_span(p.s, p.save, 0, 1000);
    }
    play_end_of_iterator(&p);
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(play_only_loop(snapshot)->steps, 6);
    assert_int_equal(play_only_loop(snapshot)->steady_ns, 6 * 65);
    assert_int_equal(snapshot->threads[0].segment_ns[SEGMENT_CHECKPOINT_NS], 1000);
    script_free(p.s);
}

static void an_iterator_each_step_is_a_stage(void **state)
{
    (void)state;
    struct play p = play_new();
    for (int i = 0; i < 5; i++) {
        script_span(p.s, p.setup, 0, 8);
        play_batch(&p, p.adam);
    }
    script_span(p.s, p.setup, 0, 8);
    play_end_of_iterator(&p);
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 5);
    assert_int_equal(total(loop, SS_STAGE_SETUP), 5 * 8);
    assert_int_equal(loop->steady_ns, 5 * 73);
    script_free(p.s);
}

/* float(loss) every 10 calls: windows of 10. */
static void jitted_calls_make_windows_from_sync_to_sync(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned step = script_name(p.s, "train_step", SS_STAGE_COMPUTE, SS_ROLE_JIT_CALL,
                                SS_SCOPE_NONE, "train_step");
    for (int i = 0; i < 100; i++) {
        script_span(p.s, step, TRAIN, 5);
        script_pass(p.s, 1);
        if (i % 10 == 9)
            script_span(p.s, p.sync, 0, 200);
    }
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 100);
    assert_int_equal(loop->source, SOURCE_JIT);
    assert_int_equal(loop->window_steps, 10);
    script_free(p.s);
}

static void rare_jitted_functions_are_evaluation(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned grad =
        script_name(p.s, "grad_fn", SS_STAGE_COMPUTE, SS_ROLE_JIT_CALL, SS_SCOPE_NONE, "grad_fn");
    unsigned apply = script_name(p.s, "update_fn", SS_STAGE_COMPUTE, SS_ROLE_JIT_CALL,
                                 SS_SCOPE_NONE, "update_fn");
    unsigned eval =
        script_name(p.s, "eval_fn", SS_STAGE_COMPUTE, SS_ROLE_JIT_CALL, SS_SCOPE_NONE, "eval_fn");
    for (int i = 0; i < 300; i++) {
        script_span(p.s, grad, 0, 30);
        script_span(p.s, apply, 0, 10);
        script_span(p.s, p.sync, 0, 2);
        if (i % 100 == 99 && i < 299)
            for (int k = 0; k < 4; k++)
                script_span(p.s, eval, 0, 25);
    }
    const struct snapshot *snapshot = script_finish(p.s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(loop->steps, 300);
    assert_int_equal(snapshot->threads[0].segment_ns[SEGMENT_EVAL_NS], 2 * 100);
    assert_int_equal(loop->steady_ns + loop->warmup_ns, 299 * 42); /* the last has no end */
    script_free(p.s);
}

static void a_loader_thread_is_shown_and_never_added(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned make = play_name(p.s, "make_batch", SS_STAGE_PRODUCE);
    script_span(p.s, p.forward, TRAIN, 50); /* before the first mark: start-up */
    for (int i = 0; i < 5; i++) {
        script_point(p.s, SS_KIND_STEP, 32);
        script_span(p.s, p.data, 0, 10);
        script_lane(p.s, 2);
        script_span(p.s, make, SS_FLAG_PRODUCER, 40);
        script_lane(p.s, 1);
        script_span(p.s, p.forward, TRAIN, 20);
    }
    script_point(p.s, SS_KIND_STEP, 32);
    const struct snapshot *snapshot = script_finish(p.s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(loop->steps, 5);
    assert_int_equal(loop->source, SOURCE_USER);
    assert_int_equal(loop->samples, 5 * 32);
    assert_int_equal(loop->steady_ns, 5 * 70);
    assert_int_equal(total(loop, SS_STAGE_PRODUCE), 0);
    assert_int_equal(total(loop, SS_STAGE_OTHER), 5 * 40);
    assert_int_equal(script_find(snapshot, "make_batch")->total_ns, 200);
    script_free(p.s);
}

static void two_models_one_after_the_other_are_two_loops(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned second = play_optimizer(p.s, "SGD");
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 40; i++)
        play_batch(&p, p.adam);
    play_end_of_iterator(&p);
    script_pass(p.s, 77);
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 50; i++) {
        script_span(p.s, p.data, 0, 10);
        script_span(p.s, p.forward, TRAIN, 200);
        script_span(p.s, p.backward, 0, 30);
        script_span(p.s, second, 0, 5);
    }
    play_end_of_iterator(&p);
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(snapshot->loop_count, 2);
    assert_int_equal(snapshot->loops[0].steps, 50); /* most time in steps */
    assert_int_equal(snapshot->loops[1].steps, 40);
    assert_int_equal(snapshot->threads[0].segment_ns[SEGMENT_IDLE_NS], 1 + 77 + 3);
    script_free(p.s);
}

static void without_training_there_are_books_and_spans(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned outer = play_name(p.s, "outer", SS_STAGE_USER);
    unsigned inner = play_name(p.s, "inner", SS_STAGE_USER);
    script_begin(p.s, outer, 0);
    script_pass(p.s, 10);
    script_span(p.s, inner, 0, 30);
    script_end(p.s, 0, 0);
    script_pass(p.s, 5);
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(snapshot->loop_count, 0);
    assert_int_equal(snapshot->thread_count, 1);
    assert_int_equal(snapshot->threads[0].wall_ns, 45);
    assert_int_equal(script_find(snapshot, "outer")->total_ns, 40);
    assert_int_equal(script_find(snapshot, "outer")->self_ns, 10);
    script_free(p.s);
}

static void a_killed_step_is_in_the_books_only(void **state)
{
    (void)state;
    struct play p = play_new();
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 5; i++)
        play_batch(&p, p.adam);
    script_span(p.s, p.data, 0, 10);
    script_begin(p.s, p.forward, TRAIN);
    script_pass(p.s, 9);
    script_end(p.s, SS_FLAG_UNFINISHED, 0);
    const struct snapshot *snapshot = script_finish(p.s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(loop->steps, 5);
    assert_int_equal(loop->flagged_steps, 1); /* the fifth has no next start */
    assert_int_equal(loop->steady_steps, 4);
    assert_int_equal(snapshot->threads[0].segment_ns[SEGMENT_TEARDOWN_NS], 19);
    script_free(p.s);
}

static void waits_on_other_threads_move_from_compute_to_data(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned call = script_name(p.s, "train_function", SS_STAGE_COMPUTE, SS_ROLE_TRAIN_CALL,
                                SS_SCOPE_NONE, "model");
    unsigned wait = play_name(p.s, "GetNext", SS_STAGE_DATA);
    for (int i = 0; i < 5; i++) {
        script_begin(p.s, call, TRAIN);
        script_pass(p.s, 10);
        script_lane(p.s, 2);
        script_span(p.s, wait, SS_FLAG_OVERLAY, 30);
        script_lane(p.s, 1);
        script_pass(p.s, 60);
        script_end(p.s, 0, 1);
        script_pass(p.s, 2);
    }
    script_span(p.s, call, FAILED, 1);
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 5);
    assert_int_equal(total(loop, SS_STAGE_DATA), 150);
    assert_int_equal(total(loop, SS_STAGE_COMPUTE), 350);
    assert_int_equal(total(loop, SS_STAGE_OTHER), 10);
    script_free(p.s);
}

static void compilation_up_to_the_first_update_is_a_segment(void **state)
{
    (void)state;
    struct play p = play_new();
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 6; i++) {
        script_span(p.s, p.data, 0, 10);
        script_begin(p.s, p.forward, TRAIN);
        if (i == 0 || i == 3)
            script_span(p.s, p.compile, 0, 500);
        script_pass(p.s, 20);
        script_end(p.s, 0, 0);
        script_span(p.s, p.backward, 0, 30);
        script_span(p.s, p.adam, 0, 5);
    }
    play_end_of_iterator(&p);
    const struct snapshot *snapshot = script_finish(p.s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(snapshot->threads[0].segment_ns[SEGMENT_COMPILE_NS], 500);
    assert_int_equal(total(loop, SS_STAGE_COMPILE), 500);
    assert_int_equal(total(loop, SS_STAGE_FORWARD), 6 * 20);
    assert_int_equal(loop->steady_ns, 6 * 65 + 500);
    script_free(p.s);
}

static void a_user_span_around_the_loop_changes_nothing(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned outer = play_name(p.s, "training", SS_STAGE_USER);
    script_begin(p.s, outer, 0);
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 5; i++)
        play_batch(&p, p.adam);
    play_end_of_iterator(&p);
    script_pass(p.s, 6);
    script_end(p.s, 0, 0);
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(play_only_loop(snapshot)->steps, 5);
    assert_int_equal(script_find(snapshot, "training")->self_ns, 6);
    script_free(p.s);
}

static void cells_of_a_notebook_are_loops_of_their_own(void **state)
{
    (void)state;
    struct play p = play_new();
    for (int cell = 0; cell < 3; cell++) {
        for (int i = 0; i < 20; i++)
            play_batch(&p, p.adam);
        script_pass(p.s, 2);
        script_point(p.s, SS_KIND_LOOP_END, 0); /* unannounced */
        script_pass(p.s, 5000);
        script_point(p.s, SS_KIND_LOOP_END, 0); /* of a cell without training */
        script_pass(p.s, 1000);
    }
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(snapshot->loop_count, 3);
    assert_int_equal(snapshot->loops[2].steps, 20);
    assert_int_equal(play_segment(snapshot, SEGMENT_IDLE_NS), 2 * 6000);
    script_free(p.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keras_fit_with_callbacks_and_validation),
        cmocka_unit_test(a_callback_that_predicts_keeps_its_time),
        cmocka_unit_test(several_steps_a_call_are_one_window),
        cmocka_unit_test(the_order_of_zero_grad_does_not_matter),
        cmocka_unit_test(micro_batches_make_one_step),
        cmocka_unit_test(a_gan_iteration_is_one_step),
        cmocka_unit_test(a_closure_takes_its_time_from_the_optimizer),
        cmocka_unit_test(a_teacher_is_forward),
        cmocka_unit_test(evaluation_without_gradients_is_cut_out),
        cmocka_unit_test(evaluation_is_known_by_its_iterator),
        cmocka_unit_test(evaluation_without_a_loader_is_cut_out),
        cmocka_unit_test(evaluation_after_each_update_is_cut_out),
        cmocka_unit_test(what_the_first_update_uses_is_forward),
        cmocka_unit_test(a_loop_over_data_alone_is_no_evaluation),
        cmocka_unit_test(what_runs_while_a_batch_is_made_is_data),
        cmocka_unit_test(gradients_make_steps_where_nothing_else_does),
        cmocka_unit_test(an_optimizer_wins_over_gradients),
        cmocka_unit_test(loops_of_other_ways_to_train_lose_no_steps),
        cmocka_unit_test(a_function_called_twice_a_cycle_is_no_update),
        cmocka_unit_test(fits_of_one_model_are_parts_of_one_loop),
        cmocka_unit_test(a_wait_after_the_epoch_is_time_of_its_steps),
        cmocka_unit_test(the_last_step_does_not_last_to_the_exit),
        cmocka_unit_test(saving_in_the_body_is_cut_out),
        cmocka_unit_test(an_iterator_each_step_is_a_stage),
        cmocka_unit_test(jitted_calls_make_windows_from_sync_to_sync),
        cmocka_unit_test(rare_jitted_functions_are_evaluation),
        cmocka_unit_test(a_loader_thread_is_shown_and_never_added),
        cmocka_unit_test(two_models_one_after_the_other_are_two_loops),
        cmocka_unit_test(without_training_there_are_books_and_spans),
        cmocka_unit_test(a_killed_step_is_in_the_books_only),
        cmocka_unit_test(waits_on_other_threads_move_from_compute_to_data),
        cmocka_unit_test(compilation_up_to_the_first_update_is_a_segment),
        cmocka_unit_test(a_user_span_around_the_loop_changes_nothing),
        cmocka_unit_test(cells_of_a_notebook_are_loops_of_their_own),
    };
    return cmocka_run_group_tests_name("the cases of the step model", tests, NULL, NULL);
}
