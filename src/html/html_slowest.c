/* The slowest steps, each with the spans that were in it: read from the loop's lane once more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "html/html_parts.h"

enum { SPANS_MOST = 60, ROWS_MOST = 6, ROW_HEIGHT = 18, NAME_MOST = 60 };
enum { LONGEST_SHOWN = 3 };
static const double label_share = 0.12;

struct seen_span {
    int64_t start_ns, end_ns;
    uint16_t name;
    uint8_t depth, stage;
};

struct slow_view {
    const struct slow_step *step;
    struct seen_span span[SPANS_MOST];
    size_t count, left_out;
};

static int64_t length_of(const struct seen_span *span)
{
    return span->end_ns - span->start_ns;
}

/* Without room, the shortest gives way. */
static void add_span(struct slow_view *view, const struct seen_span *span)
{
    size_t shortest = 0;

    if (view->count < SPANS_MOST) {
        view->span[view->count++] = *span;
        return;
    }
    view->left_out++;
    for (size_t i = 1; i < SPANS_MOST; i++)
        if (length_of(&view->span[i]) < length_of(&view->span[shortest]))
            shortest = i;
    if (length_of(span) > length_of(&view->span[shortest]))
        view->span[shortest] = *span;
}

static void look_at(struct slow_view *view, size_t count, const struct ss_record *record)
{
    for (size_t i = 0; i < count; i++) {
        const struct slow_step *step = view[i].step;
        const int64_t end_ns = step->start_ns + step->time_ns;
        if (record->start_ns < step->start_ns || record->end_ns > end_ns)
            continue;
        add_span(&view[i], &(struct seen_span){.start_ns = record->start_ns,
                                               .end_ns = record->end_ns,
                                               .name = record->name,
                                               .depth = record->depth,
                                               .stage = record->stage});
    }
}

static void read_spans(const struct html_page *page, struct slow_view *view, size_t count)
{
    struct ss_cursor *cursor = ss_cursor_new(page->report.analysis->run, page->report.loop->lane);
    struct ss_record record;

    while (cursor && ss_cursor_next(cursor, &record))
        if (record.kind == SS_KIND_SPAN && !(record.flags & SS_FLAG_SAMPLED))
            look_at(view, count, &record);
    ss_cursor_free(cursor);
}

/* As the table of spans calls it. */
static void put_name(struct html_page *page, const struct seen_span *span, size_t columns)
{
    const struct ss_name_info *name =
        ss_run_name(page->report.analysis->run, page->report.loop->process, span->name);
    struct buf whole = {0};

    report_name(&whole, name->text, name->object, name->scope);
    html_bytes(&page->html, buf_text(&whole), whole.size, columns);
    buf_release(&whole);
}

static void put_span(struct html_page *page, const struct slow_step *step,
                     const struct seen_span *span, unsigned row)
{
    struct html *html = &page->html;
    const double whole = (double)step->time_ns;
    const double from = (double)(span->start_ns - step->start_ns) / whole;
    const double share = (double)length_of(span) / whole;
    char text[UNITS_SIZE];

    html_printf(html, "<g><title>%s, %s: ", units_duration(text, length_of(span)),
                ss_stage_text(span->stage));
    put_name(page, span, NAME_MOST);
    html_printf(html,
                "</title><rect class=\"s-%s\" x=\"%.3f%%\" width=\"%.3f%%\" y=\"%u\" "
                "height=\"%d\"/>",
                ss_stage_text(span->stage), 100 * from, 100 * share, row * ROW_HEIGHT,
                ROW_HEIGHT - 1);
    if (share >= label_share) {
        html_printf(html, "<text class=\"part on-%s%s\" x=\"%.2f%%\" y=\"%u\">",
                    ss_stage_text(span->stage), share < 0.4 ? " wide" : "",
                    100 * (from + share / 2), row * ROW_HEIGHT + 13);
        put_name(page, span, (size_t)(share * 80));
        html_markup(html, "</text>");
    }
    html_markup(html, "</g>\n");
}

static int longer_first(const void *a, const void *b)
{
    const int64_t x = length_of(a), y = length_of(b);

    return (x < y) - (x > y);
}

/* In words too: for paper, and for readers who cannot see it. */
static void put_longest(struct html_page *page, const struct slow_view *view)
{
    struct html *html = &page->html;
    char text[UNITS_SIZE];

    html_markup(html, "<figcaption>longest: ");
    for (size_t i = 0; i < view->count && i < LONGEST_SHOWN; i++) {
        html_markup(html, i > 0 ? ", " : "");
        put_name(page, &view->span[i], NAME_MOST);
        html_printf(html, " <span class=\"amount\">%s</span>",
                    units_duration(text, length_of(&view->span[i])));
    }
    if (view->left_out > 0)
        html_printf(html, "; %zu short ones are not shown", view->left_out);
    html_markup(html, "</figcaption>");
}

/* Where its time went, each nanosecond once: spans lie within each other, stages do not. */
static void put_stages(struct html_page *page, const struct slow_step *step)
{
    struct html *html = &page->html;
    char took[UNITS_SIZE];
    double from = 0;

    html_printf(html,
                "<svg class=\"stack\" width=\"100%%\" height=\"%d\" role=\"img\" "
                "aria-label=\"the step by stage\">",
                ROW_HEIGHT);
    REPORT_FOR_STAGES(stage)
    {
        const char *name = ss_stage_text((unsigned)stage);
        const double share = (double)step->stage_ns[stage] / (double)step->time_ns;
        if (!(share > 0))
            continue;
        html_printf(html,
                    "<rect class=\"s-%s\" x=\"%.3f%%\" width=\"%.3f%%\" y=\"0\" height=\"%d\">"
                    "<title>%s %s</title></rect>",
                    name, 100 * from, 100 * share, ROW_HEIGHT, name,
                    units_duration(took, step->stage_ns[stage]));
        if (share >= label_share)
            html_printf(html, "<text class=\"part on-%s%s\" x=\"%.2f%%\" y=\"13\">%s</text>", name,
                        share < 0.4 ? " wide" : "", 100 * (from + share / 2), name);
        from += share;
    }
    html_markup(html, "</svg>\n");
}

static void put_view(struct html_page *page, struct slow_view *view)
{
    struct html *html = &page->html;
    unsigned least = UINT8_MAX, most = 0;
    char number[UNITS_SIZE], took[UNITS_SIZE];

    if (view->count == 0)
        return;
    for (size_t i = 0; i < view->count; i++) {
        least = view->span[i].depth < least ? view->span[i].depth : least;
        most = view->span[i].depth > most ? view->span[i].depth : most;
    }
    const unsigned rows = most - least + 1 < ROWS_MOST ? most - least + 1 : ROWS_MOST;
    qsort(view->span, view->count, sizeof *view->span, longer_first);
    html_printf(html,
                "<figure class=\"step\" data-start=\"%.6f\"><h3>Step %s <small>%s, from "
                "%.3f s on</small></h3>\n",
                html_seconds(page, view->step->start_ns),
                units_integer(number, (uint64_t)view->step->number),
                units_duration(took, view->step->time_ns),
                html_seconds(page, view->step->start_ns));
    put_stages(page, view->step);
    html_printf(html,
                "<svg class=\"spans\" width=\"100%%\" height=\"%u\" role=\"img\" "
                "aria-label=\"spans of the step\">\n",
                rows * ROW_HEIGHT);
    for (size_t i = 0; i < view->count; i++)
        if (view->span[i].depth - least < rows)
            put_span(page, view->step, &view->span[i], view->span[i].depth - least);
    html_markup(html, "</svg>");
    put_longest(page, view);
    html_markup(html, "</figure>\n");
}

void html_slowest(struct html_page *page)
{
    const struct snap_loop *loop = page->report.loop;
    const size_t count = loop ? (size_t)report_slow_steps(loop, SNAP_SLOWEST) : 0;

    if (count == 0)
        return;
    report_slowest(&page->report, SNAP_SLOWEST);
    html_medium_end(page);
    struct slow_view *view = calloc(count, sizeof *view);
    if (!view) {
        sink_fail(page->html.out, SS_E_NOMEM, ENOMEM);
        return;
    }
    for (size_t i = 0; i < count; i++)
        view[i].step = &loop->slowest[i];
    read_spans(page, view, count);
    for (size_t i = 0; i < count; i++)
        put_view(page, &view[i]);
    free(view);
}
