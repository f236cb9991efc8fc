/* Records that are missing, or of a time that does not count. Times are in ns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/play.h"

static void a_lane_may_begin_inside_a_span(void **state)
{
    (void)state;
    struct play p = play_new();
    script_lane(p.s, 2);
    for (int i = 0; i < 5; i++) {
        script_begin(p.s, p.forward, TRAIN);
        script_pass(p.s, 10);
        script_span(p.s, p.sync, 0, 5); /* the first record */
        script_end(p.s, 0, 0);
        script_span(p.s, p.adam, 0, 5);
    }
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(play_only_loop(snapshot)->steps, 5);
    assert_int_equal(snapshot->threads[0].wall_ns, 5 * 20);
    script_free(p.s);
}

/* Told late, of a time before the first record: it follows what was told before it all the same. */
static void a_span_from_before_the_first_record_ends_no_step_before_it_starts(void **state)
{
    (void)state;
    for (int64_t first = 0; first < 20; first += 10) {
        struct play p = play_new();
        script_lane(p.s, 2);
        script_pass(p.s, 500);
        const int64_t begin = script_now(p.s);
        script_span(p.s, p.data, 0, first);
        script_append(p.s, p.adam, 0, begin - 200, begin - 4);
        const struct snapshot *snapshot = script_finish(p.s);
        assert_int_equal(play_only_loop(snapshot)->steps, 1);
        assert_int_equal(play_only_loop(snapshot)->begin_ns, begin);
        assert_int_equal(snapshot->threads[0].begin_ns, begin - 200);
        assert_int_equal(play_segment(snapshot, SEGMENT_STARTUP_NS), 200);
        script_free(p.s);
    }
}

/* The same of an evaluation without a name. */
static void a_span_from_before_the_first_record_ends_no_evaluation_before_it_starts(void **state)
{
    (void)state;
    struct play p = play_new();
    script_lane(p.s, 2);
    script_pass(p.s, 500);
    const int64_t begin = script_now(p.s);
    script_span(p.s, p.data, 0, 0);
    script_append(p.s, p.forward, EVAL, begin - 200, begin - 4);
    play_batch(&p, p.adam);
    const struct snapshot *snapshot = script_finish(p.s);
    assert_int_equal(play_segment(snapshot, SEGMENT_EVAL_NS), 0);
    assert_int_equal(play_only_loop(snapshot)->steps, 1);
    script_free(p.s);
}

static const struct snapshot *finish_five_steps(const struct play *p)
{
    const struct snapshot *snapshot = script_finish(p->s);
    assert_int_equal(snapshot->negative_ns + play_only_loop(snapshot)->negative_ns, 0);
    assert_int_equal(play_only_loop(snapshot)->steps, 5);
    return snapshot;
}

static void spans_whose_parent_is_lost_are_no_error_of_ours(void **state)
{
    (void)state;
    struct play p = play_new();
    for (int i = 0; i < 5; i++) {
        script_begin(p.s, p.forward, TRAIN);
        script_span(p.s, p.sync, 0, 50);
        script_drop(p.s);
        script_begin(p.s, p.forward, TRAIN);
        script_span(p.s, p.sync, 0, 3);
        script_pass(p.s, 7);
        script_end(p.s, 0, 0);
        script_span(p.s, p.adam, 0, 5);
    }
    const struct snapshot *snapshot = finish_five_steps(&p);
    assert_true(snapshot->orphan_spans > 0);
    script_free(p.s);
}

static void a_block_does_not_hide_that_the_parent_of_a_span_is_lost(void **state)
{
    (void)state;
    struct play p = play_new();
    for (int i = 0; i < 5; i++) {
        script_begin(p.s, p.forward, TRAIN);
        script_begin(p.s, p.forward, TRAIN);
        script_span(p.s, p.sync, 0, 50);
        script_drop(p.s);
        script_drop(p.s);
        script_begin(p.s, p.forward, TRAIN);
        script_begin(p.s, p.user, 0);
        script_span(p.s, p.sync, 0, 3);
        script_end(p.s, 0, 0);
        script_pass(p.s, 7);
        script_end(p.s, 0, 0);
        script_span(p.s, p.adam, 0, 5);
    }
    const struct snapshot *snapshot = finish_five_steps(&p);
    assert_int_equal(snapshot->orphan_spans, 5);
    script_free(p.s);
}

/* Step model 7.2. */

static void a_step_in_a_perturbed_window_is_in_the_books_only(void **state)
{
    (void)state;
    struct play p = play_new();
    script_span(p.s, p.setup, 0, 3);
    for (int i = 0; i < 10; i++) {
        play_batch(&p, p.adam);
        if (i == 4) {
            script_pass(p.s, 5000);
            script_perturbed(p.s, 5000);
        }
    }
    play_end_of_iterator(&p);
    const struct snap_loop *loop = play_only_loop(script_finish(p.s));
    assert_int_equal(loop->steps, 10);
    assert_int_equal(loop->flagged_steps, 1);
    assert_int_equal(loop->quantiles.max_ns, 65);
    script_free(p.s);
}

/* Seven steps are missing; their number cannot be known. */
static void a_step_over_missing_records_is_in_the_books_only(void **state)
{
    (void)state;
    for (int batches_before = 0; batches_before < 2; batches_before++) {
        struct play p = play_new();
        script_span(p.s, p.setup, 0, 3);
        for (int i = 0; i < 10; i++) {
            play_batch(&p, p.adam);
            if (i == 4) {
                if (batches_before)
                    script_span(p.s, p.data, 0, 10);
                script_pass(p.s, 7 * 65);
                script_gap(p.s);
            }
        }
        play_end_of_iterator(&p);
        const struct snapshot *snapshot = script_finish(p.s);
        const struct snap_loop *loop = play_only_loop(snapshot);
        assert_int_equal(snapshot->gaps, 1);
        /* The one before them, and the one that may have lost its beginning. */
        assert_in_range(loop->flagged_steps, 1, 2);
        assert_int_equal(loop->steady_steps + loop->warmup_steps,
                         loop->steps - loop->flagged_steps);
        assert_int_equal(loop->quantiles.max_ns, 65);
        script_free(p.s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_may_begin_inside_a_span),
        cmocka_unit_test(a_span_from_before_the_first_record_ends_no_step_before_it_starts),
        cmocka_unit_test(a_span_from_before_the_first_record_ends_no_evaluation_before_it_starts),
        cmocka_unit_test(spans_whose_parent_is_lost_are_no_error_of_ours),
        cmocka_unit_test(a_block_does_not_hide_that_the_parent_of_a_span_is_lost),
        cmocka_unit_test(a_step_in_a_perturbed_window_is_in_the_books_only),
        cmocka_unit_test(a_step_over_missing_records_is_in_the_books_only),
    };
    return cmocka_run_group_tests_name("records that are missing", tests, NULL, NULL);
}
