/* Callbacks, spans and predictions, by name. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "render/numbers.h"
#include "render/table.h"
#include "report/report_parts.h"

enum {
    NAMES_SHOWN = 12,
    CALLBACK_COLUMNS = 36 /* a class and its method say more than a quantile */
};

/* What a table shows: the names of one kind, those with most time first. */
struct selection {
    const struct snap_span *row[NAMES_SHOWN];
    size_t count, left_out;
    int64_t left_out_ns;
    uint64_t fewest, most; /* calls of a name */
    struct scale total, each;
};

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void find_scales(struct selection *selection)
{
    double mean[NAMES_SHOWN] = {0}, largest = 0;

    selection->fewest = UINT64_MAX;
    for (size_t i = 0; i < selection->count; i++) {
        const struct snap_span *span = selection->row[i];
        mean[i] = span->mean_ns;
        largest = fmax(largest, (double)span->quantiles.max_ns);
        if (span->count < selection->fewest)
            selection->fewest = span->count;
        if (span->count > selection->most)
            selection->most = span->count;
    }
    qsort(mean, selection->count, sizeof *mean, compare_doubles);
    const double total = (double)selection->row[0]->total_ns;
    selection->each = scale_for(mean[selection->count / 2], largest);
    selection->total = scale_for(total, total);
}

static void select_spans(struct selection *selection, const struct snapshot *snapshot,
                         bool (*is_wanted)(const struct snap_span *span))
{
    *selection = (struct selection){0};
    for (size_t i = 0; i < snapshot->span_count; i++) {
        const struct snap_span *span = &snapshot->spans[i];
        if (!is_wanted(span))
            continue;
        if (selection->count < NAMES_SHOWN) {
            selection->row[selection->count++] = span;
        } else {
            selection->left_out++;
            selection->left_out_ns += span->total_ns;
        }
    }
    if (selection->count > 0)
        find_scales(selection);
}

static void add_name(struct table *table, const struct snap_span *span)
{
    struct buf name = {0};

    snapshot_span_name(&name, span);
    table_text(table, buf_text(&name));
    buf_release(&name);
}

static bool has(double ns)
{
    return isfinite(ns);
}

/* Quantiles that no name has get no column; where some have none, their maximum matters more than
 * the p99 of others. */
static void each_columns(struct table *table, const struct selection *selection)
{
    const struct snap_quantiles all = {0};
    const struct snap_quantiles best = report_quantiles(all, selection->most);
    const struct snap_quantiles worst = report_quantiles(all, selection->fewest);

    table_column(table, "mean", TABLE_NUMBER);
    table_optional(table, "p50", TABLE_NUMBER, 1);
    if (has(best.p95_ns))
        table_optional(table, "p95", TABLE_NUMBER, 4);
    if (has(best.p99_ns))
        table_optional(table, "p99", TABLE_NUMBER, has(worst.p99_ns) ? 5 : 6);
    table_optional(table, "max", TABLE_NUMBER, has(worst.p99_ns) ? 6 : 5);
}

static void add_each(struct table *table, const struct snap_span *span,
                     const struct selection *selection)
{
    const struct snap_quantiles best =
        report_quantiles((struct snap_quantiles){0}, selection->most);
    const struct snap_quantiles own = report_quantiles(span->quantiles, span->count);
    const struct scale scale = selection->each;
    char text[UNITS_SIZE];

    table_cell(table, "%s", scale_text(text, span->mean_ns, scale));
    table_cell(table, "%s", scale_text(text, own.p50_ns, scale));
    if (has(best.p95_ns))
        table_cell(table, "%s", scale_text(text, own.p95_ns, scale));
    if (has(best.p99_ns))
        table_cell(table, "%s", scale_text(text, own.p99_ns, scale));
    table_cell(table, "%s", scale_text(text, (double)own.max_ns, scale));
}

static void print(struct report *report, struct table *table, const struct selection *selection)
{
    char text[UNITS_SIZE];

    table_print(table, &report->page, report->style);
    table_release(table);
    if (selection->left_out > 0) {
        buf_printf(&report->page.value, "and %zu more %s: %s; --json lists all",
                   selection->left_out, selection->left_out == 1 ? "name" : "names",
                   units_duration(text, selection->left_out_ns));
        report_paragraph(report, false);
    }
}

/* Of the steps; of what is in none of them, where in the loop it was. */
static void add_share(struct table *table, const struct snap_span *span)
{
    const double share = report_span_share(span);
    const char *place = report_span_place(span);
    char text[UNITS_SIZE];

    table_cell(table, "%s", has(share) || !place ? share_text(text, share) : place);
}

static void names(struct report *report, const struct selection *selection, const char *title,
                  bool with_stage)
{
    struct table table;
    char text[UNITS_SIZE];

    report_title(report, "%s: total and self %s, each %s%s", title, selection->total.unit.name,
                 selection->each.unit.name,
                 !report->loop                         ? ""
                 : report_has_statistics(report->loop) ? ", share of steady time"
                                                       : ", share of the steps");
    table_init(&table);
    table.text_wanted = with_stage ? 0 : CALLBACK_COLUMNS;
    table_column(&table, "", TABLE_TEXT);
    if (with_stage)
        table_optional(&table, "stage", TABLE_TEXT, 2);
    table_column(&table, "count", TABLE_NUMBER);
    table_column(&table, "total", TABLE_NUMBER);
    table_optional(&table, "self", TABLE_NUMBER, 3);
    each_columns(&table, selection);
    if (report->loop)
        table_column(&table, "share", TABLE_NUMBER);
    for (size_t i = 0; i < selection->count; i++) {
        const struct snap_span *span = selection->row[i];
        add_name(&table, span);
        if (with_stage)
            table_cell(&table, "%s", ss_stage_text(span->stage));
        table_cell(&table, "%s", count_text(text, span->count));
        table_cell(&table, "%s", scale_text(text, (double)span->total_ns, selection->total));
        table_cell(&table, "%s", scale_text(text, (double)span->self_ns, selection->total));
        add_each(&table, span, selection);
        if (report->loop)
            add_share(&table, span);
    }
    print(report, &table, selection);
}

static bool is_callback(const struct snap_span *span)
{
    return span->stage == SS_STAGE_CALLBACK;
}

static bool is_prediction(const struct snap_span *span)
{
    return span->stage == SS_STAGE_INFER;
}

static bool is_other_span(const struct snap_span *span)
{
    return !is_callback(span) && !is_prediction(span);
}

void report_callbacks(struct report *report)
{
    struct selection selection;

    select_spans(&selection, report->analysis->snapshot, is_callback);
    if (selection.count > 0)
        names(report, &selection, "Callbacks", false);
}

void report_spans(struct report *report)
{
    struct selection selection;

    select_spans(&selection, report->analysis->snapshot, is_other_span);
    if (selection.count > 0)
        names(report, &selection, "Spans", true);
}

void report_latency(struct report *report)
{
    struct selection selection;
    struct table table;
    char text[UNITS_SIZE];

    select_spans(&selection, report->analysis->snapshot, is_prediction);
    if (selection.count == 0)
        return;
    report_title(report, "Predictions: total %s, each %s", selection.total.unit.name,
                 selection.each.unit.name);
    table_init(&table);
    table_column(&table, "", TABLE_TEXT);
    table_column(&table, "count", TABLE_NUMBER);
    table_column(&table, "total", TABLE_NUMBER);
    each_columns(&table, &selection);
    for (size_t i = 0; i < selection.count; i++) {
        const struct snap_span *span = selection.row[i];
        add_name(&table, span);
        table_cell(&table, "%s", count_text(text, span->count));
        table_cell(&table, "%s", scale_text(text, (double)span->total_ns, selection.total));
        add_each(&table, span, &selection);
    }
    print(report, &table, &selection);
}
