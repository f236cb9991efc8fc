#include "report_contender.h"

#include <stdio.h>
#include <stdlib.h>

#include "export/export.h"
#include "html/html_page.h"
#include "report/report.h"

struct bench_run {
    struct ss_run *run;
    struct run_facts facts;
};

static volatile int64_t total; /* keeps what was computed */

struct bench_run *bench_run_open(const char *dir)
{
    struct bench_run *const opened = calloc(1, sizeof *opened);
    struct ss_error error;

    if (!opened || run_facts_load(&opened->facts, dir) != 0)
        return NULL;
    opened->run = ss_run_open(dir, &error);
    if (!opened->run)
        fprintf(stderr, "%s\n", error.message);
    return opened->run ? opened : NULL;
}

void bench_run_close(struct bench_run *run)
{
    ss_run_close(run->run);
    run_facts_release(&run->facts);
    free(run);
}

uint64_t bench_run_iterate(struct bench_run *run)
{
    struct ss_cursor *const cursor = ss_cursor_new(run->run, SS_ALL_LANES);
    struct ss_record record;
    uint64_t spans = 0;
    int64_t sum = 0;

    while (cursor && ss_cursor_next(cursor, &record)) {
        spans += record.kind == SS_KIND_SPAN;
        sum += record.end_ns - record.start_ns;
    }
    ss_cursor_free(cursor);
    total = sum;
    return spans;
}

size_t bench_run_report(struct bench_run *run)
{
    const struct style style = {.columns = STYLE_COLUMNS};
    struct buf text = {0};
    struct sink out;
    struct feed feed;

    sink_init_buf(&out, &text);
    if (feed_init(&feed, run->run, &run->facts) != 0 || feed_more(&feed) != 0)
        abort();
    feed_finish(&feed);
    struct snapshot *const snapshot = model_snapshot(feed.model);
    struct analysis analysis;

    if (!snapshot || snapshot->loop_count == 0)
        abort();
    analysis_make(&analysis, snapshot, run->run, &run->facts, &feed.hooks);
    report_text(&out, &analysis, &style);
    sink_flush(&out);
    snapshot_free(snapshot);
    feed_release(&feed);
    const size_t size = text.size;
    buf_release(&text);
    return size;
}

size_t bench_run_page(struct bench_run *run)
{
    struct step_courses courses = {0};
    struct snapshot *snapshot;
    struct buf text = {0};
    struct sink out;
    struct feed feed;

    sink_init_buf(&out, &text);
    if (snapshot_run_observed(&feed, run->run, &run->facts, step_courses_add, &courses,
                              &snapshot) != 0)
        abort();
    struct analysis analysis;
    analysis_make(&analysis, snapshot, run->run, &run->facts, &feed.hooks);
    html_page_write(&out, &analysis, &courses);
    if (sink_flush(&out) != 0)
        abort();
    snapshot_free(snapshot);
    feed_release(&feed);
    step_courses_release(&courses);
    const size_t size = text.size;
    buf_release(&text);
    return size;
}

uint64_t bench_run_export(struct bench_run *run, const char *format, int fd)
{
    const struct export_format *const found = export_find(format);
    const struct export_job job = {.run = run->run, .facts = &run->facts};
    struct sink out;

    sink_init_fd(&out, fd);
    if (!found || found->write(&job, &out) != 0 || sink_flush(&out) != 0)
        abort();
    return out.bytes;
}

void bench_run_export_directory(struct bench_run *run, const char *format, const char *dir)
{
    const struct export_format *const found = export_find(format);
    const struct export_job job = {.run = run->run, .facts = &run->facts, .force = true};
    struct ss_error error;

    if (!found || found->write_directory(&job, dir, &error) != 0)
        abort();
}
