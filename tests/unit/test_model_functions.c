/* Functions that train, called by a script itself: which calls are steps, and of which loop
 * (step model 3 and 5). Times are in ns and small, so that sums can be checked by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/play.h"

static unsigned train_function(struct script *s, const char *object)
{
    return script_name(s, "call", SS_STAGE_COMPUTE, SS_ROLE_TRAIN_CALL, SS_SCOPE_NONE, object);
}

static void a_gan_of_compiled_functions_is_one_step_an_iteration(void **state)
{
    (void)state;
    struct play p = play_new();
    unsigned first = train_function(p.s, "train_discriminator");
    unsigned second = train_function(p.s, "train_generator");
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 30; i++) {
        script_span(p.s, p.data, 0, 10);
        script_span(p.s, first, TRAIN, 40);
        script_span(p.s, second, TRAIN, 20);
    }
    play_end_of_iterator(&p);
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 30);
    assert_int_equal(loop->updates, 60);
    assert_int_equal(loop->window_steps, 1);
    assert_int_equal(loop->steady_ns, 30 * 70);
    assert_int_equal(loop->warmup_steps, 0);
    assert_int_equal(loop->stage[SS_STAGE_COMPUTE].total_ns, 30 * 60);
    script_free(p.s);
}

static void call_each(const struct play *p, const char *calls)
{
    const unsigned functions[] = {train_function(p->s, "A"), train_function(p->s, "B"),
                                  train_function(p->s, "C")};
    for (; *calls; calls++) {
        script_span(p->s, p->data, 0, 10);
        script_span(p->s, functions[*calls - 'A'], TRAIN, 40);
    }
}

/* "AAB" calls function A twice, then B, each with a batch: so often, and then `rest`. */
static void check_calls(const char *calls, int times, const char *rest, int64_t steps)
{
    struct play p = play_new();
    const int64_t count = (int64_t)strlen(calls) * times + (int64_t)strlen(rest);
    print_message("%s, %d times, %s\n", calls, times, rest);
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < times; i++)
        call_each(&p, calls);
    call_each(&p, rest);
    play_end_of_iterator(&p);
    const struct snapshot *snapshot = script_finish(p.s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(loop->steps, steps);
    assert_int_equal(loop->updates, count);
    assert_int_equal(play_segment(snapshot, SEGMENT_WARMUP_NS) +
                         play_segment(snapshot, SEGMENT_STEADY_NS),
                     count * 50);
    script_free(p.s);
}

static void a_function_for_each_tenth_step_takes_none_of_the_others(void **state)
{
    (void)state;
    check_calls("AAAAAAAAAB", 6, "", 60);
    check_calls("AAAAAAAAAB", 6, "AAAA", 64);
    check_calls("BAAAAAAAAA", 6, "", 60);
    check_calls("ABBBBBBBBB", 6, "", 60);
}

static void functions_strictly_by_turns_are_one_step_an_iteration(void **state)
{
    (void)state;
    for (int iterations = 2; iterations < 60; iterations++)
        check_calls("AB", iterations, "A", iterations + 1);
    check_calls("ABC", 20, "", 20);
}

/* Whenever in the first calls that is seen, also at the end. */
static void a_call_out_of_turn_makes_those_before_it_steps(void **state)
{
    (void)state;
    check_calls("ABABAA", 1, "", 6);
    check_calls("ABABABBA", 1, "", 8);
    check_calls("ABCABCCA", 1, "", 8);
    check_calls("ABACAA", 1, "", 6);
    check_calls("AB", 7, "AA", 16);
    check_calls("AAB", 20, "", 60); /* n_critic = 2 */
    check_calls("ABB", 20, "", 60);
}

/* What was decided stays so: data that ends between the two is no other way to train. */
static void a_call_out_of_turn_after_many_by_turns_changes_nothing(void **state)
{
    (void)state;
    check_calls("AB", 20, "AABAB", 20 + 3);
    check_calls("AB", 20, "AABABABABABABABABABABABABABABABABABABABAB", 20 + 21);
    check_calls("AB", 20, "BBBABAB", 20 + 2);
    check_calls("AB", 20, "CCABABABAB", 20 + 4);
}

static void one_function_alone_after_many_by_turns_counts_again(void **state)
{
    (void)state;
    check_calls("AB", 20, "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBB", 20 + 27);
    check_calls("AB", 20, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 20 + 30);
}

/* A loop that begins with functions by turns, and one that begins with some out of turn, after
 * another loop. */
static void calls_of_a_second_loop_are_counted_in_the_same_way(void **state)
{
    (void)state;
    const char *second[] = {"BCBCBCBCBCBCBCBCBCBCB", "BCCCCBCCCCBCCCCBCCCCB"};
    for (int at = 0; at < 2; at++) {
        struct play p = play_new();
        for (int i = 0; i < 40; i++)
            call_each(&p, "A");
        call_each(&p, second[at]);
        const struct snapshot *snapshot = script_finish(p.s);
        assert_int_equal(snapshot->loop_count, 2);
        assert_int_equal(snapshot->loops[0].steps, 40);
        assert_int_equal(snapshot->loops[1].steps, at == 0 ? 11 : 21);
        script_free(p.s);
    }
}

/* Epochs know their own steps, however short they are. */
static void what_is_by_turns_to_the_end_of_an_epoch_is_so(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned functions[] = {train_function(p.s, "A"), train_function(p.s, "B")};
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        script_point(p.s, SS_KIND_EPOCH_BEGIN, epoch);
        for (int i = 0; i < 6; i++) {
            script_span(p.s, p.data, 0, 10);
            script_span(p.s, functions[i % 2], TRAIN, 40);
        }
        script_span(p.s, p.evaluate, 0, 30);
        script_point(p.s, SS_KIND_EPOCH_END, 0);
    }
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 9);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(loop->epochs[i].steps, 3);
        assert_int_equal(loop->epochs[i].step_ns, 300);
        assert_int_equal(loop->epochs[i].eval_ns, 30);
    }
    script_free(p.s);
}

/* Data that ends between the two is no other way to train, in short epochs too. */
static void epochs_that_end_in_the_middle_of_an_iteration_are_alike(void **state)
{
    (void)state;
    struct play p = play_new();
    for (uint64_t epoch = 0; epoch < 4; epoch++) {
        script_point(p.s, SS_KIND_EPOCH_BEGIN, epoch);
        call_each(&p, "ABA");
        script_point(p.s, SS_KIND_EPOCH_END, 0);
    }
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(loop->epochs[i].steps, 2);
    script_free(p.s);
}

/* Though the first update after it waits until it is known of which loop it is. */
static void an_evaluation_is_of_one_epoch_only(void **state)
{
    (void)state;
    struct play p = play_new();
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        script_point(p.s, SS_KIND_EPOCH_BEGIN, epoch);
        play_batch(&p, epoch ? p.sgd : p.adam);
        play_batch(&p, p.adam);
        play_end_of_iterator(&p);
        script_span(p.s, p.evaluate, 0, 30);
        script_point(p.s, SS_KIND_EPOCH_END, 0);
    }
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->epochs[0].eval_ns, 30);
    assert_int_equal(loop->epochs[1].eval_ns, 30);
    script_free(p.s);
}

/* A report of a run that goes on has whole books while it is not known what a step is. */
static void a_look_while_turns_are_undecided_changes_nothing(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned functions[] = {train_function(p.s, "A"), train_function(p.s, "B")};
    for (int i = 0; i < 13; i++) {
        script_span(p.s, p.data, 0, 10);
        script_span(p.s, functions[i % 2], TRAIN, 40);
        struct snapshot *live = model_snapshot(script_model(p.s));
        script_check_books(live);
        snapshot_free(live);
    }
    script_span(p.s, functions[0], TRAIN, 40);
    assert_int_equal(play_only_loop(script_finish(p.s))->steps, 14);
    script_free(p.s);
}

/* An update that loses to the train calls does not say by whom those are. */
static void an_eager_update_beside_a_train_call_changes_no_count(void **state)
{
    (void)state;
    for (int before = 0; before < 2; before++) {
        struct play p = play_new();
        unsigned train = train_function(p.s, "train");
        script_span(p.s, p.setup, 0, 3);
        for (int i = 0; i < 60; i++) {
            script_span(p.s, p.data, 0, 10);
            if (i % 2 == 0 && before)
                script_span(p.s, p.adam, 0, 5);
            script_span(p.s, train, TRAIN, 40);
            if (i % 2 == 0 && !before)
                script_span(p.s, p.adam, 0, 5);
        }
        play_end_of_iterator(&p);
        assert_int_equal(play_only_loop(script_finish(p.s))->steps, 60);
        script_free(p.s);
    }
}

static void two_functions_one_after_the_other_are_two_loops(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned functions[] = {train_function(p.s, "pretrain"), train_function(p.s, "train")};
    for (int at = 0; at < 2; at++) {
        script_span(p.s, p.setup, 0, 3);
        for (int i = 0; i < 40 + 10 * at; i++) {
            script_span(p.s, p.data, 0, 10);
            script_span(p.s, functions[at], TRAIN, 40);
        }
        play_end_of_iterator(&p);
    }
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(snapshot->loop_count, 2);
    assert_int_equal(snapshot->loops[0].steps, 50);
    assert_int_equal(snapshot->loops[1].steps, 40);
    script_free(p.s);
}

/* Whatever models its train calls are of. */
static void a_trainer_that_announces_its_loop_says_what_a_step_is(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned functions[] = {train_function(p.s, "first"), train_function(p.s, "second")};
    unsigned fit = script_name(p.s, "fit", SS_STAGE_USER, SS_ROLE_LOOP, SS_SCOPE_NONE, "");
    script_point(p.s, SS_KIND_LOOP_BEGIN, fit);
    for (int i = 0; i < 30; i++)
        script_span(p.s, functions[i % 2], TRAIN, 40);
    script_point(p.s, SS_KIND_LOOP_END, 0);
    assert_int_equal(play_only_loop(script_finish(p.s))->steps, 30);
    script_free(p.s);
}

static void mark_updates(const struct play *p, const char *function)
{
    script_mark_text(p->s, play_name(p->s, MODEL_UPDATES_MARK, SS_STAGE_OTHER), function);
}

/* Gradients of two batches are added up, and applied by a function in which none is taken. */
static void a_gradient_that_is_taken_twice_makes_one_step(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned gradient = play_jitted(p.s, "grad_fn"), apply = play_jitted(p.s, "apply_fn");
    for (int i = 0; i < 100; i++) {
        script_span(p.s, gradient, TRAIN, 30);
        script_span(p.s, gradient, TRAIN, 30);
        script_span(p.s, apply, 0, 10);
        script_span(p.s, p.sync, 0, 2);
        if (i == 1)
            mark_updates(&p, "apply_fn");
    }
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 100);
    assert_int_equal(loop->updates, 100);
    script_free(p.s);
}

/* What was traced before there were hooks is not known to take gradients. */
static void what_gives_new_parameters_trains_not_what_is_called_most(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned loss = play_jitted(p.s, "loss_fn"), update = play_jitted(p.s, "update");
    for (int i = 0; i < 100; i++) {
        script_span(p.s, loss, 0, 30);
        script_span(p.s, update, 0, 30);
        script_span(p.s, loss, 0, 30);
        script_span(p.s, p.sync, 0, 2);
        if (i == 1)
            mark_updates(&p, "update");
    }
    assert_int_equal(play_only_loop(script_finish(p.s))->steps, 100);
    script_free(p.s);
}

/* The state of an environment goes from call to call as well. */
static void gradients_and_new_parameters_together_are_surest(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned act = play_jitted(p.s, "act"), update = play_jitted(p.s, "update");
    mark_updates(&p, "nothing of this name");
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 5; k++)
            script_span(p.s, act, 0, 10);
        script_span(p.s, update, TRAIN, 30);
        script_span(p.s, p.sync, 0, 2);
        if (i == 1) {
            mark_updates(&p, "act");
            mark_updates(&p, "update");
        }
    }
    assert_int_equal(play_only_loop(script_finish(p.s))->steps, 100);
    script_free(p.s);
}

static unsigned collective(struct script *s, const char *name)
{
    return script_name(s, name, SS_STAGE_COMM, SS_ROLE_COLLECTIVE, SS_SCOPE_NONE, name);
}

/* A parallel program without a framework: computes 30, exchanges 10, now and then something else.
 */
static void the_most_frequent_collective_makes_the_steps(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned sum = collective(p.s, "MPI_Allreduce"), wait = collective(p.s, "MPI_Barrier");
    for (int i = 0; i < 100; i++) {
        script_pass(p.s, 30);
        script_span(p.s, sum, 0, 10);
        if (i % 25 == 24)
            script_span(p.s, wait, 0, 2);
    }
    const struct snapshot *snapshot = script_finish(p.s);
    const struct snap_loop *loop = play_only_loop(snapshot);
    assert_int_equal(loop->steps, 100);
    assert_int_equal(loop->source, SOURCE_COLLECTIVES);
    assert_false(loop->is_asynchronous);
    assert_int_equal(loop->stage[SS_STAGE_COMM].total_ns, 99 * 10 + 3 * 2);
    assert_int_equal(play_segment(snapshot, SEGMENT_EVAL_NS), 0);
    script_free(p.s);
}

/* Of two a step, each counts if it is called more often than the other. */
static void collectives_make_no_steps_beside_what_trains(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned sum = collective(p.s, "MPI_Allreduce"), train = play_jitted(p.s, "train_step");
    for (int i = 0; i < 100; i++) {
        script_span(p.s, train, TRAIN, 20);
        for (int k = 0; k < 3; k++)
            script_span(p.s, sum, 0, 5);
    }
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 100);
    assert_int_equal(loop->source, SOURCE_JIT);
    assert_int_equal(loop->stage[SS_STAGE_COMM].total_ns, 99 * 15);
    script_free(p.s);
}

static void optimizers_and_gradients_win_over_collectives(void **state)
{
    (void)state;
    for (int by_hand = 0; by_hand < 2; by_hand++) {
        struct play p = play_new();
        const unsigned sum = collective(p.s, "MPI_Allreduce");
        for (int i = 0; i < 300; i++) {
            script_span(p.s, p.data, 0, 10);
            script_span(p.s, p.forward, TRAIN, 20);
            script_span(p.s, p.backward, TRAIN, 30);
            script_span(p.s, sum, 0, 5);
            script_span(p.s, sum, 0, 5);
            if (!by_hand)
                script_span(p.s, p.adam, TRAIN, 5);
        }
        const struct snap_loop *loop = play_only_loop(script_finish(p.s));
        assert_int_equal(loop->steps, 300);
        assert_int_equal(loop->source, by_hand ? SOURCE_GRADIENTS : SOURCE_UPDATES);
        script_free(p.s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gan_of_compiled_functions_is_one_step_an_iteration),
        cmocka_unit_test(a_function_for_each_tenth_step_takes_none_of_the_others),
        cmocka_unit_test(functions_strictly_by_turns_are_one_step_an_iteration),
        cmocka_unit_test(a_call_out_of_turn_makes_those_before_it_steps),
        cmocka_unit_test(a_call_out_of_turn_after_many_by_turns_changes_nothing),
        cmocka_unit_test(one_function_alone_after_many_by_turns_counts_again),
        cmocka_unit_test(calls_of_a_second_loop_are_counted_in_the_same_way),
        cmocka_unit_test(what_is_by_turns_to_the_end_of_an_epoch_is_so),
        cmocka_unit_test(epochs_that_end_in_the_middle_of_an_iteration_are_alike),
        cmocka_unit_test(an_evaluation_is_of_one_epoch_only),
        cmocka_unit_test(a_look_while_turns_are_undecided_changes_nothing),
        cmocka_unit_test(an_eager_update_beside_a_train_call_changes_no_count),
        cmocka_unit_test(two_functions_one_after_the_other_are_two_loops),
        cmocka_unit_test(a_trainer_that_announces_its_loop_says_what_a_step_is),
        cmocka_unit_test(a_gradient_that_is_taken_twice_makes_one_step),
        cmocka_unit_test(what_gives_new_parameters_trains_not_what_is_called_most),
        cmocka_unit_test(gradients_and_new_parameters_together_are_surest),
        cmocka_unit_test(the_most_frequent_collective_makes_the_steps),
        cmocka_unit_test(collectives_make_no_steps_beside_what_trains),
        cmocka_unit_test(optimizers_and_gradients_win_over_collectives),
    };
    return cmocka_run_group_tests_name("functions that train", tests, NULL, NULL);
}
