/* What other threads do inside a loop's own call (step model 1.7). Times are in
 * ns. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/script.h"

enum { STEPS = 5 };

struct call {
    struct script *s;
    unsigned train, wait, compile, fit, gc;
};

static struct call call_new(void)
{
    struct script *s = script_new();
    return (struct call){
        s,
        script_name(s, "train_function", SS_STAGE_COMPUTE, SS_ROLE_TRAIN_CALL, SS_SCOPE_NONE,
                    "model"),
        script_name(s, "GetNext", SS_STAGE_DATA, SS_ROLE_NONE, SS_SCOPE_NONE, ""),
        script_name(s, "XLA compile", SS_STAGE_COMPILE, SS_ROLE_NONE, SS_SCOPE_NONE, ""),
        script_name(s, "fit", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, ""),
        script_name(s, "gc", SS_STAGE_GC, SS_ROLE_NONE, SS_SCOPE_NONE, "")};
}

/* 100 in all, `ns` of it with an overlay; 2 after it. */
static void step(const struct call *c, unsigned overlay, int64_t ns)
{
    script_begin(c->s, c->train, SS_FLAG_TRAIN);
    script_pass(c->s, 100 - ns);
    if (ns > 0) {
        script_lane(c->s, 2);
        script_span(c->s, overlay, SS_FLAG_OVERLAY, ns);
        script_lane(c->s, 1);
    }
    script_end(c->s, 0, 1);
    script_pass(c->s, 2);
}

static const struct snap_loop *loop_of(struct script *s)
{
    const struct snapshot *snapshot = script_finish(s);
    assert_int_equal(snapshot->loop_count, 1);
    return &snapshot->loops[0];
}

static void compilation_is_no_computing(void **state)
{
    (void)state;
    struct call c = call_new();
    script_point(c.s, SS_KIND_LOOP_BEGIN, c.fit);
    for (int i = 0; i < STEPS; i++)
        step(&c, c.compile, i == 0 ? 70 : i == 3 ? 40 : 0);
    script_point(c.s, SS_KIND_LOOP_END, 0);
    const struct snap_loop *loop = loop_of(c.s);
    assert_int_equal(loop->steps, STEPS);
    /* That of the first step is a segment, a later one is a stage of its step. */
    assert_int_equal(loop->segment_ns[SEGMENT_COMPILE_NS], 70);
    assert_int_equal(loop->stage[SS_STAGE_COMPILE].total_ns, 40);
    assert_int_equal(loop->stage[SS_STAGE_COMPUTE].total_ns, STEPS * 100 - 70 - 40);
    script_free(c.s);
}

/* 100, of which 10 at the end are waited for a batch. */
static void get_batch(const struct call *c, unsigned name, unsigned flags, int64_t bytes)
{
    script_begin(c->s, name, flags);
    script_pass(c->s, 90);
    script_lane(c->s, 2);
    script_begin(c->s, c->wait, SS_FLAG_OVERLAY);
    script_pass(c->s, 10);
    script_end(c->s, 0, bytes);
    script_lane(c->s, 3);
    script_span(c->s, c->gc, 0, 0); /* of others, in between */
    script_lane(c->s, 1);
    script_end(c->s, 0, 1);
}

static void assert_bytes(const struct snap_loop *loop, double a_step)
{
    const double steady_s = (double)loop->steady_ns / 1e9;
    const double batches = loop->batches_per_s.mid * steady_s;
    const double bytes = loop->bytes_per_s.mid * steady_s;
    assert_true(fabs(batches - (double)loop->steady_steps) < 1e-6);
    assert_true(fabs(bytes - a_step * (double)loop->steady_steps) < 1e-3);
}

/* What an evaluation or a callback gets is not trained with, and a size may be nonsense. */
static void batches_have_their_size(void **state)
{
    (void)state;
    struct call c = call_new();
    const unsigned eval =
        script_name(c.s, "evaluate", SS_STAGE_EVAL, SS_ROLE_NONE, SS_SCOPE_NONE, "m");
    const unsigned callback =
        script_name(c.s, "log", SS_STAGE_CALLBACK, SS_ROLE_NONE, SS_SCOPE_BATCH_END, "c");
    script_point(c.s, SS_KIND_LOOP_BEGIN, c.fit);
    for (int i = 0; i < 100; i++) {
        get_batch(&c, c.train, SS_FLAG_TRAIN, i == 0 ? INT64_MAX : i == 1 ? -5 : 4000);
        get_batch(&c, i % 10 == 9 ? eval : callback, 0, 777);
    }
    script_point(c.s, SS_KIND_LOOP_END, 0);
    const struct snap_loop *loop = loop_of(c.s);
    assert_int_equal(loop->steps, 100);
    assert_int_equal(loop->batches, 98);
    assert_int_equal(loop->steady_steps, 100);
    const double bytes = loop->bytes_per_s.mid * (double)loop->steady_ns / 1e9;
    assert_true(fabs(bytes - 4000. * 98) < 1e-3);
    script_free(c.s);
}

static unsigned next_of(const struct call *c)
{
    return script_name(c->s, "next", SS_STAGE_DATA, SS_ROLE_NONE, SS_SCOPE_NONE, "tf.data");
}

/* A loop that asks for its batches itself: each wait is a batch, and has the size that was told
 * inside. */
static void a_wait_of_the_loop_has_the_size_of_its_batch(void **state)
{
    (void)state;
    struct call c = call_new();
    const unsigned next = next_of(&c);
    for (int i = 0; i < 100; i++) {
        get_batch(&c, next, 0, 2000);
        step(&c, c.wait, 0);
    }
    const struct snap_loop *loop = loop_of(c.s);
    assert_int_equal(loop->batches, 100);
    assert_int_equal(loop->steps, 100);
    assert_bytes(loop, 2000);
    script_free(c.s);
}

/* Replicas get parts of batches on threads of their own, some of them while others compute. */
static void parts_that_others_get_are_no_batches(void **state)
{
    (void)state;
    struct call c = call_new();
    const unsigned next = next_of(&c);
    for (int i = 0; i < 100; i++) {
        get_batch(&c, next, 0, 1000);
        get_batch(&c, c.train, SS_FLAG_TRAIN, 1000);
    }
    const struct snap_loop *loop = loop_of(c.s);
    assert_int_equal(loop->batches, 100);
    assert_bytes(loop, 2000);
    script_free(c.s);
}

static void waits_that_are_not_seen_are_not_zero(void **state)
{
    (void)state;
    for (int hidden = 0; hidden < 2; hidden++) {
        struct call c = call_new();
        script_point(c.s, SS_KIND_LOOP_BEGIN, c.fit);
        if (hidden)
            script_span(c.s, c.wait, SS_FLAG_OVERLAY | SS_FLAG_FAILED, 1);
        for (int i = 0; i < STEPS; i++)
            step(&c, c.wait, i == 1 ? 30 : 0);
        script_point(c.s, SS_KIND_LOOP_END, 0);
        const struct snap_stage *data = &loop_of(c.s)->stage[SS_STAGE_DATA];
        assert_int_equal(data->measured, !hidden);
        if (hidden)
            assert_string_equal(data->reason, "in-graph input, not separable");
        script_free(c.s);
    }
}

/* A call of 100 in which two batches come after 10 each; `steps`: what it says that it made. */
static void get_two(const struct call *c, int64_t steps)
{
    script_begin(c->s, c->train, SS_FLAG_TRAIN);
    for (int i = 0; i < 2; i++) {
        script_pass(c->s, 40);
        script_lane(c->s, 2);
        script_begin(c->s, c->wait, SS_FLAG_OVERLAY);
        script_pass(c->s, 10);
        script_end(c->s, 0, 4000);
        script_lane(c->s, 1);
    }
    script_end(c->s, 0, steps);
}

/* Several steps of one call, or replicas: while one waits another may compute. */
static void waits_for_more_than_one_batch_are_an_upper_bound(void **state)
{
    (void)state;
    for (int steps = 0; steps <= 2; steps++) {
        struct call c = call_new();
        script_point(c.s, SS_KIND_LOOP_BEGIN, c.fit);
        for (int i = 0; i < STEPS; i++)
            if (steps > 0)
                get_two(&c, steps);
            else
                get_batch(&c, c.train, SS_FLAG_TRAIN, 4000);
        script_point(c.s, SS_KIND_LOOP_END, 0);
        const struct snap_loop *loop = loop_of(c.s);
        assert_int_equal(loop->stage[SS_STAGE_DATA].total_ns, STEPS * (steps > 0 ? 20 : 10));
        assert_int_equal(loop->stage[SS_STAGE_DATA].at_most != NULL, steps > 0);
        assert_null(loop->stage[SS_STAGE_COMPUTE].at_most);
        script_free(c.s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compilation_is_no_computing),
        cmocka_unit_test(batches_have_their_size),
        cmocka_unit_test(a_wait_of_the_loop_has_the_size_of_its_batch),
        cmocka_unit_test(parts_that_others_get_are_no_batches),
        cmocka_unit_test(waits_that_are_not_seen_are_not_zero),
        cmocka_unit_test(waits_for_more_than_one_batch_are_an_upper_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
