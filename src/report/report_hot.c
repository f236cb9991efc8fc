/* Lines of code with their share of each stage, by stack samples. */
#include <string.h>

#include "base/code_place.h"
#include "render/numbers.h"
#include "render/table.h"
#include "report/report_json.h"
#include "report/report_parts.h"

enum { LINES_SHOWN = 8 }; /* of a stage */

const char *report_place_text(uint32_t place)
{
    return place == SNAP_HOT_OUTSIDE  ? "outside"
           : place == SNAP_HOT_MAKING ? "data, in parallel"
           : place == SNAP_HOT_BESIDE ? "other threads"
                                      : ss_stage_text(place);
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

void report_add_place(struct buf *out, const struct snap_hot_place *place)
{
    if (!place->file[0] && !place->function[0])
        buf_add_text(out, "no line of the script");
    else if (place->line > 0)
        buf_printf(out, "%s%s%u %s", file_name(place->file), code_line_mark(place->file, false),
                   place->line, place->function);
    else
        buf_printf(out, "%s %s", file_name(place->file), place->function);
}

static bool same_place(const struct snap_hot_place *a, const struct snap_hot_place *b)
{
    return a->line == b->line && strcmp(a->file, b->file) == 0 &&
           strcmp(a->function, b->function) == 0;
}

static void add_row(struct table *table, const struct snap_hot_line *line)
{
    char text[UNITS_SIZE], low[UNITS_SIZE], high[UNITS_SIZE];
    struct buf name = {0};

    report_add_place(&name, &line->at);
    table_text(table, buf_text(&name));
    table_cell(table, "%s", count_text(text, line->count));
    table_cell(table, "%s", share_text(text, line->share.mid));
    table_cell(table, "%s to %s", share_text(low, line->share.low),
               share_text(high, line->share.high));
    buf_release(&name);
}

/* What was called from there, if anything. */
static void add_leaf(struct table *table, const struct snap_hot_line *line)
{
    char text[UNITS_SIZE];
    struct buf name = {0};

    if (same_place(&line->at, &line->leaf))
        return;
    buf_add_text(&name, "  in ");
    report_add_place(&name, &line->leaf);
    table_text(table, buf_text(&name));
    table_cell(table, "%s", count_text(text, line->leaf_count));
    table_cell(table, "%s", "");
    table_cell(table, "%s", "");
    buf_release(&name);
}

/* The lines of the place that begins at `first`; returns where the next one does. */
static size_t one_place(struct report *report, const struct snap_hot *hot, size_t first)
{
    const struct snap_hot_line *line = &hot->lines[first];
    struct table table;
    char text[UNITS_SIZE];
    size_t next = first;

    report_title(report, "%s: %s samples", report_place_text(line->place),
                 count_text(text, line->place_samples));
    table_init(&table);
    table_column(&table, "line", TABLE_TEXT);
    table_column(&table, "samples", TABLE_NUMBER);
    table_column(&table, "share", TABLE_NUMBER);
    table_column(&table, "95 % interval", TABLE_NUMBER);
    for (; next < hot->line_count && hot->lines[next].place == line->place; next++) {
        if (next - first < LINES_SHOWN) {
            add_row(&table, &hot->lines[next]);
            add_leaf(&table, &hot->lines[next]);
        }
    }
    table_print(&table, &report->page, report->style);
    table_release(&table);
    if (next - first > LINES_SHOWN) {
        buf_printf(&report->page.value, "and %zu more; --json lists all",
                   next - first - LINES_SHOWN);
        page_line(&report->page);
    }
    return next;
}

void report_hot(struct report *report)
{
    const struct snap_hot *hot = &report->analysis->snapshot->hot;

    if (hot->line_count == 0)
        buf_add_text(&report->page.value, "No stacks were sampled in this run.");
    else
        buf_printf(
            &report->page.value,
            "Python lines by stage, from %llu stack samples; shares are of the stage's time.",
            (unsigned long long)hot->samples);
    report_paragraph(report, false);
    for (size_t i = 0; i < hot->line_count;)
        i = one_place(report, hot, i);
}

void report_hot_table(struct sink *out, const struct analysis *analysis, const struct style *style)
{
    struct report report;

    report_begin(&report, out, analysis, style);
    report_hot(&report);
    report_end(&report);
}

static void put_place(struct json *json, const struct snap_hot_place *place)
{
    json_string(json, "file", place->file);
    if (place->line > 0)
        json_uint(json, "line", place->line);
    else
        json_null(json, "line");
    json_string(json, "function", place->function);
}

void report_json_hot(struct json *json, const struct snap_hot *hot)
{
    json_begin_object(json, "hot");
    json_uint(json, "samples", hot->samples);
    json_uint(json, "unplaced", hot->unplaced);
    json_begin_array(json, "lines");
    for (size_t i = 0; i < hot->line_count; i++) {
        const struct snap_hot_line *line = &hot->lines[i];
        json_begin_object(json, NULL);
        json_string(json, "stage", report_place_text(line->place));
        put_place(json, &line->at);
        json_uint(json, "count", line->count);
        json_uint(json, "batch_count", line->batch_count);
        report_json_interval(json, "share", "share_ci", line->share);
        json_begin_object(json, "leaf");
        put_place(json, &line->leaf);
        json_uint(json, "count", line->leaf_count);
        json_end_object(json);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}
