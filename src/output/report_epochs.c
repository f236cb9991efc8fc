/* Epochs, and loops beside each other: short tables. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "output/numbers.h"
#include "output/report_parts.h"
#include "output/table.h"

enum { LOOPS_SHOWN = 10 };

static void epoch_row(struct table *table, const struct snap_epoch *epoch,
                      struct scale scale)
{
    const double took = epoch->end_ns > 0 ? (double)(epoch->end_ns - epoch->start_ns) : NAN;
    const struct scale step = scale_for(1e6);
    char text[UNITS_SIZE];

    table_cell(table, "%" PRId64, epoch->number);
    table_cell(table, "%s", scale_text(text, took, scale));
    table_cell(table, "%s", units_integer(text, (uint64_t)epoch->steps));
    table_cell(table, "%s", scale_text(text, (double)epoch->step_ns, scale));
    table_cell(table, "%s", scale_text(text, (double)epoch->eval_ns, scale));
    table_cell(table, "%s",
               share_text(text, epoch->step_ns > 0
                                    ? (double)epoch->eval_ns / (double)epoch->step_ns
                                    : NAN));
    table_cell(table, "%s",
               scale_text(text,
                          epoch->steps > 0 ? (double)epoch->step_ns / (double)epoch->steps
                                           : NAN,
                          step));
}

static struct scale scale_of_epochs(const struct snap_loop *loop)
{
    double longest = 0;

    for (size_t i = 0; i < loop->epoch_count; i++) {
        const struct snap_epoch *epoch = &loop->epochs[i];
        const double took = (double)(epoch->end_ns - epoch->start_ns);
        longest = took > longest ? took : longest;
        longest = (double)epoch->step_ns > longest ? (double)epoch->step_ns : longest;
    }
    return scale_for(longest);
}

void report_epochs(struct report *report, size_t most)
{
    const struct snap_loop *loop = report->loop;
    struct table table;
    char text[UNITS_SIZE];

    if (loop->epoch_count == 0)
        return;
    const struct scale scale = scale_of_epochs(loop);
    const size_t first = loop->epoch_count > most ? loop->epoch_count - most : 0;
    report_title(report, "Epochs: %s%s", units_integer(text, (uint64_t)loop->epochs_seen),
                 first > 0 || loop->epochs_seen > (int64_t)loop->epoch_count
                     ? ", of which the last"
                     : "");
    table_init(&table);
    table_column(&table, "epoch", TABLE_NUMBER);
    table_column(&table, "took", TABLE_NUMBER);
    table_column(&table, "steps", TABLE_NUMBER);
    table_column(&table, "training", TABLE_NUMBER);
    table_column(&table, "evaluation", TABLE_NUMBER);
    table_column(&table, "of training", TABLE_NUMBER);
    table_column(&table, "ms a step", TABLE_NUMBER);
    for (size_t i = first; i < loop->epoch_count; i++)
        epoch_row(&table, &loop->epochs[i], scale);
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

static void loop_row(struct table *table, const struct snap_loop *loop, size_t number,
                     struct scale scale)
{
    char text[UNITS_SIZE];

    table_cell(table, "%zu", number);
    table_cell(table, "%" PRIu32, loop->process);
    if (loop->rank >= 0)
        table_cell(table, "%d", loop->rank);
    else
        table_cell(table, "-");
    table_cell(table, "%" PRIu32, loop->tid);
    table_cell(table, "%s", units_integer(text, (uint64_t)loop->steps));
    table_cell(table, "%s", digits_text(text, loop->steps_per_s.mid, 0));
    table_cell(table, "%s", scale_text(text, loop->quantiles.p50_ns, scale));
    add_largest(table, loop);
    table_text(table, loop->name);
}

void report_loops(struct report *report)
{
    const struct snapshot *snapshot = report->input->snapshot;
    const struct scale scale = scale_for(report->loop->quantiles.p50_ns);
    struct table table;

    if (snapshot->loop_count < 2)
        return;
    report_title(report, "Loops: %zu; what is above is of loop 0, medians are %s",
                 snapshot->loop_count, scale.unit.name);
    table_init(&table);
    table_column(&table, "loop", TABLE_NUMBER);
    table_column(&table, "process", TABLE_NUMBER);
    table_column(&table, "rank", TABLE_NUMBER);
    table_column(&table, "thread", TABLE_NUMBER);
    table_column(&table, "steps", TABLE_NUMBER);
    table_column(&table, "steps/s", TABLE_NUMBER);
    table_column(&table, "median", TABLE_NUMBER);
    table_column(&table, "largest stage", TABLE_NUMBER);
    table_column(&table, "name", TABLE_TEXT);
    for (size_t i = 0; i < snapshot->loop_count && i < LOOPS_SHOWN; i++)
        loop_row(&table, &snapshot->loops[i], i, scale);
    table_print(&table, &report->page, report->style);
    table_release(&table);
    if (snapshot->loop_count > LOOPS_SHOWN) {
        buf_printf(&report->page.value, "and %zu more; --json lists all",
                   snapshot->loop_count - LOOPS_SHOWN);
        page_line(&report->page);
    }
}
