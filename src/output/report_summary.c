/* What `stepscope run` prints: the end of a run in 15 lines, a run that goes on in one. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "output/numbers.h"
#include "output/report_findings.h"
#include "output/report_parts.h"
#include "output/report_resources.h"
#include "output/table.h"

enum {
    STAGES_SHOWN = 6,
    SPANS_SHOWN = 3,
    HOOKS_SHOWN = 2,
    NAME_COLUMNS = 22, /* at least; on a wide page all but what the others need */
    OTHER_COLUMNS = 44,
    LABEL_COLUMNS = 8
};

/* The smallest stages give way to the rest of the lines. */
static unsigned stages_to_show(const struct snap_loop *loop, size_t most)
{
    unsigned shown = 0;

    for (size_t count = 0; count < most && count < STAGES_SHOWN; count++) {
        int largest = REPORT_NO_STAGE;
        REPORT_FOR_STAGES(stage)
        {
            const int64_t ns = loop->stage[stage].total_ns;
            if (!(shown & 1u << stage) && ns > 0 &&
                (largest == REPORT_NO_STAGE || ns > loop->stage[largest].total_ns))
                largest = stage;
        }
        if (largest != REPORT_NO_STAGE)
            shown |= 1u << largest;
    }
    return shown;
}

static void add_top_name(struct table *table, const struct report *report, int stage)
{
    const struct snap_span *span = report_top_span(report->input->snapshot, stage);
    const size_t page = report->page.columns;
    const size_t room = page > OTHER_COLUMNS ? page - OTHER_COLUMNS : 0;
    struct buf name = {0}, cut = {0};

    if (span) {
        report_span_name(&name, span);
        text_fit(&cut, buf_text(&name), name.size,
                 room > NAME_COLUMNS ? room : NAME_COLUMNS);
    }
    table_text(table, buf_text(&cut));
    buf_release(&name);
    buf_release(&cut);
}

static void stages(struct report *report, size_t most)
{
    const struct snap_loop *loop = report->loop;
    const struct scale scale = scale_for(loop->step_ns.mid, loop->step_ns.mid);
    const unsigned shown = stages_to_show(loop, most);
    struct table table;
    char text[UNITS_SIZE];

    table_init(&table);
    table_column(&table, "", TABLE_TEXT);
    table_column(&table, "", TABLE_BAR);
    table_column(&table, "", TABLE_NUMBER);
    table_column(&table, "", TABLE_NUMBER);
    table_optional(&table, "", TABLE_TEXT, 1);
    REPORT_FOR_STAGES(stage)
    {
        if (!(shown & 1u << stage))
            continue;
        table_cell(&table, "  %s", ss_stage_text((unsigned)stage));
        table_bar(&table, loop->stage[stage].share.mid, stage);
        table_cell(&table, "%s %s", scale_text(text, loop->stage[stage].mean_ns, scale),
                   scale.unit.name);
        table_cell(&table, "%s", share_text(text, loop->stage[stage].share.mid));
        add_top_name(&table, report, stage);
    }
    table_print(&table, &report->page, report->style);
    table_release(&table);
}

static void line(struct report *report, const char *label)
{
    struct buf *value = &report->page.value;
    struct buf lines = {0};

    buf_printf(&lines, "%-*s", LABEL_COLUMNS, label);
    text_wrap(&lines, buf_text(value), value->size, LABEL_COLUMNS, report->page.columns);
    buf_reset(value);
    buf_add(value, buf_text(&lines), lines.size);
    value->failed |= lines.failed;
    page_line(&report->page);
    buf_release(&lines);
}

/* Where the time of the run went; what is less than 2 % of it is left out, and what takes much
 * without being steps has its share. */
static void segments(struct report *report)
{
    const struct snap_thread thread = report_thread(report->input);
    const char *between = "";
    bool has_unit = false;

    if (thread.wall_ns <= 0)
        return;
    const struct units_scale unit = units_scale_for(thread.wall_ns);
    const double wall = (double)thread.wall_ns / (double)unit.ns;
    const int decimals = wall < 10 ? 2 : wall < 100 ? 1 : 0;
    struct buf *value = &report->page.value;
    for (unsigned i = 0; i < MODEL_SEGMENT_COUNT; i++) {
        const double share = (double)thread.segment_ns[i] / (double)thread.wall_ns;
        if (share < 0.02)
            continue;
        buf_printf(value, "%s%s" TEXT_NO_BREAK "%.*f", between,
                   report_segment_text(report->input, i), decimals,
                   (double)thread.segment_ns[i] / (double)unit.ns);
        has_unit = report->loop && i != SEGMENT_STEADY_NS && share > 0.2;
        if (has_unit)
            buf_printf(value,
                       TEXT_NO_BREAK "%s" TEXT_NO_BREAK "(%.0f" TEXT_NO_BREAK "%%)",
                       unit.name, 100 * share);
        between = ", ";
    }
    if (!has_unit)
        buf_printf(value, TEXT_NO_BREAK "%s", unit.name);
    line(report, "run");
}

static void say_lost(struct report *report)
{
    const struct report_losses losses = report_losses(report->input->run);
    struct page *page = &report->page;
    char text[UNITS_SIZE];

    if (report_is_whole(&losses))
        return;
    if (losses.dropped + losses.reused > 0) {
        page_count(page, losses.dropped + losses.reused, "record", "records");
        buf_add_text(&page->value, "; ");
    }
    if (losses.recorder_error != 0)
        buf_printf(&page->value, "%s; ", ss_error_text(losses.recorder_error));
    if (losses.bytes > 0) {
        page_joined(page, units_bytes(text, losses.bytes));
        buf_add_text(&page->value, " of damaged files; ");
    }
    buf_add_text(&page->value, "the report says more");
    line(report, "lost");
}

static void add_change(struct buf *out, const struct snap_loop *loop)
{
    const struct change_shift *shift = change_largest(&loop->change);

    if (loop->change.kind == CHANGE_DRIFT)
        buf_printf(out, "steps become %s: %+.1f" TEXT_NO_BREAK "%% from first to last",
                   loop->change.trend > 0 ? "slower" : "faster",
                   100 * loop->change.trend);
    else if (loop->change.kind == CHANGE_SHIFT && shift)
        buf_printf(out, "steps take %.1f" TEXT_NO_BREAK "%% %s from step %" PRId64 " on",
                   100 * fabs(shift->after / shift->before - 1),
                   shift->after > shift->before ? "longer" : "less",
                   loop->shift_step[shift - loop->change.shifts]);
}

/* What is large beside the largest stage. */
static void say_also(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    struct buf *value = &report->page.value;

    if (!report_has_statistics(loop))
        return;
    add_change(value, loop);
    if (loop->periods > 0)
        buf_printf(value, "%severy %" PRId64 " steps one takes longer",
                   value->size > 0 ? " | " : "", loop->period[0].steps);
    if (loop->spike_tax > 0.1)
        buf_printf(value, "%sslow steps add %.0f" TEXT_NO_BREAK "%% to the mean",
                   value->size > 0 ? " | " : "", 100 * loop->spike_tax);
    if (value->size > 0)
        line(report, "also");
}

static void say_loops(struct report *report)
{
    const struct snapshot *snapshot = report->input->snapshot;
    size_t processes = 0;
    uint64_t steps = 0;

    if (snapshot->loop_count < 2)
        return;
    for (size_t i = 0; i < snapshot->loop_count; i++) {
        size_t same = 0;
        while (same < i && snapshot->loops[same].process != snapshot->loops[i].process)
            same++;
        processes += same == i;
        steps += (uint64_t)snapshot->loops[i].steps;
    }
    page_count(&report->page, snapshot->loop_count, "loop", "loops");
    buf_add_text(&report->page.value, " in ");
    page_count(&report->page, processes, "process", "processes");
    buf_add_text(&report->page.value, ", ");
    page_count(&report->page, steps, "step", "steps");
    buf_add_text(&report->page.value, "; this is the longest");
    report_paragraph(report, false);
}

static void say_finish(struct report *report)
{
    if (report->input->deadline_ns <= 0)
        return;
    report_say_deadline(&report->page, report->input);
    line(report, "finish");
}

static void longest_spans(struct report *report, size_t most)
{
    const struct snapshot *snapshot = report->input->snapshot;
    struct table table;
    char total[UNITS_SIZE], self[UNITS_SIZE], count[UNITS_SIZE];

    table_init(&table);
    table_column(&table, "  longest spans", TABLE_TEXT);
    table_column(&table, "count", TABLE_NUMBER);
    table_column(&table, "total", TABLE_NUMBER);
    table_optional(&table, "self", TABLE_NUMBER, 1);
    for (size_t i = 0; i < snapshot->span_count && i < most; i++) {
        const struct snap_span *span = &snapshot->spans[i];
        struct buf name = {0};
        buf_add_text(&name, "  ");
        report_span_name(&name, span);
        table_text(&table, buf_text(&name));
        table_cell(&table, "%s", count_text(count, span->count));
        table_cell(&table, "%s", units_duration(total, span->total_ns));
        table_cell(&table, "%s", units_duration(self, span->self_ns));
        buf_release(&name);
    }
    if (table.count > 0)
        table_print(&table, &report->page, report->style);
    table_release(&table);
}

static void head(struct report *report)
{
    report_head_run(report, "stepscope: ");
    if (report->loop) {
        report_head_answer(report);
        report_head_speed(report);
        report_head_sure(report);
        say_loops(report);
    } else {
        report_no_steps(report, HOOKS_SHOWN);
    }
}

/* What to do about what holds it back most, and what comes next. */
static void say_findings(struct report *report)
{
    report_say_advice(&report->page, &report->diagnosis);
    if (report->page.value.size > 0)
        line(report, "try");
    report_say_next(&report->page, &report->diagnosis);
    if (report->page.value.size > 0)
        line(report, "then");
}

static void say_validity(struct report *report)
{
    const enum validity_level level = report->diagnosis.validity.level;

    report_say_validity(report);
    if (report->page.value.size > 0)
        line(report, level == VALIDITY_OK ? "valid" : "doubt");
}

static void tail(struct report *report)
{
    segments(report);
    say_lost(report);
    if (report->loop)
        say_also(report);
    say_findings(report);
    say_validity(report);
    say_finish(report);
    report_more(report, LABEL_COLUMNS);
}

/* What a part prints, and how many lines that is. */
static size_t print_aside(struct report *report, void (*part)(struct report *report),
                          struct buf *text)
{
    struct sink *const out = report->page.out;
    struct sink aside;
    size_t lines = 0;

    sink_init_buf(&aside, text);
    report->page.out = &aside;
    part(report);
    report->page.out = out;
    if (sink_flush(&aside) != 0)
        sink_fail(out, aside.error, aside.os_error);
    for (size_t i = 0; i < text->size; i++)
        lines += text->data[i] == '\n';
    return lines;
}

void report_summary(struct sink *out, const struct report_input *input,
                    const struct report_style *style)
{
    struct report report;
    struct buf first = {0}, last = {0};

    report_begin(&report, out, input, style);
    if (report.page.columns > REPORT_COLUMNS)
        report.page.columns = REPORT_COLUMNS;
    const size_t used =
        print_aside(&report, head, &first) + print_aside(&report, tail, &last);
    const size_t left = used < REPORT_SUMMARY_LINES ? REPORT_SUMMARY_LINES - used : 0;
    sink_write(out, buf_text(&first), first.size);
    if (report.loop)
        stages(&report, left);
    else if (left > 1)
        longest_spans(&report, left - 1 < SPANS_SHOWN ? left - 1 : SPANS_SHOWN);
    sink_write(out, buf_text(&last), last.size);
    buf_release(&first);
    buf_release(&last);
    report_end(&report);
}
