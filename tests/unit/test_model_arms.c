/* model/arms: blocks of an experiment, each step in its own. Times are in ns. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/play.h"

#define assert_near(value, wanted, error) assert_true(fabs((value) - (wanted)) <= (error))

struct bench {
    struct script *s;
    unsigned data, compute, as_it_is, change;
    uint64_t waited_ns, others_ns;
};

static struct bench new_bench(void)
{
    struct bench b = {.s = script_new()};

    b.data = play_name(b.s, "next", SS_STAGE_DATA);
    b.compute = play_name(b.s, "train", SS_STAGE_COMPUTE);
    b.as_it_is = play_name(b.s, "as it is", SS_STAGE_OTHER);
    b.change = play_name(b.s, "change", SS_STAGE_OTHER);
    return b;
}

/* Of these the first two of the change take longer: it settles. */
static void make_block(struct bench *b, unsigned arm, uint64_t round, int64_t data_ns,
                       int64_t waited_ns)
{
    for (int i = 0; i < 6; i++) {
        if (i == 0 || i == 2) {
            script_clock(b->s, b->waited_ns, b->others_ns);
            script_arm(b->s, arm, round, i == 0);
        }
        script_point(b->s, SS_KIND_STEP, 8);
        script_span(b->s, b->data, 0, data_ns + (i < 2 ? 1000 : 0));
        script_span(b->s, b->compute, TRAIN, 30 + waited_ns);
        b->waited_ns += (uint64_t)waited_ns;
    }
}

static const struct snap_loop *make_experiment(struct bench *b, int64_t waited_ns)
{
    for (uint64_t round = 0; round < 10; round++) {
        make_block(b, b->as_it_is, round, 70, waited_ns);
        make_block(b, b->change, round, 20, waited_ns);
        make_block(b, b->as_it_is, round, 70, waited_ns);
    }
    script_clock(b->s, b->waited_ns, b->others_ns);
    script_arm(b->s, b->as_it_is, 10, true);
    script_point(b->s, SS_KIND_STEP, 8);
    script_span(b->s, b->data, 0, 70);
    script_span(b->s, b->compute, TRAIN, 30);
    return play_only_loop(script_finish(b->s));
}

static void a_step_counts_in_its_block_once_that_has_settled(void **state)
{
    struct bench b = new_bench();
    const struct snap_arms *const arms = &make_experiment(&b, 0)->arms;

    (void)state;
    assert_int_equal(arms->count, 2);
    assert_int_equal(arms->rounds, 10);
    assert_string_equal(arms->rows[0].label, "as it is");
    assert_string_equal(arms->rows[1].label, "change");
    assert_int_equal(arms->rows[0].steps, 80);
    assert_int_equal(arms->rows[1].steps, 40);
    assert_near(arms->rows[0].step_ns, 100, 1e-9);
    assert_near(arms->rows[1].step_ns, 50, 1e-9);
    assert_near(arms->rows[1].gain.mid, 0.5, 1e-9);
    assert_near(arms->rows[1].typical.mid, 0.5, 1e-9);
    assert_int_equal(arms->rows[1].word, COMPARE_FASTER);
    script_free(b.s);
}

/* Which is about the training as it is. */
static void steps_of_a_change_are_in_no_statistics_of_the_run(void **state)
{
    struct bench b = new_bench();

    (void)state;
    const struct snap_loop *const loop = make_experiment(&b, 0);
    assert_int_equal(loop->steps, 181);
    assert_int_equal(loop->flagged_steps, 101);
    script_free(b.s);
}

static void the_quiet_clock_leaves_out_what_the_loop_waited(void **state)
{
    struct bench b = new_bench();
    const struct snap_arms *const arms = &make_experiment(&b, 300)->arms;

    (void)state;
    assert_true(arms->rows[1].is_quiet);
    assert_near(arms->rows[0].step_ns, 100, 1e-6);
    assert_near(arms->rows[1].gain.mid, 0.5, 1e-6);
    assert_near(arms->rows[1].wall.mid, 1 - 350.0 / 400, 1e-6);
    assert_near(arms->others_share, 1 - 250.0 / 1150, 1e-6);
    script_free(b.s);
}

static void other_threads_that_work_leave_the_wall_clock(void **state)
{
    struct bench b = new_bench();

    (void)state;
    for (uint64_t round = 0; round < 10; round++) {
        make_block(&b, b.as_it_is, round, 70, 300);
        make_block(&b, b.change, round, 20, 300);
        b.others_ns += 400;
    }
    const struct snap_arms *const arms = &play_only_loop(script_finish(b.s))->arms;
    assert_false(arms->rows[1].is_quiet);
    assert_near(arms->rows[1].gain.mid, 1 - 350.0 / 400, 1e-6);
    script_free(b.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_counts_in_its_block_once_that_has_settled),
        cmocka_unit_test(steps_of_a_change_are_in_no_statistics_of_the_run),
        cmocka_unit_test(the_quiet_clock_leaves_out_what_the_loop_waited),
        cmocka_unit_test(other_threads_that_work_leave_the_wall_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
