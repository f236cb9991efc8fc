/* diagnose/framework: what trains is distinguished from what gives the batches, however long that
 * takes (step model 5.5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "diagnose/framework.h"
#include "load/hook_list.h"
#include "support/play.h"

enum { STEPS = 30 };

static unsigned loader(struct script *s)
{
    return script_name(s, "DataLoader", SS_STAGE_DATA, SS_ROLE_NONE, SS_SCOPE_NONE, "");
}

static void check_hooked(struct play *p, unsigned hooked, enum framework expected,
                         enum framework batches)
{
    const struct snapshot *snapshot = script_finish(p->s);
    const struct snap_loop *loop = snapshot->loop_count ? snapshot->loops : NULL;
    assert_int_equal(framework_find(snapshot, loop, hooked), expected);
    assert_int_equal(framework_of_batches(snapshot, expected), batches);
    script_free(p->s);
}

static void check_both(struct play *p, enum framework expected, enum framework batches)
{
    check_hooked(p, 0, expected, batches);
}

static void check(struct play *p, enum framework expected)
{
    check_both(p, expected, expected);
}

/* A batch that takes nine tenths of the step, then what makes the step. */
static void steps_of(struct play *p, unsigned batches, unsigned makes)
{
    for (int i = 0; i < STEPS; i++) {
        script_span(p->s, batches, 0, 90);
        script_span(p->s, makes, TRAIN, 10);
    }
}

static void keras_on_torch_fed_by_a_loader_is_keras(void **state)
{
    (void)state;
    struct play p = play_new();
    const unsigned train =
        script_name(p.s, "train_function", SS_STAGE_COMPUTE, SS_ROLE_TRAIN_CALL, SS_SCOPE_NONE, "");
    script_point(p.s, SS_KIND_LOOP_BEGIN, p.fit);
    for (int i = 0; i < STEPS; i++) {
        script_span(p.s, loader(p.s), 0, 90);
        script_begin(p.s, train, TRAIN);
        play_update(&p, script_name(p.s, "apply", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, 0, "Adam"));
        script_end(p.s, 0, 0);
    }
    script_point(p.s, SS_KIND_LOOP_END, 0);
    check_both(&p, FRAMEWORK_KERAS, FRAMEWORK_TORCH);
}

static void jax_fed_by_a_loader_or_by_tf_data_is_jax(void **state)
{
    (void)state;
    struct play p = play_new();
    steps_of(&p, loader(p.s), play_jitted(p.s, "train_step"));
    check_both(&p, FRAMEWORK_JAX, FRAMEWORK_TORCH);
    p = play_new();
    steps_of(&p, play_name(p.s, "GetNext", SS_STAGE_DATA), play_jitted(p.s, "train_step"));
    check(&p, FRAMEWORK_JAX);
    p = play_new();
    steps_of(&p, loader(p.s),
             script_name(p.s, "apply_updates", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, SS_SCOPE_NONE,
                         "optax"));
    check_both(&p, FRAMEWORK_JAX, FRAMEWORK_TORCH);
}

static void torch_fed_by_tf_data_is_torch(void **state)
{
    (void)state;
    struct play p = play_new();
    script_span(p.s, p.zero, 0, 1);
    steps_of(&p, play_name(p.s, "GetNext", SS_STAGE_DATA), p.adam);
    check(&p, FRAMEWORK_TORCH);
}

/* Its loss may come out of a function of JAX, or of a model of Keras that only predicts. */
static void what_is_called_in_the_steps_of_another_one_makes_none(void **state)
{
    (void)state;
    struct play p = play_new();
    for (int i = 0; i < STEPS; i++) {
        script_span(p.s, play_jitted(p.s, "features"), 0, 900);
        script_span(p.s, p.zero, 0, 1);
        play_batch(&p, p.adam);
    }
    check(&p, FRAMEWORK_TORCH);
}

static void trainers_on_torch_are_known_by_their_loops(void **state)
{
    (void)state;
    static const struct {
        const char *loop;
        enum framework framework;
    } trainers[] = {{"fit", FRAMEWORK_LIGHTNING}, {"train", FRAMEWORK_TRANSFORMERS}};
    for (size_t i = 0; i < 2; i++) {
        struct play p = play_new();
        script_point(p.s, SS_KIND_LOOP_BEGIN,
                     script_name(p.s, trainers[i].loop, SS_STAGE_USER, SS_ROLE_LOOP, 0, ""));
        script_span(p.s, loader(p.s), 0, 1);
        for (int k = 0; k < STEPS; k++)
            play_batch(&p, p.adam);
        script_point(p.s, SS_KIND_LOOP_END, 0);
        check(&p, trainers[i].framework);
    }
}

/* Steps by marks: what is in them tells, before what was elsewhere. */
static void loops_by_hand_are_known_by_what_is_in_them(void **state)
{
    (void)state;
    struct play p = play_new();
    script_span(p.s, loader(p.s), 0, 90000);
    for (int i = 0; i < STEPS; i++) {
        script_point(p.s, SS_KIND_STEP, 0);
        script_span(p.s, play_jitted(p.s, "train_step"), 0, 10);
    }
    check(&p, FRAMEWORK_JAX);
    p = play_new();
    script_span(p.s, p.compute, 0, 10);
    check(&p, FRAMEWORK_OTHER);
    p = play_new();
    script_span(p.s, loader(p.s), 0, 10);
    check(&p, FRAMEWORK_TORCH);
}

/* In C, say: it may call its parts as frameworks call theirs. */
static void a_program_that_records_itself_uses_none(void **state)
{
    (void)state;
    struct play p = play_new();
    script_point(p.s, SS_KIND_LOOP_BEGIN, p.fit);
    for (int i = 0; i < STEPS; i++)
        play_batch(&p, p.adam);
    script_point(p.s, SS_KIND_LOOP_END, 0);
    check(&p, FRAMEWORK_OTHER);
}

/* Weights that are updated by hand, batches that are slices: only forward and backward are seen. */
static void gradients_alone_are_of_the_framework_that_is_hooked(void **state)
{
    (void)state;
    static const struct {
        unsigned hooked;
        enum framework framework;
    } cases[] = {{HOOKED_TORCH, FRAMEWORK_TORCH}, {HOOKED_JAX, FRAMEWORK_OTHER}};
    for (size_t i = 0; i < 2; i++) {
        struct play p = play_new();
        for (int k = 0; k < STEPS; k++) {
            script_span(p.s, p.forward, TRAIN, 20);
            script_span(p.s, p.backward, TRAIN, 30);
        }
        check_hooked(&p, cases[i].hooked, cases[i].framework, cases[i].framework);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keras_on_torch_fed_by_a_loader_is_keras),
        cmocka_unit_test(jax_fed_by_a_loader_or_by_tf_data_is_jax),
        cmocka_unit_test(torch_fed_by_tf_data_is_torch),
        cmocka_unit_test(what_is_called_in_the_steps_of_another_one_makes_none),
        cmocka_unit_test(trainers_on_torch_are_known_by_their_loops),
        cmocka_unit_test(loops_by_hand_are_known_by_what_is_in_them),
        cmocka_unit_test(a_program_that_records_itself_uses_none),
        cmocka_unit_test(gradients_alone_are_of_the_framework_that_is_hooked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
