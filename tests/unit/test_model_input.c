/* What a loop gets to train on: samples of its batches, and waits for what workers make. Times are
 * in ns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/own_counters.h"
#include "support/play.h"

struct names {
    unsigned samples, data, eval, forward, backward, adam, sgd, fetch;
};

static struct names names_of(struct script *s)
{
    return (struct names){
        .samples = play_name(s, OWN_COUNTER_SAMPLES, SS_STAGE_DATA),
        .data = play_name(s, "next", SS_STAGE_DATA),
        .eval = play_name(s, "evaluate", SS_STAGE_EVAL),
        .forward = play_name(s, "forward", SS_STAGE_FORWARD),
        .backward = play_name(s, "backward", SS_STAGE_BACKWARD),
        .adam = script_name(s, "step", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, 0, "Adam"),
        .sgd = script_name(s, "step", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, 0, "SGD"),
        .fetch = play_name(s, "fetch", SS_STAGE_PRODUCE)};
}

/* A wait for a batch; `samples` 0: its size is unknown. */
static void wait_for(struct script *s, const struct names *n, double samples)
{
    script_begin(s, n->data, 0);
    script_pass(s, 10);
    if (samples > 0)
        script_counter(s, n->samples, samples);
    script_end(s, 0, 0);
}

static void train(struct script *s, const struct names *n, unsigned update)
{
    script_span(s, n->forward, SS_FLAG_TRAIN, 20);
    script_span(s, n->backward, 0, 30);
    script_span(s, update, 0, 5);
}

static void a_size_counts_until_another_is_told(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    for (int i = 0; i < 40; i++) {
        wait_for(s, &n, i % 10 == 0 ? 16 : i % 10 == 9 ? 8 : 0);
        train(s, &n, n.adam);
    }
    const struct snap_loop *loop = &script_finish(s)->loops[0];
    assert_int_equal(loop->steps, 40);
    assert_int_equal(loop->samples, 36 * 16 + 4 * 8);
    assert_int_equal(loop->usual_samples, 16);
    script_free(s);
}

static void batches_of_one_step_are_added_up(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    for (int i = 0; i < 40; i++) {
        wait_for(s, &n, i == 0 ? 16 : 0);
        script_span(s, n.forward, SS_FLAG_TRAIN, 20);
        script_span(s, n.backward, 0, 30);
        if (i % 4 == 3)
            script_span(s, n.adam, 0, 5);
    }
    const struct snap_loop *loop = &script_finish(s)->loops[0];
    assert_int_equal(loop->steps, 10);
    assert_int_equal(loop->samples, 37 * 16); /* the first step begins with its last batch */
    script_free(s);
}

/* Inside an evaluation another size is recorded; a batch with gradients off is no training either.
 */
static void evaluation_has_samples_of_its_own(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    for (int i = 0; i < 30; i++) {
        wait_for(s, &n, i % 15 == 0 ? 16 : 0);
        train(s, &n, n.adam);
        if (i == 4) {
            script_begin(s, n.eval, 0);
            wait_for(s, &n, 100);
            script_end(s, 0, 0);
        }
        if (i == 14) {
            wait_for(s, &n, 200);
            script_span(s, n.forward, SS_FLAG_EVAL, 20);
        }
    }
    const struct snap_loop *loop = &script_finish(s)->loops[0];
    assert_int_equal(loop->steps, 30);
    assert_int_equal(loop->samples, 30 * 16);
    script_free(s);
}

static void marks_say_it_themselves(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    for (int i = 0; i < 20; i++) {
        script_point(s, SS_KIND_STEP, i < 10 ? 5 : 0);
        wait_for(s, &n, 7);
        train(s, &n, n.adam);
    }
    script_point(s, SS_KIND_LOOP_END, 0);
    assert_int_equal(script_finish(s)->loops[0].samples, 10 * 5 + 10 * 7);
    script_free(s);
}

/* Two models one after the other: the second loop is only known after 16 of its updates. */
static void each_loop_has_its_size(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    for (int i = 0; i < 60; i++) {
        wait_for(s, &n, i == 0 ? 16 : i == 40 ? 128 : 0);
        train(s, &n, i < 40 ? n.adam : n.sgd);
    }
    const struct snapshot *snapshot = script_finish(s);
    assert_int_equal(snapshot->loop_count, 2);
    assert_int_equal(snapshot->loops[0].samples, 40 * 16);
    assert_int_equal(snapshot->loops[1].samples, 20 * 128);
    script_free(s);
}

static void nonsense_is_not_known(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    for (int i = 0; i < 20; i++) {
        wait_for(s, &n, i == 0 ? 1e30 : 0);
        train(s, &n, n.adam);
    }
    assert_int_equal(script_finish(s)->loops[0].samples, 0);
    script_free(s);
}

enum { MAIN = 1, FIRST_WORKER = 2 };

static void lane(struct script *s, int worker)
{
    script_lane(s, worker < 0 ? MAIN : FIRST_WORKER + (uint32_t)worker);
}

static void make_begins(struct script *s, const struct names *n, int worker)
{
    lane(s, worker);
    script_begin(s, n->fetch, SS_FLAG_PRODUCER);
}

static void make_ends(struct script *s, int worker, int64_t number)
{
    lane(s, worker);
    script_end(s, SS_FLAG_PRODUCER, number);
    lane(s, -1);
}

/* Batches 1, 3, ... by worker 0 take 100, those between by worker 1 take 20, and both are begun at
 * once; to hand a batch over takes 7. */
static void train_by_twos(struct script *s, const struct names *n, int pairs)
{
    for (int i = 0; i < pairs; i++) {
        make_begins(s, n, 0);
        make_begins(s, n, 1);
        lane(s, -1);
        script_begin(s, n->data, 0);
        script_pass(s, 20);
        make_ends(s, 1, 2 * i + 2);
        script_pass(s, 80);
        make_ends(s, 0, 2 * i + 1);
        script_pass(s, 7);
        script_end(s, 0, 2 * i + 1);
        train(s, n, n->adam);
        script_begin(s, n->data, 0);
        script_pass(s, 7);
        script_end(s, 0, 2 * i + 2);
        train(s, n, n->adam);
    }
}

static void check_by_twos(const struct snap_input *input, int64_t pairs)
{
    assert_int_equal(input->batches, 2 * pairs);
    assert_int_equal(input->workers, 2);
    assert_int_equal(input->wait_ns, pairs * (107 + 7));
    assert_int_equal(input->making_ns, pairs * 100);
    assert_int_equal(input->turn_ns, pairs * 80);
    assert_int_equal((int)input->slowest_ns, 100);
    assert_int_equal((int)input->usual_ns, 20);
}

static void waits_are_split_by_what_workers_did(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    train_by_twos(s, &n, 40);
    check_by_twos(&script_finish(s)->input, 40);
    script_free(s);
}

/* The numbers start over: what was made in the epoch before is no batch of this one. */
static void an_epoch_has_its_own_numbers(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    train_by_twos(s, &n, 20);
    train_by_twos(s, &n, 20);
    check_by_twos(&script_finish(s)->input, 40);
    script_free(s);
}

static void only_the_last_batches_are_kept(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    train_by_twos(s, &n, 400);
    const struct snap_input *input = &script_finish(s)->input;
    check_by_twos(input, input->batches / 2);
    assert_in_range(input->batches, 100, 256);
    script_free(s);
}

static void without_numbers_nothing_is_said(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names n = names_of(s);
    for (int i = 0; i < 40; i++) {
        wait_for(s, &n, 0);
        train(s, &n, n.adam);
    }
    assert_int_equal(script_finish(s)->input.batches, 0);
    script_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_counts_until_another_is_told),
        cmocka_unit_test(batches_of_one_step_are_added_up),
        cmocka_unit_test(evaluation_has_samples_of_its_own),
        cmocka_unit_test(marks_say_it_themselves),
        cmocka_unit_test(each_loop_has_its_size),
        cmocka_unit_test(nonsense_is_not_known),
        cmocka_unit_test(waits_are_split_by_what_workers_did),
        cmocka_unit_test(an_epoch_has_its_own_numbers),
        cmocka_unit_test(only_the_last_batches_are_kept),
        cmocka_unit_test(without_numbers_nothing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
