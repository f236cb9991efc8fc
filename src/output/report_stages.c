/* Where the time of a step goes, and what was different in the slowest ones. */
#include <inttypes.h>
#include <math.h>

#include "output/numbers.h"
#include "output/report_parts.h"
#include "output/table.h"

enum { DIFFERENCES_SHOWN = 3 };
static const double SLOW = 1.1; /* times the median: what is less is noise */

/* Those that so many steps can have; without a p99 the longest one says how far it goes. */
static void add_quantiles(struct table *table, struct snap_quantiles quantiles,
                          const struct snap_loop *loop, struct scale scale)
{
    char text[UNITS_SIZE];

    quantiles = report_quantiles(quantiles, (uint64_t)loop->steady_steps);
    table_cell(table, "%s", scale_text(text, quantiles.p50_ns, scale));
    if (isfinite(quantiles.p95_ns))
        table_cell(table, "%s", scale_text(text, quantiles.p95_ns, scale));
    table_cell(table, "%s",
               scale_text(text,
                          isfinite(quantiles.p99_ns) ? quantiles.p99_ns
                                                     : (double)quantiles.max_ns,
                          scale));
}

static void quantile_columns(struct table *table, const struct snap_loop *loop)
{
    const struct snap_quantiles known =
        report_quantiles((struct snap_quantiles){0}, (uint64_t)loop->steady_steps);

    table_column(table, "p50", TABLE_NUMBER);
    if (isfinite(known.p95_ns))
        table_optional(table, "p95", TABLE_NUMBER, 1);
    table_optional(table, isfinite(known.p99_ns) ? "p99" : "max", TABLE_NUMBER, 2);
}

static void add_row(struct table *table, const struct snap_loop *loop, int number,
                    struct scale scale)
{
    const struct snap_stage *stage = &loop->stage[number];
    char text[UNITS_SIZE];

    table_cell(table, "%s", ss_stage_text((unsigned)number));
    table_bar(table, stage->share.mid, number);
    table_cell(table, "%s", scale_text(text, stage->mean_ns, scale));
    table_cell(table, "%s", share_text(text, stage->share.mid));
    add_quantiles(table, stage->quantiles, loop, scale);
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

static void say_upper_bounds(struct report *report)
{
    REPORT_FOR_STAGES(stage)
    {
        const struct snap_stage *found = &report->loop->stage[stage];
        if (!found->measured || !found->at_most)
            continue;
        buf_printf(&report->page.value, "%s is an upper bound: %s",
                   ss_stage_text((unsigned)stage), found->at_most);
        report_paragraph(report, false);
    }
}

/* Beside the step, no part of it; there are no quantiles of it. */
static void add_device(struct table *table, const struct snap_loop *loop,
                       struct scale scale)
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
    const char *between = "device (async): in a step the device took ";
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
    buf_add_text(
        &report->page.value,
        ", from the first to the last thing that it did for it. The stages above "
        "are the time in which the host queued that work");
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
        "device (async): forward, backward, optimizer and compute are the time in which the host "
        "queues work for the device, not the time that the work takes");
    report_paragraph(report, false);
}

static void title(struct report *report, struct scale scale)
{
    const struct snap_loop *loop = report->loop;
    char count[UNITS_SIZE];

    units_integer(count, (uint64_t)loop->steady_steps);
    if (report_has_statistics(loop))
        report_title(report, "The step by stage: %s, over %s steady steps",
                     scale.unit.name, count);
    else
        report_title(report, "The step by stage so far: %s, over %s steps",
                     scale.unit.name, count);
}

void report_stages(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    const bool few =
        !isfinite(report_quantiles(loop->quantiles, (uint64_t)loop->steady_steps).p99_ns);
    const struct scale scale = scale_for(
        loop->step_ns.mid, few ? (double)loop->quantiles.max_ns : loop->quantiles.p99_ns);
    struct table table;
    char text[UNITS_SIZE];

    if (loop->steady_steps == 0)
        return;
    title(report, scale);
    table_init(&table);
    table_column(&table, "", TABLE_TEXT);
    table_column(&table, "", TABLE_BAR);
    table_column(&table, "mean", TABLE_NUMBER);
    table_column(&table, "share", TABLE_NUMBER);
    quantile_columns(&table, loop);
    REPORT_FOR_STAGES(stage)
    if (loop->stage[stage].measured)
        add_row(&table, loop, stage, scale);
    table_cell(&table, "step");
    table_bar(&table, 0, 0);
    table_cell(&table, "%s", scale_text(text, loop->step_ns.mid, scale));
    table_cell(&table, "100.0 %%");
    add_quantiles(&table, loop->quantiles, loop, scale);
    add_device(&table, loop, scale);
    table_print(&table, &report->page, report->style);
    table_release(&table);
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
    const struct scale scale =
        scale_for(loop->quantiles.p50_ns, (double)loop->quantiles.max_ns);
    const int count = report_slow_steps(loop, most);
    struct table table;

    if (count == 0)
        return;
    report_title(report, "The slowest steps: %s, and which stages took longer than usual",
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
