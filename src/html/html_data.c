/* The numbers that the script draws. x is seconds since the run began; times of a step are
 * milliseconds. web/columns.js reads this, and nothing else does. */
#include <errno.h>
#include <math.h>

#include "base/json.h"
#include "html/html_parts.h"
#include "report/machine_rows.h"

enum { DIGITS = 6, REPORT_UP_TO = 800000 /* bytes of the page, with it */ };
static const double ms = 1e6;

/* As many digits as a chart needs. */
static void put_number(struct json *json, const char *key, double value)
{
    const double size = value != 0 ? pow(10, DIGITS - ceil(log10(fabs(value)))) : 1;

    json_double(json, key, isfinite(size) ? round(value * size) / size : value);
}

static double start_of(const struct html_page *page, const struct step_bucket *bucket)
{
    return html_seconds(page, bucket->start_ns);
}

static double end_of(const struct html_page *page, const struct step_bucket *bucket)
{
    return html_seconds(page, bucket->end_ns);
}

static double min_of(const struct html_page *page, const struct step_bucket *bucket)
{
    (void)page;
    return (double)bucket->min_ns / ms;
}

static double max_of(const struct html_page *page, const struct step_bucket *bucket)
{
    (void)page;
    return (double)bucket->max_ns / ms;
}

static void put_column(struct json *json, const struct html_page *page, const char *key,
                       double (*value)(const struct html_page *page,
                                       const struct step_bucket *bucket))
{
    json_begin_array(json, key);
    for (size_t i = 0; i < page->course->count; i++)
        json_double(json, NULL, round(value(page, &page->course->bucket[i]) * 1e6) / 1e6);
    json_end_array(json);
}

static void put_counts(struct json *json, const struct step_course *course)
{
    json_begin_array(json, "first");
    for (size_t i = 0; i < course->count; i++)
        json_int(json, NULL, course->bucket[i].first_step);
    json_end_array(json);
    json_begin_array(json, "steps");
    for (size_t i = 0; i < course->count; i++)
        json_int(json, NULL, course->bucket[i].steps);
    json_end_array(json);
    json_begin_array(json, "slowest");
    for (size_t i = 0; i < course->count; i++)
        json_int(json, NULL, course->bucket[i].max_step);
    json_end_array(json);
}

/* Means of a step, so that they and `steps` give the sums back. */
static void put_stages(struct json *json, const struct html_page *page)
{
    const struct step_course *course = page->course;

    json_begin_array(json, "stages");
    REPORT_FOR_STAGES(stage)
    {
        if (!page->report.loop->stage[stage].measured)
            continue;
        json_begin_object(json, NULL);
        json_string(json, "name", ss_stage_text((unsigned)stage));
        json_begin_array(json, "mean");
        for (size_t i = 0; i < course->count; i++)
            put_number(json, NULL,
                       (double)course->bucket[i].stage_ns[stage] / (double)course->bucket[i].steps /
                           ms);
        json_end_array(json);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_steps(struct json *json, const struct html_page *page)
{
    const struct steps_range range = html_steps_range(page);

    json_begin_object(json, "steps");
    json_double(json, "top", range.top / ms);
    json_double(json, "bottom", range.bottom / ms);
    json_double(json, "log_top", range.log_top / ms);
    put_column(json, page, "start", start_of);
    put_column(json, page, "end", end_of);
    put_column(json, page, "min", min_of);
    put_column(json, page, "max", max_of);
    put_counts(json, page->course);
    put_stages(json, page);
    json_end_object(json);
}

static void put_machine(struct json *json, const struct html_page *page)
{
    const struct snapshot *snapshot = page->report.analysis->snapshot;
    struct machine_rows rows;

    machine_rows_choose(&rows, snapshot, page->report.loop);
    json_begin_object(json, "machine");
    json_double(json, "begin", html_seconds(page, snapshot->resources.begin_ns));
    json_double(json, "end", html_seconds(page, snapshot->resources.end_ns));
    json_begin_array(json, "rows");
    for (size_t i = 0; i < rows.count; i++) {
        json_begin_object(json, NULL);
        json_string(json, "label", rows.row[i].label);
        json_string(json, "unit", rows.row[i].unit);
        json_begin_array(json, "values");
        for (size_t k = 0; k < SNAP_COURSE; k++)
            put_number(json, NULL, rows.row[i].resource.course[k] / rows.row[i].size);
        json_end_array(json);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static void put_element(struct html_page *page, const char *id, const struct buf *json)
{
    html_printf(&page->html, "<script type=\"application/json\" id=\"%s\">", id);
    html_json(&page->html, json);
    html_markup(&page->html, "</script>\n");
}

static void put_charts(struct html_page *page)
{
    const struct snap_loop *loop = page->report.loop;
    struct buf text = {0};
    struct sink out;
    struct json json;

    sink_init_buf(&out, &text);
    json_init(&json, &out);
    json_begin_object(&json, NULL);
    json_double(&json, "begin", html_seconds(page, loop->begin_ns));
    json_double(&json, "end", html_seconds(page, loop->end_ns));
    put_steps(&json, page);
    put_machine(&json, page);
    json_end_object(&json);
    if (sink_flush(&out) != 0)
        sink_fail(page->html.out, SS_E_NOMEM, ENOMEM);
    put_element(page, "data", &text);
    buf_release(&text);
}

/* The report of `stepscope report --json`, for download, unless the page would become too large. */
static void put_report(struct html_page *page)
{
    struct buf text = {0};
    struct sink out;

    sink_init_buf(&out, &text);
    report_json(&out, page->report.analysis);
    if (sink_flush(&out) != 0)
        sink_fail(page->html.out, SS_E_NOMEM, ENOMEM);
    if (page->html.out->bytes + html_json_size(&text) <= REPORT_UP_TO)
        put_element(page, "report", &text);
    buf_release(&text);
}

void html_data(struct html_page *page)
{
    if (page->report.loop && page->course && page->course->count > 0)
        put_charts(page);
    put_report(page);
}
