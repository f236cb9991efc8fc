#include "support/whole_path.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "html/html_page.h"
#include "import/json_pull.h"
#include "report/compare_report.h"
#include "report/dump.h"
#include "report/info.h"

#define EXPECT(condition) expect((condition), #condition, __LINE__)

static const char nowhere[] = "/nonexistent/run";
static const int64_t deadline_ns = 1000000000;

static void expect(bool condition, const char *text, int line)
{
    if (condition)
        return;
    fprintf(stderr, "whole_path: line %d: not true: %s\n", line, text);
    abort();
}

static void check_words(const struct pull *pull)
{
    static const char *const words[] = {"true", "false", "null"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(pull->text, words[i]) == 0)
            return;
    char *end;
    EXPECT(isfinite(strtod(pull->text, &end)) && *end == '\0' && pull->text[0] != 'n');
}

static void check_json(const struct buf *text)
{
    struct trace_input input;
    struct pull pull;
    enum pull_token token;

    trace_input_memory(&input, buf_text(text), text->size);
    pull_init(&pull, &input);
    while ((token = pull_next(&pull)) != PULL_END) {
        EXPECT(token != PULL_WRONG);
        if (token == PULL_WORD)
            check_words(&pull);
    }
    trace_input_release(&input);
}

/* Ends what was written: there is something, and JSON is JSON. */
static void finish(struct sink *out, struct buf *text, bool is_json)
{
    EXPECT(sink_flush(out) == 0 && !text->failed && text->size > 0);
    if (is_json)
        check_json(text);
    buf_reset(text);
    sink_init_buf(out, text);
}

static void write_reports(const struct analysis *analysis, const struct step_courses *courses)
{
    const struct style style = {.columns = STYLE_COLUMNS, .blocks = true};
    const struct style narrow = {.columns = 20};
    struct buf text = {0};
    struct sink out;

    sink_init_buf(&out, &text);
    report_text(&out, analysis, &style);
    report_text(&out, analysis, &narrow);
    report_summary(&out, analysis, &style);
    report_status_line(&out, analysis, &style);
    report_epoch_table(&out, analysis, &style);
    report_hot_table(&out, analysis, &style);
    EXPECT(report_step_table(&out, analysis, &style, false) == 0);
    EXPECT(report_step_table(&out, analysis, &style, true) == 0);
    finish(&out, &text, false);
    report_json(&out, analysis);
    finish(&out, &text, true);
    html_page_write(&out, analysis, courses);
    finish(&out, &text, false);
    buf_release(&text);
}

static void write_exports(struct ss_run *run, const struct run_facts *facts)
{
    const struct export_job job = {.run = run, .facts = facts};
    struct buf text = {0};
    struct sink out;

    sink_init_buf(&out, &text);
    for (const struct export_format *const *format = export_formats; *format; format++)
        if ((*format)->write)
            EXPECT((*format)->write(&job, &out) == 0);
    EXPECT(sink_flush(&out) == 0);
    buf_release(&text);
}

static void write_info(struct ss_run *run, const struct analysis *analysis)
{
    struct tally tally;
    struct buf text = {0};
    struct sink out;

    sink_init_buf(&out, &text);
    EXPECT(tally_gather(&tally, run, nowhere) == 0);
    info_text(&out, &tally, analysis, true);
    finish(&out, &text, false);
    info_json(&out, &tally, analysis);
    finish(&out, &text, true);
    tally_release(&tally);
    buf_release(&text);
}

static void write_dump(struct ss_run *run)
{
    struct ss_cursor *const cursor = ss_cursor_new(run, SS_ALL_LANES);
    struct buf text = {0};
    struct ss_record record;
    struct dump dump;
    struct sink out;

    EXPECT(cursor != NULL);
    sink_init_buf(&out, &text);
    dump_init(&dump, run, &out);
    while (ss_cursor_next(cursor, &record)) {
        dump_text(&dump, &record);
        finish(&out, &text, false);
        dump_json(&dump, &record);
        finish(&out, &text, true);
    }
    dump_release(&dump);
    ss_cursor_free(cursor);
    buf_release(&text);
}

/* With itself. */
static void write_comparison(struct ss_run *run, const struct snapshot *snapshot)
{
    const struct style style = {.columns = STYLE_COLUMNS};
    struct compare_run runs[2] = {{0}};
    struct compare_facts facts[2];
    char name[] = "run", *names[] = {name, name};
    struct compare_report report = {.runs = runs,
                                    .facts = facts,
                                    .names = names,
                                    .run_count = 2,
                                    .side = {{"a", 0, 1}, {"b", 1, 1}},
                                    .side_count = 2,
                                    .gate = 0.05};
    struct buf text = {0};
    struct sink out;

    bool has_steps = true;
    for (int i = 0; i < 2; i++) {
        has_steps = compare_take(&runs[i], snapshot, run) && has_steps;
        EXPECT(compare_facts_take(&facts[i], run) == 0);
    }
    if (has_steps && runs[0].class != WARMUP_TOO_FEW) {
        sink_init_buf(&out, &text);
        compare_report_fill(&report);
        compare_text(&out, &report, &style);
        finish(&out, &text, false);
        compare_json(&out, &report);
        finish(&out, &text, true);
    }
    for (int i = 0; i < 2; i++) {
        compare_layers_release(&runs[i].layers);
        compare_facts_release(&facts[i]);
    }
    buf_release(&text);
}

/* What a finding promises is a part of the time that there is. */
static void check_findings(const struct diagnosis *diagnosis)
{
    for (size_t i = 0; i < diagnosis->count; i++) {
        const struct interval saving = finding_saving(&diagnosis->finding[i]);
        if (getenv("WHOLE_PATH_VERBOSE"))
            fprintf(stderr, "%d: %.17g to %.17g\n", (int)diagnosis->finding[i].id, saving.low,
                    saving.high);
        EXPECT(isnan(saving.low) || (saving.low >= 0 && saving.low <= 1));
        EXPECT(isnan(saving.high) || (saving.high >= 0 && saving.high <= 1));
    }
}

void whole_path(struct ss_run *run)
{
    struct step_courses courses = {0};
    struct run_facts facts;
    struct snapshot *snapshot;
    struct analysis analysis;
    struct feed feed;

    EXPECT(run_facts_load(&facts, nowhere) == 0);
    EXPECT(snapshot_run_observed(&feed, run, &facts, step_courses_add, &courses, &snapshot) == 0);
    analysis_make(&analysis, snapshot, run, &facts, &feed.hooks);
    analysis.deadline_ns = deadline_ns;
    check_findings(&analysis.diagnosis);
    write_reports(&analysis, &courses);
    write_comparison(run, snapshot);
    write_exports(run, &facts);
    write_info(run, &analysis);
    write_dump(run);
    snapshot_free(snapshot);
    feed_release(&feed);
    step_courses_release(&courses);
    run_facts_release(&facts);
}
