#include "report/report_job.h"

#include <math.h>
#include <string.h>

#include "render/units.h"
#include "report/report_json.h"

enum { LAUNCHES_NAMED = 4, SKIPPED_NAMED = 4 };

static void say_safe(struct report *report, const char *text)
{
    page_text(&report->page, (struct ss_text){text, strlen(text)}, STYLE_COLUMNS);
}

static void say_launch(struct report *report, const struct job_launch *launch, bool is_first)
{
    if (!is_first)
        buf_add_text(&report->page.value, ", ");
    say_safe(report, launch->directory);
    buf_add_text(&report->page.value, " on ");
    say_safe(report, launch->host);
}

/* Names the launches that `holds` says, after a text with their number. */
static void say_launches(struct report *report, bool (*holds)(const struct job_launch *),
                         const char *what)
{
    const struct job_view *job = report->analysis->job;
    size_t count = 0, named = 0;

    for (size_t i = 0; i < job->launch_count; i++)
        count += holds(&job->launches[i]);
    if (count == 0)
        return;
    page_count(&report->page, count, "launch", "launches");
    buf_printf(&report->page.value, " %s (", what);
    for (size_t i = 0; i < job->launch_count && named < LAUNCHES_NAMED; i++)
        if (holds(&job->launches[i]))
            say_launch(report, &job->launches[i], named++ == 0);
    buf_add_text(&report->page.value, count > named ? ", ...)" : ")");
    report_paragraph(report, false);
}

static bool goes_on(const struct job_launch *launch)
{
    return !launch->has_ended;
}

static bool has_failed(const struct job_launch *launch)
{
    return launch->has_ended && (launch->signal > 0 || launch->exit_code > 0);
}

static bool has_no_rank(const struct job_launch *launch)
{
    return launch->has_ended && launch->ranks == 0;
}

static void say_skipped(struct report *report)
{
    const struct job_view *job = report->analysis->job;

    for (size_t i = 0; i < job->skipped_count && i < SKIPPED_NAMED; i++) {
        buf_add_text(&report->page.value, "Skipped ");
        say_safe(report, job->skipped[i].path);
        buf_add_text(&report->page.value, ": ");
        say_safe(report, job->skipped[i].why);
        report_paragraph(report, false);
    }
    if (job->skipped_count > SKIPPED_NAMED) {
        page_count(&report->page, job->skipped_count - SKIPPED_NAMED, "more part was skipped",
                   "more parts were skipped");
        report_paragraph(report, false);
    }
}

static void say_clocks(struct report *report)
{
    const struct job_view *job = report->analysis->job;
    char error[UNITS_SIZE];

    if (job->host_count < 2)
        return;
    if (isfinite(job->clock_error_ns))
        buf_printf(&report->page.value, "Clocks of the hosts agree to %s.",
                   units_duration(error, (int64_t)job->clock_error_ns));
    else
        buf_add_text(
            &report->page.value,
            "Clocks of the hosts are not synchronised: times between hosts are not known. The comparison of ranks needs none.");
    report_paragraph(report, false);
}

void report_job(struct report *report)
{
    const struct job_view *job = report->analysis->job;
    struct buf *value = &report->page.value;
    char took[UNITS_SIZE];

    buf_add_text(value, "Job ");
    say_safe(report, job->id);
    buf_add_text(value, ": ");
    if (job->compared.world > job->rank_count)
        buf_printf(value, "%zu of %u ranks", job->rank_count, job->compared.world);
    else
        page_count(&report->page, job->rank_count, "rank", "ranks");
    buf_add_text(value, " on ");
    page_count(&report->page, job->host_count, "host", "hosts");
    buf_add_text(value, " in ");
    page_count(&report->page, job->launch_count, "launch", "launches");
    if (job->took_ns > 0)
        buf_printf(value, ", took %s", units_duration(took, job->took_ns));
    report_paragraph(report, true);
    say_launches(report, goes_on, "did not report an end: still running, or lost");
    say_launches(report, has_failed, "failed");
    say_launches(report, has_no_rank, "recorded no rank");
    if (job->repeated > 0) {
        page_count(&report->page, job->repeated, "earlier recording", "earlier recordings");
        buf_add_text(value, " of ranks that were started again: not counted");
        report_paragraph(report, false);
    }
    say_skipped(report);
    say_clocks(report);
    report_ranks(report);
}

void report_job_alone(struct sink *out, const struct analysis *analysis, const struct style *style)
{
    struct report report;

    report_begin(&report, out, analysis, style);
    report_job(&report);
    report_findings(&report);
    buf_add_text(&report.page.value, "Records: none of this job are here. ");
    if (analysis->job->launch_count > 0) {
        buf_add_text(&report.page.value, "Those of rank ");
        buf_printf(&report.page.value, "%d are in ", analysis->job->launches[0].first_rank);
        say_safe(&report, analysis->job->launches[0].path);
        buf_add_text(&report.page.value, " on ");
        say_safe(&report, analysis->job->launches[0].host);
        buf_add_text(&report.page.value, ".");
    }
    report_paragraph(&report, false);
    report_end(&report);
}

void report_json_job_alone(struct sink *out, const struct analysis *analysis)
{
    struct json json;

    json_init(&json, out);
    json_begin_object(&json, NULL);
    json_string(&json, "schema", REPORT_JSON_JOB_SCHEMA);
    report_json_findings(&json, analysis->snapshot, &analysis->diagnosis);
    report_json_job(&json, analysis);
    json_end_object(&json);
    json_end_line(&json);
}

static void put_launch(struct json *json, const struct job_launch *launch)
{
    json_begin_object(json, NULL);
    json_string(json, "directory", launch->directory);
    json_string(json, "host", launch->host);
    json_string(json, "path", launch->path);
    json_uint(json, "ranks", launch->ranks);
    json_bool(json, "ended", launch->has_ended);
    json_int(json, "exit_code", launch->exit_code);
    json_int(json, "signal", launch->signal);
    json_uint(json, "lost_records", launch->lost_records);
    json_begin_array(json, "findings");
    for (size_t i = 0; i < launch->finding_count; i++)
        json_string(json, NULL, launch->findings[i].name);
    json_end_array(json);
    json_end_object(json);
}

void report_json_launches(struct json *json, const struct job_view *job)
{
    json_uint(json, "repeated", job->repeated);
    json_begin_array(json, "launches");
    for (size_t i = 0; i < job->launch_count; i++)
        put_launch(json, &job->launches[i]);
    json_end_array(json);
    json_begin_array(json, "skipped");
    for (size_t i = 0; i < job->skipped_count; i++) {
        json_begin_object(json, NULL);
        json_string(json, "path", job->skipped[i].path);
        json_string(json, "reason", job->skipped[i].why);
        json_end_object(json);
    }
    json_end_array(json);
}
