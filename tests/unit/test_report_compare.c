/* report/compare_text, compare_json: what a comparison says of runs that were
 * disturbed or never steady. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/compare_report.h"

enum { RUNS = 2 };

/* A run a side: steps of 10 ms, B's 30 % longer. */
struct fixture {
    struct compare_run run[RUNS];
    struct compare_facts facts[RUNS];
    char *names[RUNS];
    struct compare_report report;
};

static char first_name[] = "base", second_name[] = "new\x1b[2J";

static void make(struct fixture *out)
{
    *out = (struct fixture){.names = {first_name, second_name}};
    for (size_t i = 0; i < RUNS; i++) {
        const double ns = i == 0 ? 1e7 : 1.3e7;
        out->run[i] = (struct compare_run){.steps = 500,
                                           .steady_steps = 500,
                                           .class = WARMUP_FLAT,
                                           .samples = NAN,
                                           .watched = true,
                                           .run_sigma = COMPARE_RUN_SIGMA};
        out->run[i].time[COMPARE_STEP] = (struct compare_time){true, ns, ns / 1000, ns};
        out->run[i].time[SS_STAGE_OTHER] = out->run[i].time[COMPARE_STEP];
    }
    out->report = (struct compare_report){.runs = out->run,
                                          .facts = out->facts,
                                          .names = out->names,
                                          .run_count = RUNS,
                                          .side = {{"A", 0, 1}, {"B", 1, 1}},
                                          .side_count = 2,
                                          .gate = NAN};
}

static void disturb(struct compare_run *run, enum validity_level level, const char *text)
{
    struct validity_item *item = &run->validity.item[run->validity.count++];

    item->level = level;
    strncpy(item->text, text, sizeof item->text - 1);
    run->validity.level = level > run->validity.level ? level : run->validity.level;
}

static const char *print(struct fixture *fixture, struct buf *out, bool as_json)
{
    const struct style style = {.columns = STYLE_COLUMNS};
    struct sink sink;

    buf_reset(out);
    sink_init_buf(&sink, out);
    compare_report_fill(&fixture->report);
    if (as_json)
        compare_json(&sink, &fixture->report);
    else
        compare_text(&sink, &fixture->report, &style);
    assert_int_equal(sink_flush(&sink), 0);
    return buf_text(out);
}

#define assert_has(text, words) assert_non_null(strstr(text, words))
#define assert_lacks(text, words) assert_null(strstr(text, words))

static void what_changed_times_is_said_before_the_answer(void **state)
{
    (void)state;
    struct fixture made;
    struct buf out = {0};

    make(&made);
    disturb(&made.run[1], VALIDITY_NOTE, "a trifle");
    disturb(&made.run[1], VALIDITY_WARN, "the clock jumped");
    disturb(&made.run[1], VALIDITY_WARN, "1 GB went to swap");
    const char *text = print(&made, &out, false);
    assert_has(text, "\nB new\xef\xbf\xbd[2J: the clock jumped; 1 GB went to swap\n");
    assert_lacks(text, "a trifle");
    assert_lacks(text, "\nA base: ");
    assert_true(strstr(text, "What disturbed") < strstr(text, "B is slower than A"));
    text = print(&made, &out, true);
    assert_has(text, "\"disturbed\":[\"the clock jumped\",\"1 GB went to swap\"]");
    buf_release(&out);
}

static void quiet_runs_have_nothing_to_say(void **state)
{
    (void)state;
    struct fixture made;
    struct buf out = {0};

    make(&made);
    made.run[1].watched = false;
    disturb(&made.run[1], VALIDITY_WARN, "of which nothing is known");
    assert_lacks(print(&made, &out, false), "isturbed");
    assert_has(print(&made, &out, true), "\"validity\":null,\"disturbed\":[]");
    buf_release(&out);
}

static void a_run_that_was_never_steady_is_said_to_be(void **state)
{
    (void)state;
    struct fixture made;
    struct buf out = {0};

    make(&made);
    made.run[0].class = WARMUP_NO_STEADY_STATE;
    const char *text = print(&made, &out, false);
    assert_has(text, "\nInconclusive: +30.0 % (");
    assert_has(text, "never steady");
    assert_has(text, "\nBasis     none: a run never became steady");
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_changed_times_is_said_before_the_answer),
        cmocka_unit_test(quiet_runs_have_nothing_to_say),
        cmocka_unit_test(a_run_that_was_never_steady_is_said_to_be),
    };
    return cmocka_run_group_tests_name("report/compare", tests, NULL, NULL);
}
