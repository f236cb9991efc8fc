/* Epochs, and loops beside each other: short tables. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "read/run.h"
#include "render/numbers.h"
#include "render/table.h"
#include "report/report.h"
#include "report/report_parts.h"

enum { LOOPS_SHOWN = 10, PARTS_SHOWN = 10 };

static double ratio(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : NAN;
}

static void epoch_row(struct table *table, const struct snap_epoch *epoch, struct scale scale,
                      struct scale step, bool with_eval)
{
    const double took = epoch->end_ns > 0 ? (double)(epoch->end_ns - epoch->start_ns) : NAN;
    char text[UNITS_SIZE];

    table_cell(table, "%" PRId64, epoch->number);
    table_cell(table, "%s", scale_text(text, took, scale));
    table_cell(table, "%s", scale_text(text, (double)epoch->step_ns, scale));
    if (with_eval) {
        table_cell(table, "%s", scale_text(text, (double)epoch->eval_ns, scale));
        table_cell(table, "%s", share_text(text, ratio(epoch->eval_ns, epoch->step_ns)));
    }
    table_cell(table, "%s", units_integer(text, (uint64_t)epoch->steps));
    table_cell(table, "%s", scale_text(text, ratio(epoch->step_ns, epoch->steps), step));
}

struct epoch_extremes {
    double longest_ns;
    double longest_step_ns; /* of the means */
    bool evaluates;
};

static struct epoch_extremes extremes_of(const struct snap_loop *loop)
{
    struct epoch_extremes found = {0};

    for (size_t i = 0; i < loop->epoch_count; i++) {
        const struct snap_epoch *epoch = &loop->epochs[i];
        found.longest_ns = fmax(found.longest_ns, (double)(epoch->end_ns - epoch->start_ns));
        found.longest_ns = fmax(found.longest_ns, (double)epoch->step_ns);
        found.longest_step_ns = fmax(found.longest_step_ns, ratio(epoch->step_ns, epoch->steps));
        found.evaluates |= epoch->eval_ns > 0;
    }
    return found;
}

static void epochs(struct report *report, size_t most, const char *whose)
{
    const struct snap_loop *loop = report->loop;
    struct table table;
    char text[UNITS_SIZE], last[48] = "";

    if (loop->epoch_count == 0)
        return;
    const struct epoch_extremes found = extremes_of(loop);
    const struct scale scale = scale_for(found.longest_ns, found.longest_ns);
    const struct scale step = scale_for(found.longest_step_ns, found.longest_step_ns);
    const size_t shown = loop->epoch_count < most ? loop->epoch_count : most;
    if (loop->epochs_seen > (int64_t)shown)
        snprintf(last, sizeof last, "the last %zu of ", shown);
    report_title(report, "%sEpochs: %s%s; times in %s, per step in %s", whose, last,
                 units_integer(text, (uint64_t)loop->epochs_seen), scale.unit.name, step.unit.name);
    table_init(&table);
    table_column(&table, "epoch", TABLE_NUMBER);
    table_column(&table, "took", TABLE_NUMBER);
    table_optional(&table, "steps took", TABLE_NUMBER, 2);
    if (found.evaluates) {
        table_optional(&table, "evaluation", TABLE_NUMBER, 1);
        table_optional(&table, "of steps", TABLE_NUMBER, 3);
    }
    table_column(&table, "steps", TABLE_NUMBER);
    table_column(&table, "per step", TABLE_NUMBER);
    for (size_t i = loop->epoch_count - shown; i < loop->epoch_count; i++)
        epoch_row(&table, &loop->epochs[i], scale, step, found.evaluates);
    table_print(&table, &report->page, report->style);
    table_release(&table);
}

void report_epochs(struct report *report, size_t most)
{
    epochs(report, most, "");
}

/* A training that its trainer has begun again and again, each time with how fast it was. */
void report_loop_parts(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    const size_t shown = loop->part_count < PARTS_SHOWN ? loop->part_count : PARTS_SHOWN;
    double longest = 0, longest_step = 0;
    char text[UNITS_SIZE], last[48] = "";
    struct table table;

    if (loop->part_count == 0)
        return;
    for (size_t i = loop->part_count - shown; i < loop->part_count; i++) {
        longest = fmax(longest, (double)loop->part[i].step_ns);
        longest_step = fmax(longest_step, ratio(loop->part[i].step_ns, loop->part[i].steps));
    }
    const struct scale scale = scale_for(longest, longest);
    const struct scale step = scale_for(longest_step, longest_step);
    if (loop->parts > (int64_t)shown)
        snprintf(last, sizeof last, "the last %zu of ", shown);
    report_title(report, "Parts of this training: %s%s; steps in %s, one in %s", last,
                 units_integer(text, (uint64_t)loop->parts), scale.unit.name, step.unit.name);
    table_init(&table);
    table_column(&table, "part", TABLE_NUMBER);
    table_column(&table, "steps", TABLE_NUMBER);
    table_column(&table, "steps took", TABLE_NUMBER);
    table_column(&table, "per step", TABLE_NUMBER);
    for (size_t i = loop->part_count - shown; i < loop->part_count; i++) {
        const struct snap_part *part = &loop->part[i];
        table_cell(&table, "%" PRId64, part->number);
        table_cell(&table, "%s", units_integer(text, (uint64_t)part->steps));
        table_cell(&table, "%s", scale_text(text, (double)part->step_ns, scale));
        table_cell(&table, "%s", scale_text(text, ratio(part->step_ns, part->steps), step));
    }
    table_print(&table, &report->page, report->style);
    table_release(&table);
}

static void add_largest(struct table *table, const struct snap_loop *loop)
{
    const int stage = report_largest_stage(loop);
    char text[UNITS_SIZE];

    if (stage == REPORT_NO_STAGE)
        table_cell(table, "-");
    else
        table_cell(table, "%s %s", ss_stage_text((unsigned)stage),
                   share_text(text, loop->stage[stage].share.mid));
}

static void loop_row(struct table *table, const struct ss_run *run, const struct snap_loop *loop,
                     size_t number, struct scale scale)
{
    char text[UNITS_SIZE];

    table_cell(table, "%zu", number);
    table_cell(table, "%" PRIu32, run_process_number(run, loop->process));
    if (loop->rank >= 0)
        table_cell(table, "%d", loop->rank);
    else
        table_cell(table, "-");
    table_cell(table, "%" PRIu32, loop->tid);
    table_cell(table, "%s", units_integer(text, (uint64_t)loop->steps));
    const bool enough = report_has_statistics(loop);
    table_cell(table, "%s", digits_text(text, enough ? loop->steps_per_s.mid : NAN));
    table_cell(table, "%s", scale_text(text, enough ? loop->quantiles.p50_ns : NAN, scale));
    add_largest(table, loop);
    table_text(table, loop->name);
}

void report_loops(struct report *report)
{
    const struct snapshot *snapshot = report->analysis->snapshot;
    double longest = 0;
    struct table table;

    if (snapshot->loop_count < 2)
        return;
    for (size_t i = 0; i < snapshot->loop_count && i < LOOPS_SHOWN; i++)
        longest = fmax(longest, snapshot->loops[i].quantiles.p50_ns);
    const struct scale scale = scale_for(report->loop->quantiles.p50_ns, longest);
    report_title(report, "Loops: %zu (above: loop 0); medians in %s", snapshot->loop_count,
                 scale.unit.name);
    table_init(&table);
    table_column(&table, "loop", TABLE_NUMBER);
    table_optional(&table, "process", TABLE_NUMBER, 3);
    table_optional(&table, "rank", TABLE_NUMBER, 1);
    table_optional(&table, "thread", TABLE_NUMBER, 5);
    table_column(&table, "steps", TABLE_NUMBER);
    table_optional(&table, "steps/s", TABLE_NUMBER, 4);
    table_optional(&table, "median", TABLE_NUMBER, 2);
    table_column(&table, "largest stage", TABLE_NUMBER);
    table_column(&table, "name", TABLE_TEXT);
    for (size_t i = 0; i < snapshot->loop_count && i < LOOPS_SHOWN; i++)
        loop_row(&table, report->analysis->run, &snapshot->loops[i], i, scale);
    table_print(&table, &report->page, report->style);
    table_release(&table);
    if (snapshot->loop_count > LOOPS_SHOWN) {
        buf_printf(&report->page.value, "and %zu more; --json lists all",
                   snapshot->loop_count - LOOPS_SHOWN);
        report_paragraph(report, false);
    }
}

/* "Loop 2, process 1, rank 1, thread 4712. " */
static void name_loop(struct buf *out, const struct ss_run *run, const struct snap_loop *loop,
                      size_t number)
{
    buf_printf(out, "Loop %zu, process %" PRIu32, number, run_process_number(run, loop->process));
    if (loop->rank >= 0)
        buf_printf(out, ", rank %d", loop->rank);
    buf_printf(out, ", thread %" PRIu32 ". ", loop->tid);
}

void report_epoch_table(struct sink *out, const struct analysis *analysis,
                        const struct style *style)
{
    const struct snapshot *snapshot = analysis->snapshot;
    struct report report;
    bool any = false;

    report_begin(&report, out, analysis, style);
    for (size_t i = 0; i < snapshot->loop_count; i++) {
        struct buf whose = {0};
        report.loop = &snapshot->loops[i];
        any |= report.loop->epoch_count > 0;
        if (snapshot->loop_count > 1)
            name_loop(&whose, analysis->run, report.loop, i);
        epochs(&report, SIZE_MAX, buf_text(&whose));
        buf_release(&whose);
    }
    if (!any) {
        buf_add_text(&report.page.value, "This run recorded no epochs.");
        page_line(&report.page);
    }
    report_end(&report);
}
