/* The stages of a step: the table in the middle of a report. */
#include <inttypes.h>
#include <math.h>

#include "render/numbers.h"
#include "render/style.h"
#include "render/table.h"
#include "report/metrics.h"
#include "report/report_parts.h"

enum { DIFFERENCES_SHOWN = 3 };
static const double SLOW = 1.1; /* times the median: what is less is noise */

static void add_row(struct table *table, const struct snap_loop *loop, int number,
                    struct scale scale)
{
    const struct snap_stage *stage = &loop->stage[number];
    const uint64_t steps = (uint64_t)loop->steady_steps;

    table_cell(table, "%s", ss_stage_text((unsigned)number));
    table_bar(table, stage->share.mid, number);
    metrics_cells(table, &metrics_stage, stage, steps, scale);
    metrics_cells(table, &metrics_quantiles, &stage->quantiles, steps, scale);
}

/* Stages of which there was no span: not 0, but not known. */
static void say_not_measured(struct report *report)
{
    const char *between = "not measured: ";

    REPORT_FOR_STAGES(stage)
    {
        const struct snap_stage *found = &report->loop->stage[stage];
        if (found->measured)
            continue;
        buf_printf(&report->page.value, "%s%s", between, ss_stage_text((unsigned)stage));
        if (found->reason)
            buf_printf(&report->page.value, " (%s)", found->reason);
        between = ", ";
    }
    if (report->page.value.size > 0)
        report_paragraph(report, false);
}

static void say_by_hand(struct report *report)
{
    if (report->loop->source != SOURCE_GRADIENTS)
        return;
    buf_add_text(
        &report->page.value,
        "no optimizer was seen: each gradient counts as a step, and the script's update is in `other`");
    report_paragraph(report, false);
}

static void say_upper_bounds(struct report *report)
{
    REPORT_FOR_STAGES(stage)
    {
        const struct snap_stage *found = &report->loop->stage[stage];
        if (!found->measured || !found->at_most)
            continue;
        buf_printf(&report->page.value, "%s is an upper bound: %s", ss_stage_text((unsigned)stage),
                   found->at_most);
        report_paragraph(report, false);
    }
}

/* Beside the step, no part of it; there are no quantiles of it. */
static void add_device(struct table *table, const struct snap_loop *loop, struct scale scale)
{
    const double share = report_device_share(loop);
    char text[UNITS_SIZE];

    if (!(share > 0))
        return;
    table_cell(table, "device (async)");
    table_bar(table, share < 1 ? share : 1, SS_STAGE_COMPUTE);
    table_cell(table, "%s", scale_text(text, share * loop->step_ns.mid, scale));
    table_cell(table, "%s", share_text(text, share));
    while (table->count % table->columns > 0)
        table_cell(table, "-");
}

static void say_device(struct report *report, struct scale scale)
{
    const struct snap_loop *loop = report->loop;
    const char *between = "device (async): per step, the device took ";
    char text[UNITS_SIZE];

    REPORT_FOR_STAGES(stage)
    {
        const double share = loop->device[stage].mid;
        if (!(share > 0))
            continue;
        buf_printf(&report->page.value, "%s%s %s for %s", between,
                   scale_text(text, share * loop->step_ns.mid, scale), scale.unit.name,
                   ss_stage_text((unsigned)stage));
        between = ", ";
    }
    buf_add_text(&report->page.value,
                 ", from its first to its last operation for that stage. "
                 "The stages above are the time the host took to queue that work");
    report_paragraph(report, false);
}

static void say_asynchronous(struct report *report, struct scale scale)
{
    if (!report->loop->is_asynchronous)
        return;
    if (report_device_share(report->loop) > 0) {
        say_device(report, scale);
        return;
    }
    buf_add_text(
        &report->page.value,
        "device (async): forward, backward, optimizer and compute are the time the host takes to queue work, not the time the device takes to do it");
    report_paragraph(report, false);
}

static void title(struct report *report, struct scale scale)
{
    const struct snap_loop *loop = report->loop;
    char count[UNITS_SIZE];

    units_integer(count, (uint64_t)loop->steady_steps);
    if (report_has_statistics(loop))
        report_title(report, "Step breakdown: %s, over %s steady steps", scale.unit.name, count);
    else
        report_title(report, "Step breakdown so far: %s, over %s steps", scale.unit.name, count);
}

void report_stages(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    const uint64_t steps = (uint64_t)loop->steady_steps;
    const bool few = steps < SNAP_LEAST_FOR_P99;
    const struct scale scale =
        scale_for(loop->step_ns.mid, few ? (double)loop->quantiles.max_ns : loop->quantiles.p99_ns);
    struct table table;
    char text[UNITS_SIZE];

    if (loop->steady_steps == 0)
        return;
    title(report, scale);
    table_init(&table);
    table_column(&table, "", TABLE_TEXT);
    table_column(&table, "", TABLE_BAR);
    metrics_columns(&table, &metrics_stage, steps);
    metrics_columns(&table, &metrics_quantiles, steps);
    REPORT_FOR_STAGES(stage)
    if (loop->stage[stage].measured)
        add_row(&table, loop, stage, scale);
    table_cell(&table, "step");
    table_bar(&table, 0, 0);
    table_cell(&table, "%s", scale_text(text, loop->step_ns.mid, scale));
    table_cell(&table, "100.0 %%");
    metrics_cells(&table, &metrics_quantiles, &loop->quantiles, steps, scale);
    add_device(&table, loop, scale);
    table_print(&table, &report->page, report->style);
    table_release(&table);
    say_by_hand(report);
    say_not_measured(report);
    say_upper_bounds(report);
    say_asynchronous(report, scale);
}

/* The stage that exceeds its median most, without those that were named before. */
static int next_difference(const struct snap_loop *loop, const struct slow_step *slow,
                           unsigned named, double *excess)
{
    int found = REPORT_NO_STAGE;

    *excess = 0;
    REPORT_FOR_STAGES(stage)
    {
        const double usual = loop->stage[stage].quantiles.p50_ns;
        const double more = (double)slow->stage_ns[stage] - (usual > 0 ? usual : 0);
        if (!(named & 1u << stage) && more > *excess) {
            *excess = more;
            found = stage;
        }
    }
    return found;
}

/* Stages that make up at least a tenth of what the step took longer. */
static void add_differences(struct buf *out, const struct snap_loop *loop,
                            const struct slow_step *slow, struct scale scale)
{
    const double longer = (double)slow->time_ns - loop->quantiles.p50_ns;
    unsigned named = 0;
    double excess;
    char text[UNITS_SIZE];

    for (int i = 0; i < DIFFERENCES_SHOWN; i++) {
        const int stage = next_difference(loop, slow, named, &excess);
        if (stage == REPORT_NO_STAGE || excess < 0.1 * longer)
            break;
        named |= 1u << stage;
        buf_printf(out, "%s%s +%s", i > 0 ? ", " : "", ss_stage_text((unsigned)stage),
                   scale_text(text, excess, scale));
    }
}

static void slow_row(struct table *table, const struct snap_loop *loop,
                     const struct slow_step *slow, struct scale scale)
{
    struct buf differences = {0};
    char text[UNITS_SIZE];

    table_cell(table, "%s", units_integer(text, (uint64_t)slow->number));
    table_cell(table, "%s", scale_text(text, (double)slow->time_ns, scale));
    table_cell(table, "%.2f", (double)slow->time_ns / loop->quantiles.p50_ns);
    add_differences(&differences, loop, slow, scale);
    table_text(table, buf_text(&differences));
    buf_release(&differences);
}

int report_slow_steps(const struct snap_loop *loop, int most)
{
    const double median = loop->quantiles.p50_ns;
    int count = 0;

    if (!report_has_statistics(loop) || !(median > 0))
        return 0;
    while (count < loop->slow_count && count < most &&
           (double)loop->slowest[count].time_ns >= SLOW * median)
        count++;
    return count;
}

void report_slowest(struct report *report, int most)
{
    const struct snap_loop *loop = report->loop;
    const struct scale scale = scale_for(loop->quantiles.p50_ns, (double)loop->quantiles.max_ns);
    const int count = report_slow_steps(loop, most);
    struct table table;

    if (count == 0)
        return;
    report_title(report, "Slowest steps: %s, and which stages took longer than usual",
                 scale.unit.name);
    table_init(&table);
    table_column(&table, "step", TABLE_NUMBER);
    table_column(&table, "took", TABLE_NUMBER);
    table_column(&table, "x median", TABLE_NUMBER);
    table_column(&table, "what differed", TABLE_TEXT);
    for (int i = 0; i < count; i++)
        slow_row(&table, loop, &loop->slowest[i], scale);
    table_print(&table, &report->page, report->style);
    table_release(&table);
}

#define SEGMENT_MEANING(id, text, meaning) meaning,
static const char *const meanings[] = {MODEL_SEGMENTS(SEGMENT_MEANING)};

static const char *meaning_of(const struct report *report, int segment)
{
    if (segment == SEGMENT_STARTUP_NS && !report->loop)
        return "no step was recorded";
    if (segment == SEGMENT_STEADY_NS && report->loop && !report_has_statistics(report->loop))
        return "too few steps to separate the warm-up";
    return meanings[segment];
}

static void add_segment_row(struct table *table, const struct report *report,
                            const struct snap_thread *thread, int segment, struct units_scale scale)
{
    const double ns = (double)thread->segment_ns[segment];
    const double share = thread->wall_ns > 0 ? ns / (double)thread->wall_ns : 0;
    char text[UNITS_SIZE];

    table_cell(table, "%s", report_segment_text(report->analysis, (unsigned)segment));
    table_bar(table, share, BAR_PLAIN);
    table_cell(table, "%s", units_scaled(text, thread->segment_ns[segment], scale));
    table_cell(table, "%s", share_text(text, share));
    table_cell(table, "%s", meaning_of(report, segment));
}

void report_books(struct report *report)
{
    const struct snap_thread thread = report_thread(report->analysis);
    struct table table;
    char text[UNITS_SIZE];

    const struct units_scale scale = units_scale_for(thread.wall_ns);
    report_title(report, "Run breakdown: %s%s", scale.name,
                 report->loop ? " of the loop thread" : "");
    table_init(&table);
    table_column(&table, "", TABLE_TEXT);
    table_optional(&table, "", TABLE_BAR, 1);
    table_column(&table, scale.name, TABLE_NUMBER);
    table_column(&table, "share", TABLE_NUMBER);
    table_optional(&table, "", TABLE_TEXT, 2);
    for (int i = 0; i < MODEL_SEGMENT_COUNT; i++)
        if (thread.segment_ns[i] != 0)
            add_segment_row(&table, report, &thread, i, scale);
    table_cell(&table, "sum");
    table_bar(&table, 0, BAR_PLAIN);
    table_cell(&table, "%s", units_scaled(text, thread.wall_ns, scale));
    table_cell(&table, "100.0 %%");
    table_cell(&table, "%s", "");
    table_print(&table, &report->page, report->style);
    table_release(&table);
}
