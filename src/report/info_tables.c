/* The tables of `stepscope info`: stages and processes, one unit a column. */
#include <inttypes.h>
#include <stdio.h>

#include "render/units.h"
#include "report/info.h"

enum { MOST_PROCESSES = 20 };

static uint64_t mean_ns(const struct stage_tally *stage)
{
    return stage->spans > 0 ? stage->sum_ns / stage->spans : 0;
}

/* Fills `order` with the stages that have spans, the longest sum first; returns how many. */
static size_t sort_stages(const struct tally *tally, unsigned order[SS_STAGE_COUNT])
{
    size_t count = 0;

    for (unsigned stage = 0; stage < SS_STAGE_COUNT; stage++) {
        if (tally->stages[stage].spans == 0)
            continue;
        size_t at = count++;
        while (at > 0 && tally->stages[order[at - 1]].sum_ns < tally->stages[stage].sum_ns) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = stage;
    }
    return count;
}

void info_text_stages(struct page *page, const struct tally *tally)
{
    unsigned order[SS_STAGE_COUNT];
    size_t count = sort_stages(tally, order);
    uint64_t largest_mean = 0;
    char spans[UNITS_SIZE], sum[UNITS_SIZE], mean[UNITS_SIZE];

    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (mean_ns(&tally->stages[order[i]]) > largest_mean)
            largest_mean = mean_ns(&tally->stages[order[i]]);
    struct units_scale sum_scale = units_scale_for((int64_t)tally->stages[order[0]].sum_ns);
    struct units_scale mean_scale = units_scale_for((int64_t)largest_mean);

    page_line(page);
    buf_printf(&page->value, "%-12s %15s %12s %2s %12s %2s", "Stage", "spans", "sum",
               sum_scale.name, "mean", mean_scale.name);
    page_line(page);
    for (size_t i = 0; i < count; i++) {
        const struct stage_tally *stage = &tally->stages[order[i]];
        buf_printf(&page->value, "%-12s %15s %15s %15s", ss_stage_text(order[i]),
                   units_integer(spans, stage->spans),
                   units_scaled(sum, (int64_t)stage->sum_ns, sum_scale),
                   units_scaled(mean, (int64_t)mean_ns(stage), mean_scale));
        page_line(page);
    }
    if (tally->nested) {
        buf_add_text(&page->value, "(Nested spans count in both.)");
        page_line(page);
    }
}

static void add_rank(struct page *page, const struct ss_process *process)
{
    char text[32] = "-";

    if (process->kind == SS_PROCESS_SUPERVISOR)
        snprintf(text, sizeof text, "superv.");
    else if (process->rank >= 0 && process->world > 0)
        snprintf(text, sizeof text, "%d/%" PRIu32, process->rank, process->world);
    else if (process->rank >= 0)
        snprintf(text, sizeof text, "%d", process->rank);
    buf_printf(&page->value, " %9s", text);
}

/* Milliseconds matter in a short run; in one of hours they would only break the column. */
static void add_seconds(struct page *page, const struct tally *tally, uint64_t ns)
{
    bool is_long = tally_difference(tally->end_ns, tally->start_ns) >= 10000000000000;

    buf_printf(&page->value, " %9.*f", is_long ? 0 : 3, (double)ns / 1e9);
}

static void process_row(struct page *page, const struct tally *tally, size_t index)
{
    const struct ss_process *process = ss_run_process(tally->run, index);
    const struct process_tally *own = &tally->processes[index];
    char spans[UNITS_SIZE], bytes[UNITS_SIZE];

    buf_printf(&page->value, "%4zu %10" PRIu32, index, process->pid);
    add_rank(page, process);
    buf_printf(&page->value, "  %-7s", tally_end_word(process->end));
    add_seconds(page, tally, tally_difference(process->start_ns, tally->start_ns));
    add_seconds(page, tally, tally_difference(process->end_ns, process->start_ns));
    buf_printf(&page->value, " %7" PRIu64 " %7s %7s", own->threads, units_count(spans, own->spans),
               units_bytes(bytes, process->file_bytes));
    page_line(page);
}

void info_text_processes(struct page *page, const struct tally *tally)
{
    size_t count = ss_run_processes(tally->run);

    if (count == 0)
        return;
    page_line(page);
    buf_printf(&page->value, "%4s %10s %9s  %-7s %9s %9s %7s %7s %7s", "Proc", "pid", "rank", "end",
               "starts s", "lasts s", "threads", "spans", "size");
    page_line(page);
    for (size_t i = 0; i < count && i < MOST_PROCESSES; i++)
        process_row(page, tally, i);
    if (count > MOST_PROCESSES) {
        buf_printf(&page->value, "and %zu more; --json lists all", count - MOST_PROCESSES);
        page_line(page);
    }
}
