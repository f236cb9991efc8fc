/* report/analysis: a run is diagnosed once, however many forms it is rendered in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "html/html_page.h"
#include "report/report.h"
#include "support/own_run.h"

static unsigned diagnoses;

void __real_diagnose(struct diagnosis *out, const struct snapshot *snapshot,
                     const struct ss_run *run, unsigned hooked,
                     const struct operation_list *operations);
void __wrap_diagnose(struct diagnosis *out, const struct snapshot *snapshot,
                     const struct ss_run *run, unsigned hooked,
                     const struct operation_list *operations);

void __wrap_diagnose(struct diagnosis *out, const struct snapshot *snapshot,
                     const struct ss_run *run, unsigned hooked,
                     const struct operation_list *operations)
{
    diagnoses++;
    __real_diagnose(out, snapshot, run, hooked, operations);
}

static size_t render(const struct analysis *analysis, unsigned form)
{
    const struct style style = {.columns = STYLE_COLUMNS};
    const struct step_courses courses = {0};
    struct buf text = {0};
    struct sink out;

    sink_init_buf(&out, &text);
    if (form == 0)
        report_text(&out, analysis, &style);
    else if (form == 1)
        report_json(&out, analysis);
    else if (form == 2)
        report_summary(&out, analysis, &style);
    else if (form == 3)
        report_status_line(&out, analysis, &style);
    else
        html_page_write(&out, analysis, &courses);
    assert_int_equal(sink_flush(&out), 0);
    const size_t size = text.size;
    buf_release(&text);
    return size;
}

static void a_run_is_diagnosed_once_whatever_is_rendered(void **state)
{
    struct own_run *own = *state;
    struct run_facts facts;
    struct feed feed;
    struct snapshot *snapshot;
    struct analysis analysis;

    own_run_start(own, 0);
    const ss_name name = ss_intern("work", SS_STAGE_COMPUTE, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    for (int i = 0; i < 20; i++) {
        ss_begin(name, 0);
        ss_end(0, 0);
    }
    own_run_stop(own);
    assert_int_equal(run_facts_load(&facts, own->dir), 0);
    assert_int_equal(snapshot_run(&feed, own->run, &facts, &snapshot), 0);
    diagnoses = 0;
    analysis_make(&analysis, snapshot, own->run, &facts, &feed.hooks);
    for (unsigned form = 0; form < 5; form++)
        assert_true(render(&analysis, form) > 0);
    assert_int_equal(diagnoses, 1);
    snapshot_free(snapshot);
    feed_release(&feed);
    run_facts_release(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OWN_RUN_TEST(a_run_is_diagnosed_once_whatever_is_rendered),
    };

    return cmocka_run_group_tests_name("report/analysis", tests, NULL, NULL);
}
