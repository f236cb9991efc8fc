/* Spans as they come out of a run: names, flags, arguments, times, and what is around them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/own_run.h"

enum { DEEPEST = SS_STACK_DEPTH - 1, MANY = 5000 };

static ss_name name_of(const char *text, enum ss_stage stage)
{
    return ss_intern(text, stage, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
}

static void check_span(const struct ss_record *span, ss_name name, unsigned depth, unsigned nest)
{
    assert_int_equal(span->name, SS_NAME_ID(name));
    assert_int_equal(span->depth, depth);
    assert_int_equal(span->nest, nest);
    assert_true(span->start_ns <= span->end_ns);
}

static void a_span_has_its_name_flags_and_argument(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    const ss_name data = ss_intern("next", SS_STAGE_DATA, SS_ROLE_NONE, SS_SCOPE_NONE, "It#2");
    ss_begin(data, SS_FLAG_TRAIN);
    ss_end(SS_FLAG_FAILED, -7);
    ss_begin(0, 0);
    ss_end(0, INT64_MAX);
    own_run_stop(own);

    assert_int_equal(own_run_count(own, SS_KIND_SPAN), 2);
    const struct ss_record *first = own_run_span(own, 0);
    check_span(first, data, 0, 0);
    assert_int_equal(first->stage, SS_STAGE_DATA);
    assert_int_equal(first->flags, SS_FLAG_TRAIN | SS_FLAG_FAILED);
    assert_int_equal(first->u.arg, -7);
    const struct ss_name_info *info = ss_run_name(own->run, 0, first->name);
    own_run_check_text(info->text, "next");
    own_run_check_text(info->object, "It#2");
    check_span(own_run_span(own, 1), 0, 0, 0);
    assert_true(own_run_span(own, 1)->u.arg == INT64_MAX);
    assert_true(own_run_span(own, 1)->start_ns >= first->end_ns);
}

static void a_span_tells_what_is_around_it(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    const ss_name user = name_of("outer", SS_STAGE_USER);
    const ss_name callback = name_of("on_batch_end", SS_STAGE_CALLBACK);
    const ss_name forward = name_of("forward", SS_STAGE_FORWARD);
    ss_begin(user, 0);
    ss_begin(callback, 0);
    ss_begin(forward, 0);
    ss_begin(user, 0);
    for (int i = 0; i < 4; i++)
        ss_end(0, 0);
    ss_begin(forward, 0); /* nothing of the callback stays */
    ss_end(0, 0);
    own_run_stop(own);

    const unsigned closed = SS_NEST_OPEN | SS_NEST_CLOSED | SS_NEST_OPAQUE;
    check_span(own_run_span(own, 0), user, 3, closed | SS_STAGE_FORWARD);
    check_span(own_run_span(own, 1), forward, 2, closed | SS_STAGE_CALLBACK);
    check_span(own_run_span(own, 2), callback, 1, SS_NEST_OPEN | SS_STAGE_USER);
    check_span(own_run_span(own, 3), user, 0, 0);
    check_span(own_run_span(own, 4), forward, 0, 0);
}

/* Callback, eval, infer and checkpoint keep what is inside them; spans of users are transparent. */
static void four_stages_are_closed_and_all_but_user_opaque(void **state)
{
    struct own_run *own = *state;
    const ss_name inner = name_of("inner", SS_STAGE_COMPUTE);

    own_run_start(own, 0);
    for (int stage = 0; stage < SS_STAGE_COUNT; stage++) {
        ss_begin(name_of("outer", (enum ss_stage)stage), 0);
        ss_begin(inner, 0);
        ss_end(0, 0);
        ss_end(0, 0);
    }
    own_run_stop(own);

    for (unsigned stage = 0; stage < SS_STAGE_COUNT; stage++) {
        const bool closed = stage == SS_STAGE_CALLBACK || stage == SS_STAGE_EVAL ||
                            stage == SS_STAGE_INFER || stage == SS_STAGE_CHECKPOINT;
        check_span(own_run_span(own, 2 * stage), inner, 1,
                   stage | SS_NEST_OPEN | (closed ? SS_NEST_CLOSED : 0u) |
                       (stage == SS_STAGE_USER ? 0u : SS_NEST_OPAQUE));
    }
}

static void spans_lie_within_their_parents(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    for (int i = 0; i < MANY; i++) {
        ss_begin(0, 0);
        ss_begin(0, 0);
        ss_end(0, 2 * i);
        ss_end(0, 2 * i + 1);
    }
    own_run_stop(own);

    assert_int_equal(own_run_count(own, SS_KIND_SPAN) + own_run_lost(own, 0), 2 * MANY);
    const struct ss_record *child = NULL;
    for (size_t i = 0; i < own->count; i++) {
        const struct ss_record *span = &own->records[i];
        if (span->kind != SS_KIND_SPAN)
            continue;
        assert_int_equal(span->depth, 1 - span->u.arg % 2);
        if (span->depth == 0 && child && child->u.arg == span->u.arg - 1) {
            assert_true(child->start_ns >= span->start_ns);
            assert_true(child->end_ns <= span->end_ns);
        }
        child = span;
    }
}

/* Over several pages and segments: their ends are not on the fast path. */
static void a_switch_ends_and_begins_at_one_time(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    const ss_name outer = name_of("fit", SS_STAGE_USER);
    const ss_name names[2] = {name_of("forward", SS_STAGE_FORWARD),
                              name_of("backward", SS_STAGE_BACKWARD)};
    ss_begin(outer, 0);
    ss_begin(names[0], SS_FLAG_TRAIN);
    assert_true(own_run_catch_up(own));
    for (int i = 1; i < MANY; i++)
        ss_switch(names[i % 2], SS_FLAG_TRAIN);
    ss_end(0, 1);
    ss_end(0, 2);
    own_run_stop(own);

    assert_int_equal(own_run_lost(own, 0), 0);
    assert_int_equal(own_run_count(own, SS_KIND_SPAN), MANY + 1);
    const struct ss_record *span = own_run_span(own, 0);
    for (int i = 0; i < MANY; i++, span++) {
        check_span(span, names[i % 2], 1, SS_NEST_OPEN | SS_STAGE_USER);
        assert_int_equal(span->flags, SS_FLAG_TRAIN);
        assert_int_equal(span->u.arg, i == MANY - 1);
        if (i > 0)
            assert_true(span->start_ns == span[-1].end_ns);
    }
    check_span(span, outer, 0, 0);
}

static void a_switch_with_nothing_open_begins(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    const ss_name name = name_of("next", SS_STAGE_DATA);
    ss_switch(name, SS_FLAG_TRAIN);
    ss_end(0, 5);
    own_run_stop(own);

    assert_int_equal(own_run_count(own, SS_KIND_SPAN), 1);
    check_span(own_run_span(own, 0), name, 0, 0);
    assert_int_equal(own_run_span(own, 0)->u.arg, 5);
    assert_int_equal(ss_run_lane(own->run, 1)->unbalanced, 1);
}

static void what_begins_after_a_switch_is_inside_the_new_span(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    const ss_name eval = name_of("eval", SS_STAGE_EVAL);
    const ss_name data = name_of("data", SS_STAGE_DATA);
    const ss_name leaf = name_of("leaf", SS_STAGE_SYNC);
    ss_begin(eval, 0);
    ss_switch(data, 0);
    ss_begin(leaf, 0);
    ss_end(0, 0);
    ss_switch(eval, 0);
    ss_begin(leaf, 0);
    ss_end(0, 0);
    ss_end(0, 0);
    own_run_stop(own);

    check_span(own_run_span(own, 0), eval, 0, 0);
    check_span(own_run_span(own, 1), leaf, 1, SS_NEST_OPEN | SS_NEST_OPAQUE | SS_STAGE_DATA);
    check_span(own_run_span(own, 2), data, 0, 0);
    check_span(own_run_span(own, 3), leaf, 1,
               SS_NEST_OPEN | SS_NEST_OPAQUE | SS_NEST_CLOSED | SS_STAGE_EVAL);
    check_span(own_run_span(own, 4), eval, 0, 0);
}

static void an_appended_span_keeps_its_times(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    const ss_name gpu = name_of("kernel", SS_STAGE_COMPUTE);
    ss_begin(0, 0);
    const ss_ticks start = ss_now();
    ss_begin(0, 0);
    ss_end(0, 0);
    const ss_ticks end = ss_now();
    ss_end(0, 0);
    ss_begin(name_of("save", SS_STAGE_CHECKPOINT), 0);
    ss_append(gpu, start, end, SS_FLAG_ESTIMATE, 99);
    ss_end(0, 0);
    own_run_stop(own);

    assert_true(start > 0 && end > start);
    const struct ss_record *between = own_run_span(own, 0);
    const struct ss_record *appended = own_run_span(own, 2);
    check_span(appended, gpu, 1,
               SS_NEST_OPEN | SS_NEST_OPAQUE | SS_NEST_CLOSED | SS_STAGE_CHECKPOINT);
    assert_int_equal(appended->flags, SS_FLAG_ESTIMATE | SS_FLAG_APPENDED);
    assert_int_equal(appended->u.arg, 99);
    assert_true(appended->start_ns <= between->start_ns);
    assert_true(appended->end_ns >= between->end_ns);
    assert_true(appended->end_ns <= own_run_span(own, 3)->start_ns);
}

/* Readers take times outside the recording, or the wrong way round, for damage. */
static void times_of_an_appended_span_are_put_right(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    const ss_ticks now = ss_now();
    const ss_ticks hour = ss_ticks_of_ns(3600 * (int64_t)1000000000);
    ss_append(0, 0, 0, 0, 1);
    ss_append(0, 1, now, 0, 2); /* the machine may be up for less than an hour */
    ss_append(0, now, now - 1, 0, 3);
    ss_append(0, now, now + hour, 0, 4);
    ss_append(0, now + hour, now + 2 * hour, 0, 5);
    ss_append(0, UINT64_MAX, UINT64_MAX, 0, 6);
    ss_begin(0, 0);
    ss_end(0, 7);
    own_run_stop(own);

    assert_true(hour > 0);
    assert_int_equal(own_run_count(own, SS_KIND_SPAN), 7);
    const struct ss_process *process = ss_run_process(own->run, 0);
    for (size_t i = 0; i < 7; i++) {
        const struct ss_record *span = own_run_span(own, i);
        assert_int_equal(span->u.arg, i + 1);
        assert_true(span->start_ns >= process->start_ns && span->start_ns <= span->end_ns);
        assert_true(span->end_ns <= process->end_ns);
    }
    assert_true(own_run_span(own, 0)->start_ns == process->start_ns);
    assert_true(own_run_span(own, 1)->start_ns == process->start_ns);
    assert_true(own_run_span(own, 1)->end_ns == own_run_span(own, 2)->start_ns);
    assert_true(own_run_span(own, 2)->end_ns == own_run_span(own, 2)->start_ns);
}

static void a_scope_closes_its_span(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    const ss_name a = name_of("a", SS_STAGE_USER);
    const ss_name b = name_of("b", SS_STAGE_USER);
    for (int i = 0; i < 2; i++) {
        SS_SPAN(a);
        if (i == 0)
            continue;
        SS_SPAN(b);
    }
    own_run_stop(own);

    assert_int_equal(own_run_count(own, SS_KIND_SPAN), 3);
    check_span(own_run_span(own, 0), a, 0, 0);
    check_span(own_run_span(own, 1), b, 1, SS_NEST_OPEN | SS_STAGE_USER);
    check_span(own_run_span(own, 2), a, 0, 0);
}

static void spans_that_are_too_deep_are_counted_and_balanced(void **state)
{
    struct own_run *own = *state;
    enum { LEVELS = 70 };

    own_run_start(own, 0);
    const ss_name level = name_of("level", SS_STAGE_USER);
    const ss_name after = name_of("after", SS_STAGE_USER);
    for (int i = 0; i < LEVELS; i++)
        ss_begin(level, 0);
    ss_step(1);
    for (int i = LEVELS; i-- > 0;)
        ss_end(0, i);
    ss_begin(after, 0);
    ss_end(0, 0);
    own_run_stop(own);

    assert_int_equal(own_run_count(own, SS_KIND_SPAN), DEEPEST + 1);
    for (int i = 0; i < DEEPEST; i++) {
        check_span(own_run_span(own, (size_t)i), level, (unsigned)(DEEPEST - 1 - i),
                   i == DEEPEST - 1 ? 0 : SS_NEST_OPEN | SS_STAGE_USER);
        assert_int_equal(own_run_span(own, (size_t)i)->u.arg, DEEPEST - 1 - i);
    }
    check_span(own_run_span(own, DEEPEST), after, 0, 0);
    assert_int_equal(own_run_get(own, SS_KIND_STEP, 0)->depth, DEEPEST);
    assert_int_equal(ss_run_lane(own->run, 1)->too_deep, LEVELS - DEEPEST);
    assert_int_equal(ss_run_lane(own->run, 1)->unbalanced, 0);
}

static void a_switch_at_the_deepest_level_is_recorded(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    const ss_name level = name_of("level", SS_STAGE_USER);
    const ss_name other = name_of("other", SS_STAGE_SYNC);
    for (int i = 0; i < DEEPEST; i++)
        ss_begin(level, 0);
    ss_switch(other, 0); /* at the last level: recorded */
    ss_begin(level, 0);
    ss_switch(other, 0); /* below it: only counted */
    ss_end(0, 0);
    for (int i = 0; i < DEEPEST; i++)
        ss_end(0, 0);
    own_run_stop(own);

    assert_int_equal(own_run_count(own, SS_KIND_SPAN), DEEPEST + 1);
    check_span(own_run_span(own, 0), level, DEEPEST - 1, SS_NEST_OPEN | SS_STAGE_USER);
    check_span(own_run_span(own, 1), other, DEEPEST - 1, SS_NEST_OPEN | SS_STAGE_USER);
    assert_true(own_run_span(own, 0)->end_ns == own_run_span(own, 1)->start_ns);
    assert_int_equal(ss_run_lane(own->run, 1)->too_deep, 2);
    assert_int_equal(ss_run_lane(own->run, 1)->unbalanced, 0);
}

static void ends_without_a_begin_are_counted(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    for (int i = 0; i < 3; i++)
        ss_end(0, 0);
    ss_begin(0, 0);
    ss_end(0, 1);
    ss_end(0, 0);
    own_run_stop(own);

    assert_int_equal(own_run_count(own, SS_KIND_SPAN), 1);
    assert_int_equal(own_run_span(own, 0)->depth, 0);
    assert_int_equal(own_run_span(own, 0)->u.arg, 1);
    assert_int_equal(ss_run_lane(own->run, 1)->unbalanced, 4);
}

static void open_spans_can_be_seen_while_they_are_open(void **state)
{
    struct own_run *own = *state;
    struct ss_record open[4];

    own_run_start(own, 0);
    const ss_name fit = name_of("fit", SS_STAGE_USER);
    const ss_name hang = name_of("all_reduce", SS_STAGE_COMM);
    ss_begin(fit, 0);
    ss_begin(0, 0);
    ss_switch(hang, SS_FLAG_TRAIN);
    own_run_open(own);
    assert_int_equal(own_run_count(own, SS_KIND_SPAN), 1);
    assert_int_equal(ss_run_open_spans(own->run, 1, open, 4), 2);
    check_span(&open[0], fit, 0, 0);
    check_span(&open[1], hang, 1, SS_NEST_OPEN | SS_STAGE_USER);
    assert_int_equal(open[1].flags, SS_FLAG_TRAIN);
    assert_true(open[1].start_ns == own_run_span(own, 0)->end_ns);
}

static void spans_open_at_the_stop_are_unfinished(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    ss_begin(0, SS_FLAG_TRAIN);
    ss_begin(0, 0);
    own_run_stop(own);

    assert_int_equal(own_run_count(own, SS_KIND_SPAN), 2);
    const struct ss_record *inner = own_run_span(own, 0), *outer = own_run_span(own, 1);
    assert_int_equal(inner->depth, 1);
    assert_int_equal(inner->flags, SS_FLAG_UNFINISHED);
    assert_int_equal(outer->depth, 0);
    assert_int_equal(outer->flags, SS_FLAG_TRAIN | SS_FLAG_UNFINISHED);
    assert_true(inner->end_ns == outer->end_ns);
}

static void what_is_recorded_while_off_is_nowhere(void **state)
{
    struct own_run *own = *state;

    ss_stop(); /* so that the first event does not look at the environment */
    ss_begin(0, 0);
    ss_end(0, 0);
    ss_switch(0, 0);
    ss_append(0, 1, 2, 0, 0);
    assert_int_equal(ss_now(), 0);
    assert_int_equal(ss_ticks_of_ns(1000), 0);
    own_run_start(own, 0);
    own_run_stop(own);

    assert_int_equal(own->count, 0);
}

static void the_cost_of_a_span_is_measured(void **state)
{
    struct own_run *own = *state;

    own_run_start(own, 0);
    own_run_stop(own);

    const struct ss_process *process = ss_run_process(own->run, 0);
    assert_in_range(process->span_cost_ps, 100, 1000000000);
    assert_true(process->helper_cpu_ns > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OWN_RUN_TEST(a_span_has_its_name_flags_and_argument),
        OWN_RUN_TEST(a_span_tells_what_is_around_it),
        OWN_RUN_TEST(four_stages_are_closed_and_all_but_user_opaque),
        OWN_RUN_TEST(spans_lie_within_their_parents),
        OWN_RUN_TEST(a_switch_ends_and_begins_at_one_time),
        OWN_RUN_TEST(a_switch_with_nothing_open_begins),
        OWN_RUN_TEST(what_begins_after_a_switch_is_inside_the_new_span),
        OWN_RUN_TEST(an_appended_span_keeps_its_times),
        OWN_RUN_TEST(times_of_an_appended_span_are_put_right),
        OWN_RUN_TEST(a_scope_closes_its_span),
        OWN_RUN_TEST(spans_that_are_too_deep_are_counted_and_balanced),
        OWN_RUN_TEST(a_switch_at_the_deepest_level_is_recorded),
        OWN_RUN_TEST(ends_without_a_begin_are_counted),
        OWN_RUN_TEST(open_spans_can_be_seen_while_they_are_open),
        OWN_RUN_TEST(spans_open_at_the_stop_are_unfinished),
        OWN_RUN_TEST(what_is_recorded_while_off_is_nowhere),
        OWN_RUN_TEST(the_cost_of_a_span_is_measured),
    };

    return cmocka_run_group_tests_name("spans", tests, NULL, NULL);
}
