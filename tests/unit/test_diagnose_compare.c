/* diagnose/compare: sides of runs whose numbers are given by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "diagnose/compare.h"
#include "diagnose/compare_facts.h"

enum { RUNS = 3 };
static const double ms = 1e6;

/* Three runs that differ by half a per cent; stages in ms. `other` is the rest of a
 * step of 10 ms. */
struct sample_side {
    struct compare_run run[RUNS];
    struct compare_side side;
};

/* The median is as the mean, the error a thousandth of it. */
static struct compare_time make_time(double ns)
{
    return (struct compare_time){true, ns, 0.001 * ns, ns};
}

static void make_side(struct sample_side *out, size_t count, double data_ms, double callback_ms)
{
    static const double level[RUNS] = {0.995, 1, 1.005};

    *out = (struct sample_side){.side = {out->run, count}};
    for (size_t i = 0; i < count; i++) {
        struct compare_run *run = &out->run[i];
        const double own = ms * (count == 1 ? 1 : level[i]);
        *run = (struct compare_run){.steps = 500,
                                    .steady_steps = 500,
                                    .class = WARMUP_FLAT,
                                    .samples = NAN,
                                    .run_sigma = COMPARE_RUN_SIGMA};
        run->time[SS_STAGE_DATA] = make_time(data_ms * own);
        if (callback_ms > 0)
            run->time[SS_STAGE_CALLBACK] = make_time(callback_ms * own);
        run->time[SS_STAGE_OTHER] = make_time(5 * own);
        run->time[COMPARE_STEP] = make_time((5 + data_ms + callback_ms) * own);
    }
}

static void compare(struct comparison *out, const struct sample_side *a,
                    const struct sample_side *b)
{
    compare_sides(out, &a->side, &b->side);
}

static void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance))
        fail_msg("%.12g is not %.12g", value, wanted);
}

static void a_stage_that_grew_is_found_and_named(void **state)
{
    (void)state;
    struct sample_side a, b;
    struct comparison found;

    make_side(&a, RUNS, 4, 1);
    make_side(&b, RUNS, 5, 1);
    compare(&found, &a, &b);
    assert_int_equal(found.level, COMPARE_TEST);
    assert_int_equal(found.row[COMPARE_STEP].word, COMPARE_SLOWER);
    assert_near(found.row[COMPARE_STEP].change.mid, 0.1, 1e-9);
    assert_int_equal(found.row[SS_STAGE_DATA].word, COMPARE_SLOWER);
    assert_near(found.row[SS_STAGE_DATA].change.mid, 0.1, 1e-9);
    assert_int_equal(found.row[SS_STAGE_CALLBACK].word, COMPARE_SAME);
    assert_int_equal(found.carrier, SS_STAGE_DATA);
    compare(&found, &b, &a);
    assert_int_equal(found.row[COMPARE_STEP].word, COMPARE_FASTER);
    assert_near(found.row[COMPARE_STEP].change.mid, -1.0 / 11, 1e-9);
}

static void two_stages_that_share_a_change_have_no_carrier(void **state)
{
    (void)state;
    struct sample_side a, b;
    struct comparison found;

    make_side(&a, RUNS, 4, 1);
    make_side(&b, RUNS, 4.5, 1.5);
    compare(&found, &a, &b);
    assert_int_equal(found.row[COMPARE_STEP].word, COMPARE_SLOWER);
    assert_int_equal(found.row[SS_STAGE_DATA].word, COMPARE_SLOWER);
    assert_int_equal(found.row[SS_STAGE_CALLBACK].word, COMPARE_SLOWER);
    assert_int_equal(found.carrier, -1);
}

static void the_median_decides_where_the_means_differ_too_much(void **state)
{
    (void)state;
    struct sample_side a, b;
    struct comparison found;

    make_side(&a, RUNS, 4, 1);
    make_side(&b, RUNS, 5, 1);
    for (size_t i = 0; i < RUNS; i++) {
        a.run[i].time[COMPARE_STEP].mean_ns *= 1 + 0.3 * (double)i;
        b.run[i].time[COMPARE_STEP].mean_ns *= 1 + 0.3 * (double)i;
        b.run[i].time[SS_STAGE_OTHER].mean_ns *= 1 + 0.3 * (double)i;
    }
    compare(&found, &a, &b);
    assert_int_equal(found.row[COMPARE_STEP].word, COMPARE_INCONCLUSIVE);
    assert_int_equal(found.row[COMPARE_MEDIAN].word, COMPARE_SLOWER);
    assert_int_equal(found.word, COMPARE_SLOWER);
    assert_int_equal(found.decided_by, COMPARE_MEDIAN);
    assert_int_equal(found.carrier, SS_STAGE_DATA); /* by the medians of the stages */
    assert_near(found.carried, 1, 1e-3);
    assert_int_equal(compare_gate(&found, 0.03), COMPARE_GATE_FAILED);
}

/* Medians are rounded to bins of 0.8 %: equal ones are not known to be equal. */
/* Other programs had the core for a third of the time, more or less. */
static void let_others_in(struct sample_side *side, const double share[RUNS])
{
    for (size_t i = 0; i < RUNS; i++) {
        struct compare_time *const step = &side->run[i].time[COMPARE_STEP];
        side->run[i].waited_share = share[i];
        side->run[i].quiet_sigma = COMPARE_RUN_SIGMA;
        step->mean_ns /= 1 - share[i];
        step->median_ns /= 1 - share[i];
    }
}

static void without_waits_for_a_core_a_busy_machine_tells(void **state)
{
    (void)state;
    static const double some[RUNS] = {0.1, 0.5, 0.3}, others[RUNS] = {0.4, 0.2, 0.6};
    struct sample_side a, b;
    struct comparison found;

    make_side(&a, RUNS, 4, 1);
    make_side(&b, RUNS, 5, 1);
    let_others_in(&a, some);
    let_others_in(&b, others);
    compare(&found, &a, &b);
    assert_int_equal(found.row[COMPARE_STEP].word, COMPARE_INCONCLUSIVE);
    assert_int_equal(found.row[COMPARE_MEDIAN].word, COMPARE_INCONCLUSIVE);
    assert_int_equal(found.word, COMPARE_SLOWER);
    assert_int_equal(found.decided_by, COMPARE_QUIET);
    assert_near(found.row[COMPARE_QUIET].change.mid, 0.1, 1e-9);
    assert_near(found.waited_share, 0.6, 0);
    b.run[1].waited_share = NAN; /* its step is not of one thread */
    compare(&found, &a, &b);
    assert_int_equal(found.word, COMPARE_INCONCLUSIVE);
    assert_false(found.row[COMPARE_QUIET].in_a);
}

static void medians_are_known_to_half_a_bin_at_best(void **state)
{
    (void)state;
    struct sample_side a, b;
    struct comparison found;

    make_side(&a, RUNS, 4, 1);
    make_side(&b, RUNS, 4, 1);
    for (size_t i = 0; i < RUNS; i++) {
        a.run[i].time[COMPARE_STEP].median_ns = 10 * ms;
        b.run[i].time[COMPARE_STEP].median_ns = 10 * ms;
    }
    compare(&found, &a, &b);
    assert_int_equal(found.row[COMPARE_MEDIAN].word, COMPARE_SAME);
    assert_true(found.row[COMPARE_MEDIAN].change.high > 0.004);
}

static void stages_are_corrected_for_their_number_but_for_tiny_ones(void **state)
{
    (void)state;
    struct sample_side a, b;
    struct comparison many, few;

    make_side(&a, RUNS, 4, 1);
    make_side(&b, RUNS, 4.1, 1);
    compare(&many, &a, &b);
    make_side(&a, RUNS, 4, 0.05);
    make_side(&b, RUNS, 4.1, 0.05);
    compare(&few, &a, &b);
    /* data, callback and other against data and other; the stage that differs has the
     * least chance. */
    assert_near(many.row[SS_STAGE_DATA].chance / few.row[SS_STAGE_DATA].chance, 1.5, 1e-9);
    assert_true(isnan(few.row[SS_STAGE_CALLBACK].chance));
    assert_int_equal(few.row[SS_STAGE_CALLBACK].word, COMPARE_SAME);
}

static void a_stage_of_one_side_only_is_not_compared(void **state)
{
    (void)state;
    struct sample_side a, b;
    struct comparison found;

    make_side(&a, RUNS, 4, 0);
    make_side(&b, RUNS, 4, 1);
    compare(&found, &a, &b);
    const struct compare_row *row = &found.row[SS_STAGE_CALLBACK];
    assert_false(row->in_a);
    assert_true(row->in_b);
    assert_true(isnan(row->a_ns) && isnan(row->change.mid) && isnan(row->chance));
    assert_int_equal(row->word, COMPARE_INCONCLUSIVE);
    assert_int_equal(row->more_runs, 0);
    assert_int_equal(found.row[COMPARE_STEP].word, COMPARE_SLOWER);
}

static void batches_that_differ_are_compared_per_sample(void **state)
{
    (void)state;
    struct sample_side a, b;
    struct comparison found;

    make_side(&a, RUNS, 4, 1);
    make_side(&b, RUNS, 14, 1);
    for (size_t i = 0; i < RUNS; i++) {
        a.run[i].samples = 32;
        b.run[i].samples = 64;
    }
    compare(&found, &a, &b);
    assert_true(found.per_sample);
    assert_int_equal(found.row[COMPARE_STEP].word, COMPARE_SAME);
    assert_near(found.row[COMPARE_STEP].b_ns, 20 * ms / 64, 10);
    b.run[1].samples = NAN; /* an unknown one: it must not be divided by */
    compare(&found, &a, &b);
    assert_false(found.per_sample);
    for (size_t i = 0; i < RUNS; i++)
        b.run[i].samples = 32.3; /* the last batch of an epoch was short */
    compare(&found, &a, &b);
    assert_false(found.per_sample);
}

static void a_run_without_a_steady_state_tells_nothing_alone(void **state)
{
    (void)state;
    struct sample_side a, b;
    struct comparison found;

    make_side(&a, 1, 4, 1);
    make_side(&b, 1, 9, 1);
    compare(&found, &a, &b);
    assert_int_equal(found.level, COMPARE_INDICATION);
    assert_int_equal(found.row[COMPARE_STEP].word, COMPARE_SLOWER);
    b.run[0].class = WARMUP_NO_STEADY_STATE;
    compare(&found, &a, &b);
    assert_true(found.unsteady);
    assert_int_equal(found.row[COMPARE_STEP].word, COMPARE_INCONCLUSIVE);
    assert_int_equal(found.carrier, -1);
    assert_true(found.row[COMPARE_STEP].more_runs >= 2);
}

static void a_disturbed_run_alone_may_differ_by_what_was_taken_from_it(void **state)
{
    (void)state;
    struct sample_side a, b;
    struct comparison found;

    make_side(&a, 1, 4, 1);
    make_side(&b, 1, 9, 1);
    b.run[0].run_sigma = 0.3;
    compare(&found, &a, &b);
    assert_near(found.assumed, 0.3, 0);
    assert_int_equal(found.word, COMPARE_INCONCLUSIVE);
    make_side(&a, RUNS, 4, 1);
    make_side(&b, RUNS, 9, 1);
    b.run[0].run_sigma = 0.3; /* of three runs it is seen how they differ */
    compare(&found, &a, &b);
    assert_int_equal(found.word, COMPARE_SLOWER);
}

static void an_indication_fails_no_gate(void **state)
{
    (void)state;
    struct sample_side a, b;
    struct comparison found;

    make_side(&a, 1, 4, 1);
    make_side(&b, 1, 40, 1);
    compare(&found, &a, &b);
    assert_int_equal(compare_gate(&found, 0.03), COMPARE_GATE_UNDECIDED);
    make_side(&a, RUNS, 4, 1);
    make_side(&b, RUNS, 40, 1);
    compare(&found, &a, &b);
    assert_int_equal(compare_gate(&found, 0.03), COMPARE_GATE_FAILED);
    assert_int_equal(compare_gate(&found, 3.59), COMPARE_GATE_UNSURE); /* +360 % */
    assert_int_equal(compare_gate(&found, 5), COMPARE_GATE_PASSED);
}

static void keys_that_differ(void **state)
{
    (void)state;
    char host[] = "host", kernel[] = "kernel", python[] = "python";
    char box[] = "box", old[] = "6.1", new[] = "6.2", three[] = "3";
    struct compare_fact first[] = {{host, box}, {kernel, old}};
    struct compare_fact second[] = {{host, box}, {kernel, new}, {python, three}};
    const struct compare_facts runs[] = {{first, 2}, {second, 3}};
    const char *keys[4];

    assert_int_equal(compare_facts_differing(runs, 2, keys, 4), 2);
    assert_string_equal(keys[0], "kernel");
    assert_string_equal(keys[1], "python");
    assert_int_equal(compare_facts_differing(runs, 2, keys, 1), 1);
    assert_int_equal(compare_facts_differing(runs, 1, keys, 4), 0);
    assert_null(compare_facts_value(&runs[0], "python"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stage_that_grew_is_found_and_named),
        cmocka_unit_test(two_stages_that_share_a_change_have_no_carrier),
        cmocka_unit_test(the_median_decides_where_the_means_differ_too_much),
        cmocka_unit_test(without_waits_for_a_core_a_busy_machine_tells),
        cmocka_unit_test(medians_are_known_to_half_a_bin_at_best),
        cmocka_unit_test(stages_are_corrected_for_their_number_but_for_tiny_ones),
        cmocka_unit_test(a_stage_of_one_side_only_is_not_compared),
        cmocka_unit_test(batches_that_differ_are_compared_per_sample),
        cmocka_unit_test(a_run_without_a_steady_state_tells_nothing_alone),
        cmocka_unit_test(a_disturbed_run_alone_may_differ_by_what_was_taken_from_it),
        cmocka_unit_test(an_indication_fails_no_gate),
        cmocka_unit_test(keys_that_differ),
    };
    return cmocka_run_group_tests_name("diagnose/compare", tests, NULL, NULL);
}
