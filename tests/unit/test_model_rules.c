/* Rules of docs/step-model.md that the table of cases does not show. Times are in ns. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/script.h"

enum { TRAIN = SS_FLAG_TRAIN };

struct names {
    unsigned data, forward, backward, adam, sgd, setup;
};

static unsigned plain(struct script *s, const char *text, unsigned stage)
{
    return script_name(s, text, stage, SS_ROLE_NONE, SS_SCOPE_NONE, "");
}

static unsigned optimizer(struct script *s, const char *object)
{
    return script_name(s, "step", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, SS_SCOPE_NONE, object);
}

static struct names names_of(struct script *s)
{
    return (struct names){plain(s, "next", SS_STAGE_DATA),
                          plain(s, "forward", SS_STAGE_FORWARD),
                          plain(s, "backward", SS_STAGE_BACKWARD),
                          optimizer(s, "Adam"),
                          optimizer(s, "SGD"),
                          plain(s, "iter", SS_STAGE_SETUP)};
}

/* 10 + 20 + 30 + 5 */
static void batch(struct script *s, const struct names *n, unsigned update)
{
    script_span(s, n->data, 0, 10);
    script_span(s, n->forward, TRAIN, 20);
    script_span(s, n->backward, 0, 30);
    script_span(s, update, 0, 5);
}

static void marks_win_over_updates_and_make_what_was_before_start_up(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    for (int i = 0; i < 3; i++)
        batch(s, &n, n.adam);
    for (int i = 0; i < 6; i++) {
        script_point(s, SS_KIND_STEP, 16);
        batch(s, &n, n.adam);
    }
    const struct snapshot *snapshot = script_finish(s);
    assert_int_equal(snapshot->loop_count, 1);
    assert_int_equal(snapshot->loops[0].steps, 6);
    assert_int_equal(snapshot->loops[0].flagged_steps, 1); /* the last has no end */
    assert_int_equal(snapshot->threads[0].segment_ns[SEGMENT_STARTUP_NS], 3 * 65);
    script_free(s);
}

static void a_mark_between_data_and_forward_splits_the_batch_there(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    for (int i = 0; i < 5; i++) {
        script_span(s, n.data, 0, 10);
        script_point(s, SS_KIND_STEP, 1);
        script_span(s, n.forward, TRAIN, 20);
        script_span(s, n.backward, 0, 30);
        script_span(s, n.adam, 0, 5);
    }
    script_point(s, SS_KIND_LOOP_END, 0);
    const struct snap_loop *loop = &script_finish(s)->loops[0];
    assert_int_equal(loop->steps, 5);
    assert_int_equal(loop->stage[SS_STAGE_DATA].total_ns, 4 * 10);
    assert_int_equal(loop->stage[SS_STAGE_FORWARD].total_ns, 5 * 20);
    script_free(s);
}

static void set_up_before_a_mark_is_not_part_of_the_step(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    unsigned fit = script_name(s, "fit", SS_STAGE_USER, SS_ROLE_LOOP, 0, "");
    script_span(s, n.setup, 0, 500); /* start-up */
    script_point(s, SS_KIND_LOOP_BEGIN, fit);
    for (int i = 0; i < 5; i++) {
        script_point(s, SS_KIND_STEP, 1);
        batch(s, &n, n.adam);
        script_span(s, n.setup, 0, 7); /* a stage of the step that it ends */
    }
    script_point(s, SS_KIND_LOOP_END, 0);
    const struct snapshot *snapshot = script_finish(s);
    const struct snap_loop *loop = &snapshot->loops[0];
    assert_int_equal(loop->steps, 5);
    assert_int_equal(loop->negative_ns, 0);
    assert_int_equal(loop->stage[SS_STAGE_SETUP].total_ns, 5 * 7);
    assert_int_equal(snapshot->threads[0].segment_ns[SEGMENT_STARTUP_NS], 500);
    script_free(s);
}

static void perturbed_steps_are_in_the_books_only(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    script_span(s, n.setup, 0, 1);
    for (int i = 0; i < 10; i++) {
        batch(s, &n, n.adam);
        if (i == 4)
            script_span(s, n.forward, SS_FLAG_PERTURBED | SS_FLAG_FAILED, 1000);
    }
    script_span(s, n.data, SS_FLAG_FAILED, 1);
    const struct snapshot *snapshot = script_finish(s);
    assert_int_equal(snapshot->loops[0].steps, 10);
    assert_int_equal(snapshot->loops[0].flagged_steps, 1);
    assert_int_equal(snapshot->loops[0].steady_ns, 9 * 65);
    assert_int_equal(snapshot->threads[0].segment_ns[SEGMENT_STEADY_NS], 10 * 65 + 1000);
    script_free(s);
}

/* A generator that is updated every third iteration only, from the third on. */
static void an_optimizer_that_comes_late_belongs_to_the_loop(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    script_span(s, n.setup, 0, 1);
    for (int i = 0; i < 30; i++) {
        batch(s, &n, n.adam);
        if (i % 3 == 2) {
            script_span(s, n.forward, TRAIN, 7);
            script_span(s, n.backward, 0, 8);
            script_span(s, n.sgd, 0, 2);
        }
    }
    script_span(s, n.data, SS_FLAG_FAILED, 1);
    const struct snapshot *snapshot = script_finish(s);
    assert_int_equal(snapshot->loop_count, 1);
    assert_int_equal(snapshot->loops[0].steps, 30);
    assert_int_equal(snapshot->loops[0].steady_ns + snapshot->loops[0].warmup_ns,
                     30 * 65 + 10 * 17);
    script_free(s);
}

static void epochs_count_their_steps_and_evaluation(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    unsigned evaluate = plain(s, "evaluate", SS_STAGE_EVAL);
    unsigned loop_name = script_name(s, "fit", SS_STAGE_USER, SS_ROLE_LOOP, 0, "");
    script_point(s, SS_KIND_LOOP_BEGIN, loop_name);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        script_point(s, SS_KIND_EPOCH_BEGIN, epoch);
        for (int i = 0; i < 4; i++)
            batch(s, &n, n.adam);
        script_span(s, evaluate, 0, 50);
        script_point(s, SS_KIND_EPOCH_END, 0);
        script_pass(s, 11);
    }
    script_point(s, SS_KIND_LOOP_END, 0);
    const struct snap_loop *loop = &script_finish(s)->loops[0];
    assert_string_equal(loop->name, "fit");
    assert_int_equal(loop->epoch_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(loop->epochs[i].number, i);
        assert_int_equal(loop->epochs[i].steps, 4);
        assert_int_equal(loop->epochs[i].step_ns, 4 * 65);
        assert_int_equal(loop->epochs[i].eval_ns, 50);
    }
    assert_int_equal(loop->segment_ns[SEGMENT_EVAL_NS], 150);
    assert_int_equal(loop->segment_ns[SEGMENT_BETWEEN_NS], 33);
    script_free(s);
}

static void threads_that_each_train_have_books_of_their_own(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    for (int i = 0; i < 8; i++) {
        script_lane(s, 1);
        script_begin(s, n.forward, TRAIN);
        script_lane(s, 2);
        script_begin(s, n.forward, TRAIN);
        script_pass(s, 40);
        script_end(s, 0, 0);
        script_span(s, n.sgd, 0, 3);
        script_lane(s, 1);
        script_end(s, 0, 0);
        script_span(s, n.adam, 0, 2);
    }
    const struct snapshot *snapshot = script_finish(s);
    assert_int_equal(snapshot->loop_count, 2);
    assert_int_equal(snapshot->thread_count, 2);
    assert_int_equal(snapshot->loops[0].steps, 8);
    assert_int_equal(snapshot->loops[1].steps, 8);
    script_free(s);
}

static void of_replicas_the_lowest_rank_is_the_headline(void **state)
{
    (void)state;
    struct script *s = script_new();
    script_process(s, 1, 1);
    script_process(s, 2, 0);
    struct names n = names_of(s);
    for (uint32_t process = 1; process <= 2; process++) {
        script_process(s, process, 0);
        script_lane(s, process * 2 + 1);
        for (int i = 0; i < 200; i++)
            batch(s, &n, n.adam);
        script_span(s, n.data, SS_FLAG_FAILED, 1);
    }
    const struct snapshot *snapshot = script_finish(s);
    assert_int_equal(snapshot->loop_count, 2);
    assert_int_equal(snapshot->loops[0].rank, 0);
    assert_int_equal(snapshot->loops[1].rank, 1);
    script_free(s);
}

static void of_thousands_of_loops_the_longest_stay(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    unsigned fit = script_name(s, "fit", SS_STAGE_USER, SS_ROLE_LOOP, 0, "");
    for (int i = 0; i < 300; i++) {
        script_point(s, SS_KIND_LOOP_BEGIN, fit);
        for (int k = 0; k < (i == 150 ? 20 : 3); k++)
            batch(s, &n, n.adam);
        script_point(s, SS_KIND_LOOP_END, 0);
    }
    const struct snapshot *snapshot = script_finish(s);
    assert_int_equal(snapshot->loop_count + snapshot->forgotten_loops, 300);
    assert_true(snapshot->loop_count <= 65);
    assert_int_equal(snapshot->loops[0].steps, 20);
    script_free(s);
}

/* A span appended over others: what is too much is shown, and the books still close. */
static void stages_that_are_more_than_their_step_are_an_error_of_ours(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    script_span(s, n.setup, 0, 1);
    for (int i = 0; i < 5; i++) {
        script_begin(s, n.forward, TRAIN);
        script_pass(s, 20);
        script_end(s, 0, 0);
        script_begin(s, n.backward, 0); /* a twin of the same 30 ns, as an append would make it */
        script_pass(s, 30);
        script_end(s, 0, 0);
        script_pass(s, -30);
        script_span(s, n.backward, SS_FLAG_APPENDED, 30);
        script_span(s, n.adam, 0, 5);
    }
    script_span(s, n.data, SS_FLAG_FAILED, 1);
    const struct snap_loop *loop = &script_finish(s)->loops[0];
    assert_int_equal(loop->steps, 5);
    assert_int_equal(loop->negative_ns, 5 * 30);
    script_free(s);
}

static void time_to_finish_comes_from_the_plan(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    unsigned fit = script_name(s, "fit", SS_STAGE_USER, SS_ROLE_LOOP, 0, "");
    script_plan(s, 300, 0, 0, 32);
    script_point(s, SS_KIND_LOOP_BEGIN, fit);
    for (int i = 0; i < 100; i++)
        batch(s, &n, n.adam);
    script_point(s, SS_KIND_EPOCH_END, 0);
    const struct snap_loop *loop = &script_finish(s)->loops[0];
    assert_int_equal(loop->plan[0], 300);
    assert_true(fabs(loop->left_ns.mid - 200 * 65) < 1);
    assert_true(fabs(loop->samples_per_s.mid - 32 * 1e9 / 65) < 1e4);
    script_free(s);
}

/* As that of a notebook's cell in which nothing trained. */
static void a_plan_outlives_an_end_without_a_loop(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    script_plan(s, 1000, 0, 0, 32);
    script_point(s, SS_KIND_LOOP_END, 0);
    for (int i = 0; i < 20; i++)
        batch(s, &n, n.adam);
    assert_int_equal(script_finish(s)->loops[0].plan[0], 1000);
    script_free(s);
}

/* As batches that are trained by hand after a fit. */
static void a_plan_ends_with_its_loop(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    unsigned fit = script_name(s, "fit", SS_STAGE_USER, SS_ROLE_LOOP, 0, "");
    script_point(s, SS_KIND_LOOP_BEGIN, fit);
    script_plan(s, 10, 1, 10, 32);
    for (int i = 0; i < 10; i++)
        batch(s, &n, n.adam);
    script_point(s, SS_KIND_LOOP_END, 0);
    for (int i = 0; i < 20; i++)
        batch(s, &n, n.adam);
    const struct snapshot *snapshot = script_finish(s);
    assert_int_equal(snapshot->loop_count, 2);
    const struct snap_loop *by_hand = &snapshot->loops[0]; /* the longer one */
    assert_int_equal(by_hand->steps, 20);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(by_hand->plan[i], 0);
        assert_true(snapshot->loops[1].plan[i] > 0);
    }
    script_free(s);
}

/* A loader that looks one batch ahead ends before the last batch is used: 2 epochs of 4 batches, an
 * update every 2. */
static void an_iterator_that_ends_ahead_of_its_batches_ends_no_step(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    unsigned log = plain(s, "log", SS_STAGE_CALLBACK);
    for (int epoch = 0; epoch < 2; epoch++) {
        script_span(s, n.setup, 0, 9);
        script_span(s, n.data, 0, 10);
        for (int i = 0; i < 4; i++) {
            script_span(s, n.data, i == 3 ? SS_FLAG_FAILED : 0, 10);
            script_span(s, log, 0, 1);
            script_span(s, n.forward, TRAIN, 20);
            script_span(s, n.backward, 0, 30);
            if (i % 2 == 1)
                script_span(s, n.adam, 0, 5);
        }
    }
    const struct snapshot *snapshot = script_finish(s);
    const struct snap_loop *loop = &snapshot->loops[0];
    assert_int_equal(loop->steps, 4);
    assert_int_equal(loop->batches, 8);
    assert_int_equal(loop->updates, 4);
    assert_int_equal(snapshot->threads[0].segment_ns[SEGMENT_BETWEEN_NS], 0);
    script_free(s);
}

static void an_update_after_the_loop_takes_the_batches_that_are_left(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    for (int epoch = 0; epoch < 2; epoch++) {
        script_span(s, n.setup, 0, 9);
        for (int i = 0; i < 3; i++) {
            script_span(s, n.data, 0, 10);
            script_span(s, n.forward, TRAIN, 20);
            script_span(s, n.backward, 0, 30);
            if (i == 1)
                script_span(s, n.adam, 0, 5);
        }
        script_span(s, n.data, SS_FLAG_FAILED, 1);
        script_span(s, n.adam, 0, 5);
    }
    const struct snap_loop *loop = &script_finish(s)->loops[0];
    assert_int_equal(loop->steps, 4);
    assert_int_equal(loop->batches, 6);
    script_free(s);
}

static void an_optimizer_inside_another_makes_no_update_of_its_own(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    for (int i = 0; i < 5; i++) {
        script_span(s, n.data, 0, 10);
        script_span(s, n.forward, TRAIN, 20);
        script_span(s, n.backward, 0, 30);
        script_begin(s, n.sgd, 0);
        script_span(s, n.adam, 0, 5);
        script_end(s, 0, 0);
    }
    const struct snap_loop *loop = &script_finish(s)->loops[0];
    assert_int_equal(loop->steps, 5);
    assert_int_equal(loop->updates, 5);
    script_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_win_over_updates_and_make_what_was_before_start_up),
        cmocka_unit_test(a_mark_between_data_and_forward_splits_the_batch_there),
        cmocka_unit_test(set_up_before_a_mark_is_not_part_of_the_step),
        cmocka_unit_test(perturbed_steps_are_in_the_books_only),
        cmocka_unit_test(an_optimizer_that_comes_late_belongs_to_the_loop),
        cmocka_unit_test(epochs_count_their_steps_and_evaluation),
        cmocka_unit_test(threads_that_each_train_have_books_of_their_own),
        cmocka_unit_test(of_replicas_the_lowest_rank_is_the_headline),
        cmocka_unit_test(of_thousands_of_loops_the_longest_stay),
        cmocka_unit_test(stages_that_are_more_than_their_step_are_an_error_of_ours),
        cmocka_unit_test(time_to_finish_comes_from_the_plan),
        cmocka_unit_test(a_plan_ends_with_its_loop),
        cmocka_unit_test(a_plan_outlives_an_end_without_a_loop),
        cmocka_unit_test(an_iterator_that_ends_ahead_of_its_batches_ends_no_step),
        cmocka_unit_test(an_update_after_the_loop_takes_the_batches_that_are_left),
        cmocka_unit_test(an_optimizer_inside_another_makes_no_update_of_its_own),
    };
    return cmocka_run_group_tests_name("the rules of the step model", tests, NULL, NULL);
}
