/* Functions that train, called by a script itself: which calls are steps, and of which loop (docs/step-model.md 3 and
 * 5). Times are in ns and small, so that sums can be checked by hand. */
#include "support/play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static unsigned train_function(struct script *s, const char *object)
{
    return script_name(s, "call", SS_STAGE_COMPUTE, SS_ROLE_TRAIN_CALL, SS_SCOPE_NONE,
                       object);
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

/* But for the second one, which might have been the first of a GAN's opponent. */
static void a_function_for_each_tenth_step_takes_none_of_the_others(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned functions[] = {train_function(p.s, "train_with_summary"),
                                  train_function(p.s, "train")};
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 60; i++) {
        script_span(p.s, p.data, 0, 10);
        script_span(p.s, functions[i % 10 != 0], TRAIN, 40);
    }
    play_end_of_iterator(&p);
    assert_int_equal(play_only_loop(script_finish(p.s))->steps, 59);
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
    const unsigned functions[] = {train_function(p.s, "pretrain"),
                                  train_function(p.s, "train")};
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
    const unsigned functions[] = {train_function(p.s, "first"),
                                  train_function(p.s, "second")};
    unsigned fit =
        script_name(p.s, "fit", SS_STAGE_USER, SS_ROLE_LOOP, SS_SCOPE_NONE, "");
    script_point(p.s, SS_KIND_LOOP_BEGIN, fit);
    for (int i = 0; i < 30; i++) {
        script_span(p.s, functions[i % 2], TRAIN, 40);
    }
    script_point(p.s, SS_KIND_LOOP_END, 0);
    assert_int_equal(play_only_loop(script_finish(p.s))->steps, 30);
    script_free(p.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gan_of_compiled_functions_is_one_step_an_iteration),
        cmocka_unit_test(a_function_for_each_tenth_step_takes_none_of_the_others),
        cmocka_unit_test(an_eager_update_beside_a_train_call_changes_no_count),
        cmocka_unit_test(two_functions_one_after_the_other_are_two_loops),
        cmocka_unit_test(a_trainer_that_announces_its_loop_says_what_a_step_is),
    };
    return cmocka_run_group_tests_name("functions that train", tests, NULL, NULL);
}
