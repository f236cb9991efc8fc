/* The summary at the end of `stepscope run`: at most 15 lines. */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "base/text.h"
#include "load/hook_list.h"
#include "render/numbers.h"
#include "render/table.h"
#include "report/report_parts.h"

enum { SPANS_SHOWN = 3, HOOKS_SHOWN = 2 };

static void line(struct report *report, const char *label)
{
    struct buf *value = &report->page.value;
    struct buf lines = {0};

    buf_printf(&lines, "%-*s", REPORT_LABEL_COLUMNS, label);
    text_wrap(&lines, buf_text(value), value->size, REPORT_LABEL_COLUMNS, report->page.columns);
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
    const struct snap_thread thread = report_thread(report->analysis);
    const char *between = "";
    char took[UNITS_SIZE];

    if (thread.wall_ns <= 0)
        return;
    for (unsigned i = 0; i < MODEL_SEGMENT_COUNT; i++) {
        const double share = (double)thread.segment_ns[i] / (double)thread.wall_ns;
        if (share < 0.02)
            continue;
        buf_add_text(&report->page.value, between);
        page_joined(&report->page, "%s %s", report_segment_text(report->analysis, i),
                    units_duration(took, thread.segment_ns[i]));
        if (report->loop && i != SEGMENT_STEADY_NS && share > 0.2)
            page_joined(&report->page, " (%.0f %%)", 100 * share);
        between = ", ";
    }
    line(report, "run");
}

static void say_lost(struct report *report)
{
    const struct report_losses losses = report_losses(report->analysis->run);
    struct page *page = &report->page;
    char text[UNITS_SIZE];

    if (report_is_whole(&losses))
        return;
    if (losses.folded_processes > 0) {
        page_count(page, losses.folded_processes, "process", "processes");
        buf_add_text(&page->value, " summarised to keep the run within its disk budget; ");
    }
    if (losses.dropped + losses.reused > 0) {
        page_count(page, losses.dropped + losses.reused, "record", "records");
        buf_add_text(&page->value, "; ");
    }
    if (losses.recorder_error != 0)
        buf_printf(&page->value, "%s; ", ss_error_text(losses.recorder_error));
    if (losses.bytes > 0)
        buf_printf(&page->value, "%s of damaged files; ", units_bytes(text, losses.bytes));
    buf_add_text(&page->value, "see the report");
    line(report, "lost");
}

static void add_change(struct buf *out, const struct snap_loop *loop)
{
    const struct change_shift *shift = change_largest(&loop->change);
    char text[UNITS_SIZE];

    if (loop->change.kind == CHANGE_DRIFT)
        buf_printf(out, "steps become %s: %s from first to last",
                   loop->change.trend > 0 ? "slower" : "faster",
                   units_longer(text, 1 + diagnosis_trend(loop)));
    else if (loop->change.kind == CHANGE_SHIFT && shift)
        buf_printf(out, "steps are %s from step %" PRId64 " on",
                   units_longer(text, shift->after / shift->before),
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
        buf_printf(value, "%sone in every %" PRId64 " steps takes longer",
                   value->size > 0 ? " | " : "", loop->period[0].steps);
    if (loop->spike_tax > 0.1) {
        buf_add_text(value, value->size > 0 ? " | " : "");
        report_add_spike_tax(value, loop);
    }
    if (value->size > 0)
        line(report, "also");
}

static void say_loops(struct report *report)
{
    const struct snapshot *snapshot = report->analysis->snapshot;
    size_t processes = 0;

    if (snapshot->loop_count < 2)
        return;
    for (size_t i = 0; i < snapshot->loop_count; i++) {
        size_t same = 0;
        while (same < i && snapshot->loops[same].process != snapshot->loops[i].process)
            same++;
        processes += same == i;
    }
    page_count(&report->page, snapshot->loop_count, "loop", "loops");
    buf_add_text(&report->page.value, " in ");
    page_count(&report->page, processes, "process", "processes");
    buf_add_text(&report->page.value, ", ");
    page_count(&report->page, report_all_steps(report->analysis), "step", "steps");
    buf_add_text(&report->page.value, "; this is the longest");
    report_paragraph(report, false);
}

static void say_finish(struct report *report)
{
    if (report->analysis->deadline_ns <= 0)
        return;
    report_say_deadline(&report->page, report->analysis);
    line(report, "finish");
}

static void longest_spans(struct report *report, size_t most)
{
    const struct snapshot *snapshot = report->analysis->snapshot;
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
        snapshot_span_name(&name, span);
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
static void say_advice(struct report *report)
{
    report_say_advice(report);
    if (report->page.value.size > 0)
        line(report, "try");
}

static void say_next(struct report *report)
{
    report_say_next(&report->page, &report->analysis->diagnosis);
    if (report->page.value.size > 0)
        line(report, "then");
}

static void say_stacks(struct report *report)
{
    const struct hook_list *hooks = report->analysis->hooks;
    const struct buf *reason = hooks ? hook_list_why_no_stacks(hooks) : NULL;

    if (!reason || !report->loop)
        return;
    buf_add_text(&report->page.value, "none were sampled: ");
    page_text(&report->page, (struct ss_text){reason->data, reason->size}, STYLE_COLUMNS);
    line(report, "stacks");
}

static void say_validity(struct report *report)
{
    const enum validity_level level = report->analysis->diagnosis.validity.level;

    report_say_validity(report);
    if (report->page.value.size > 0)
        line(report, level == VALIDITY_OK ? "valid" : "caution");
}

static void say_more(struct report *report)
{
    report_more(report, REPORT_LABEL_COLUMNS);
}

static void say_slow(struct report *report)
{
    if (report->loop)
        say_also(report);
}

/* What follows the stages. What does not fit beside the stages that matter goes, first that with
 * the highest number; 0 stays. */
static const struct {
    void (*say)(struct report *report);
    int goes;
} tail[] = {{segments, 1},   {say_lost, 0},     {say_slow, 3},   {say_advice, 0}, {say_next, 2},
            {say_stacks, 0}, {say_validity, 0}, {say_finish, 0}, {say_more, 0}};
enum { TAIL_PARTS = sizeof tail / sizeof tail[0], GO_MOST = 3 };

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

/* Prints the parts of the tail aside, as many as there is room for; returns their lines. */
static size_t print_tail(struct report *report, size_t used, struct buf text[TAIL_PARTS])
{
    size_t lines[TAIL_PARTS], sum = 0;

    for (size_t i = 0; i < TAIL_PARTS; i++)
        sum += lines[i] = print_aside(report, tail[i].say, &text[i]);
    for (int goes = GO_MOST; goes > 0; goes--)
        for (size_t i = 0; i < TAIL_PARTS && used + sum > REPORT_SUMMARY_LINES; i++)
            if (tail[i].goes == goes) {
                sum -= lines[i];
                buf_reset(&text[i]);
            }
    return sum;
}

/* The command failed before its first step: its own message says why. One that was interrupted
 * may have trained without any step being seen. */
static bool has_failed_early(const struct report *report)
{
    enum { INTERRUPTED = 128 + SIGINT };
    const struct run_facts *facts = report->analysis->facts;
    const bool has_failed = facts->exit_code > 0 || facts->signal > 0;
    const bool is_interrupted = facts->exit_code == INTERRUPTED || facts->signal == SIGINT;

    return !report->loop && report->analysis->deadline_ns <= 0 && has_failed &&
           (!is_interrupted || report->analysis->snapshot->spans_seen == 0);
}

static void say_early_end(struct report *report)
{
    report_head_run(report, "stepscope: ");
    say_more(report);
}

void report_summary(struct sink *out, const struct analysis *analysis, const struct style *style)
{
    struct report report;
    struct buf first = {0}, last[TAIL_PARTS] = {{0}};

    report_begin(&report, out, analysis, style);
    if (report.page.columns > STYLE_COLUMNS)
        report.page.columns = STYLE_COLUMNS;
    if (has_failed_early(&report)) {
        say_early_end(&report);
        report_end(&report);
        return;
    }
    const size_t needed = report.loop ? report_summary_stage_lines(&report) : 0;
    size_t used = print_aside(&report, head, &first);
    used += print_tail(&report, used + needed, last);
    const size_t left = used < REPORT_SUMMARY_LINES ? REPORT_SUMMARY_LINES - used : 0;
    sink_write(out, buf_text(&first), first.size);
    if (report.loop)
        report_summary_stages(&report, left);
    else if (left > 1)
        longest_spans(&report, left - 1 < SPANS_SHOWN ? left - 1 : SPANS_SHOWN);
    for (size_t i = 0; i < TAIL_PARTS; i++) {
        sink_write(out, buf_text(&last[i]), last[i].size);
        buf_release(&last[i]);
    }
    buf_release(&first);
    report_end(&report);
}
