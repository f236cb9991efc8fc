/* What `stepscope run` prints: the end of a run in 15 lines, a run that goes on in one. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "output/numbers.h"
#include "output/report_parts.h"
#include "output/table.h"

enum {
    STAGES_SHOWN = 6,
    SPANS_SHOWN = 3,
    HOOKS_SHOWN = 2,
    NAME_COLUMNS = 22,
    LABEL_COLUMNS = 8
};

/* The smallest stages give way to the rest of the lines. */
static unsigned stages_to_show(const struct snap_loop *loop)
{
    unsigned shown = 0;

    for (int count = 0; count < STAGES_SHOWN; count++) {
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

static void add_top_name(struct table *table, const struct snapshot *snapshot, int stage)
{
    const struct snap_span *span = report_top_span(snapshot, stage);
    struct buf name = {0}, cut = {0};

    if (span) {
        report_span_name(&name, span);
        text_fit(&cut, buf_text(&name), name.size, NAME_COLUMNS);
    }
    table_text(table, buf_text(&cut));
    buf_release(&name);
    buf_release(&cut);
}

static void stages(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    const struct scale scale = scale_for(loop->step_ns.mid, loop->step_ns.mid);
    const unsigned shown = stages_to_show(loop);
    struct table table;
    char text[UNITS_SIZE];

    table_init(&table);
    table_column(&table, "", TABLE_TEXT);
    table_column(&table, "", TABLE_BAR);
    table_column(&table, "", TABLE_NUMBER);
    table_column(&table, "", TABLE_NUMBER);
    table_column(&table, "", TABLE_TEXT);
    REPORT_FOR_STAGES(stage)
    {
        if (!(shown & 1u << stage))
            continue;
        table_cell(&table, "  %s", ss_stage_text((unsigned)stage));
        table_bar(&table, loop->stage[stage].share.mid, stage);
        table_cell(&table, "%s %s", scale_text(text, loop->stage[stage].mean_ns, scale),
                   scale.unit.name);
        table_cell(&table, "%s", share_text(text, loop->stage[stage].share.mid));
        add_top_name(&table, report->input->snapshot, stage);
    }
    table_print(&table, &report->page, report->style);
    table_release(&table);
}

/* A line that is cut rather than wrapped. */
static void line(struct report *report, const char *label)
{
    struct buf *value = &report->page.value;
    struct buf cut = {0};

    buf_printf(&cut, "%-*s", LABEL_COLUMNS, label);
    text_fit(&cut, buf_text(value), value->size, report->page.columns - LABEL_COLUMNS);
    buf_reset(value);
    buf_add(value, buf_text(&cut), cut.size);
    value->failed |= cut.failed;
    page_line(&report->page);
    buf_release(&cut);
}

/* Where the time of the run went; what is less than 2 % of it is left out. */
static void segments(struct report *report)
{
    const struct snapshot *snapshot = report->input->snapshot;
    const struct snap_thread *thread = snapshot->threads;
    const char *between = "";

    if (snapshot->thread_count == 0 || thread->wall_ns <= 0)
        return;
    const struct units_scale unit = units_scale_for(thread->wall_ns);
    const double wall = (double)thread->wall_ns / (double)unit.ns;
    const int decimals = wall < 10 ? 2 : wall < 100 ? 1 : 0;
    for (unsigned i = 0; i < MODEL_SEGMENT_COUNT; i++) {
        const double ns = (double)thread->segment_ns[i];
        if (ns < 0.02 * (double)thread->wall_ns)
            continue;
        buf_printf(&report->page.value, "%s%s %.*f", between, model_segment_text(i),
                   decimals, ns / (double)unit.ns);
        between = ", ";
    }
    buf_printf(&report->page.value, " %s", unit.name);
    line(report, "run");
}

static bool say_lost(struct report *report)
{
    const struct report_losses losses = report_losses(report->input->run);
    struct buf *value = &report->page.value;
    char text[UNITS_SIZE];

    if (report_is_whole(&losses))
        return false;
    if (losses.dropped + losses.reused > 0)
        buf_printf(value, "%s records; ",
                   units_integer(text, losses.dropped + losses.reused));
    if (losses.recorder_error != 0)
        buf_printf(value, "%s; ", ss_error_text(losses.recorder_error));
    if (losses.bytes > 0)
        buf_printf(value, "%s of damaged files; ", units_bytes(text, losses.bytes));
    buf_add_text(value, "the report says more");
    line(report, "lost");
    return true;
}

static void say_also(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    const struct change_shift *shift = change_largest(&loop->change);
    struct buf *value = &report->page.value;

    if (loop->change.kind == CHANGE_DRIFT)
        buf_printf(value, "steps become %s: %+.1f %% over the run",
                   loop->change.trend > 0 ? "slower" : "faster",
                   100 * loop->change.trend);
    else if (loop->change.kind == CHANGE_SHIFT && shift)
        buf_printf(value, "%+.1f %% from step %" PRId64 " on",
                   100 * (shift->after / shift->before - 1),
                   loop->shift_step[shift - loop->change.shifts]);
    if (loop->periods > 0)
        buf_printf(value, "%severy %" PRId64 " steps one takes longer",
                   value->size > 0 ? " | " : "", loop->period[0].steps);
    if (value->size > 0)
        line(report, "also");
}

static void without_steps(struct report *report)
{
    const struct snapshot *snapshot = report->input->snapshot;
    struct table table;
    char total[UNITS_SIZE], self[UNITS_SIZE], count[UNITS_SIZE];

    report_no_steps(report, HOOKS_SHOWN);
    table_init(&table);
    table_column(&table, "  longest spans", TABLE_TEXT);
    table_column(&table, "count", TABLE_NUMBER);
    table_column(&table, "total", TABLE_NUMBER);
    table_column(&table, "self", TABLE_NUMBER);
    for (size_t i = 0; i < snapshot->span_count && i < SPANS_SHOWN; i++) {
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
    if (snapshot->span_count > 0)
        table_print(&table, &report->page, report->style);
    table_release(&table);
}

void report_summary(struct sink *out, const struct report_input *input,
                    const struct report_style *style)
{
    struct report report;

    report_begin(&report, out, input, style);
    if (report.page.columns > REPORT_COLUMNS)
        report.page.columns = REPORT_COLUMNS;
    report_head_run(&report, "stepscope: ");
    if (report.loop) {
        report_head_answer(&report);
        report_head_speed(&report);
        report_head_sure(&report);
        stages(&report);
    } else {
        without_steps(&report);
    }
    segments(&report);
    if (!say_lost(&report) && report.loop)
        say_also(&report);
    buf_printf(&report.page.value, "stepscope report %s", input->facts->path);
    line(&report, "more");
    report_end(&report);
}
