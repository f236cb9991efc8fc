#include "output/report_resources.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "base/units.h"
#include "output/numbers.h"
#include "output/table.h"
#include "read/counter_table.h"

enum { SPARK_COLUMNS = 16, LOOKS_NEEDED = 20 };
static const double megabyte = 1048576, gigabyte = 1073741824, minute = 60;
static const double growth_shown = 0.02; /* of the mean over the time of the loop */

static double course_at(const struct snap_resource *row, size_t column)
{
    const size_t per_column = SNAP_COURSE / SPARK_COLUMNS;
    double sum = 0, count = 0;

    for (size_t i = column * per_column; i < (column + 1) * per_column; i++)
        if (isfinite(row->course[i])) {
            sum += row->course[i];
            count++;
        }
    return count > 0 ? sum / count : NAN;
}

/* Over time, from 0 to the largest. */
static void add_spark(struct buf *out, const struct snap_resource *row, bool blocks)
{
    static const char *const eighths[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char ascii[] = "_.-~=+*#";
    double most = 0;

    for (size_t i = 0; i < SPARK_COLUMNS; i++)
        most = fmax(most, course_at(row, i));
    for (size_t i = 0; i < SPARK_COLUMNS; i++) {
        const double value = course_at(row, i);
        const double share = most > 0 ? value / most : 0;
        const int level = !isfinite(value) ? -1 : (int)fmin(7, fmax(0, share * 8));
        if (level < 0)
            buf_add_text(out, " ");
        else if (blocks)
            buf_add_text(out, eighths[level]);
        else
            buf_add(out, &ascii[level], 1);
    }
}

/* A row: what it is with its unit, its course, mean and largest in that unit, and a word on it. */
static void add_row(struct table *table, const struct report *report, const char *label,
                    const struct snap_resource *row, double unit, const char *note)
{
    char mean[UNITS_SIZE], most[UNITS_SIZE];
    struct buf spark = {0};

    add_spark(&spark, row, report->style->blocks);
    table_cell(table, "%s", label);
    table_text(table, buf_text(&spark));
    table_cell(table, "%s", digits_text(mean, row->mean / unit));
    table_cell(table, "%s", digits_text(most, row->max / unit));
    table_text(table, note);
    buf_release(&spark);
}

static const struct snap_resource *loop_thread(const struct report *report,
                                               unsigned counter)
{
    const struct snapshot *snapshot = report->input->snapshot;
    const uint32_t tid = report->loop
                             ? report->loop->tid
                             : (snapshot->thread_count ? snapshot->threads[0].tid : 0);

    for (size_t i = 0; i < snapshot->resources.count; i++) {
        const struct snap_resource *row = &snapshot->resources.rows[i];
        if (row->counter == counter && (uint32_t)row->subject == tid &&
            isfinite(row->mean))
            return row;
    }
    return NULL;
}

static const struct snap_resource *loop_process(const struct report *report,
                                                unsigned counter)
{
    const struct snap_resource *thread = loop_thread(report, SS_COUNTER_ID_THREAD_CPU);

    return thread
               ? snapshot_value(report->input->snapshot, counter, thread->subject >> 32)
               : NULL;
}

static void add_cpu_rows(struct table *table, const struct report *report)
{
    const struct snapshot *snapshot = report->input->snapshot;
    const struct snap_resource *thread = loop_thread(report, SS_COUNTER_ID_THREAD_CPU);
    const struct snap_resource *waited = loop_thread(report, SS_COUNTER_ID_THREAD_WAIT);
    const struct snap_resource *tree =
        snapshot_value(snapshot, SS_COUNTER_ID_TREE_CPU, SNAP_ANY);
    const struct snap_resource *all =
        snapshot_value(snapshot, SS_COUNTER_ID_CPU_BUSY, SS_ALL_CPUS);
    char note[64] = "";
    const size_t cores = snapshot_cores(snapshot);

    if (waited)
        snprintf(note, sizeof note, "waited %.1f %% for a core", waited->mean / 1e7);
    if (thread)
        add_row(table, report, "loop thread, cores", thread, 1e9, note);
    if (tree)
        add_row(table, report, "command, cores", tree, 1e9, "all its processes");
    snprintf(note, sizeof note, "of %zu", cores);
    if (all) {
        struct snap_resource bounded = *all; /* ticks of the kernel come in lumps */
        bounded.max = fmin(all->max, (double)cores * 1e9);
        add_row(table, report, "machine, cores", &bounded, 1e9, note);
    }
}

static void add_memory(struct table *table, const struct report *report, const char *of,
                       const struct snap_resource *row, const char *note)
{
    const bool is_small = row->max < gigabyte;
    char label[64];

    snprintf(label, sizeof label, "memory%s%s, %s", *of ? " " : "", of,
             is_small ? "MB" : "GB");
    add_row(table, report, label, row, is_small ? megabyte : gigabyte, note);
}

static void add_memory_rows(struct table *table, const struct report *report)
{
    const struct snapshot *snapshot = report->input->snapshot;
    const struct snap_resources *resources = &snapshot->resources;
    const struct snap_resource *memory =
        snapshot_value(snapshot, SS_COUNTER_ID_TREE_RSS, SNAP_ANY);
    const struct snap_resource *left =
        snapshot_value(snapshot, SS_COUNTER_ID_MEMORY_AVAILABLE, SNAP_ANY);
    const struct snap_resource *own = loop_process(report, SS_COUNTER_ID_PROCESS_RSS);
    const struct snap_resource *processes =
        snapshot_value(snapshot, SS_COUNTER_ID_TREE_PROCESSES, SNAP_ANY);
    const bool several = processes && processes->max > 1;
    const double length_s = (double)(resources->end_ns - resources->begin_ns) / 1e9;
    char note[64] = "", text[UNITS_SIZE];

    if (several) /* the kernel counts a page in each process that has it */
        snprintf(note, sizeof note, "shared pages more than once");
    if (memory && resources->growth_per_s * length_s > growth_shown * memory->mean)
        snprintf(note, sizeof note, "grows by %s MB a minute",
                 digits_text(text, resources->growth_per_s * minute / megabyte));
    if (memory)
        add_memory(table, report, own && several ? "of all" : "", memory, note);
    if (own && several)
        add_memory(table, report, "of the loop", own, "");
    if (left) {
        snprintf(note, sizeof note, "at least %s",
                 digits_text(text, left->min / gigabyte));
        add_row(table, report, "memory left, GB", left, gigabyte, note);
    }
}

static void add_io_rows(struct table *table, const struct report *report)
{
    static const struct {
        unsigned counter;
        const char *label;
    } rows[] = {{SS_COUNTER_ID_TREE_READ, "reads, MB/s"},
                {SS_COUNTER_ID_TREE_WRITE, "writes, MB/s"},
                {SS_COUNTER_ID_NET_RECEIVED, "network in, MB/s"},
                {SS_COUNTER_ID_NET_SENT, "network out, MB/s"}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct snap_resource *row =
            snapshot_value(report->input->snapshot, rows[i].counter, SNAP_ANY);
        if (row && row->mean >= megabyte / 100)
            add_row(table, report, rows[i].label, row, megabyte,
                    rows[i].counter >= SS_COUNTER_ID_TREE_READ ? "" : "whole machine");
    }
}

static void add_gpu_rows(struct table *table, const struct report *report)
{
    static const struct {
        unsigned counter;
        const char *label;
        double unit;
    } rows[] = {{SS_COUNTER_ID_GPU_BUSY, "busy, %", 0.01},
                {SS_COUNTER_ID_GPU_MEMORY_USED, "memory, GB", 1073741824},
                {SS_COUNTER_ID_GPU_CLOCK, "clock, GHz", 1e9},
                {SS_COUNTER_ID_GPU_POWER, "power, W", 1},
                {SS_COUNTER_ID_GPU_TEMPERATURE, "heat, C", 1}};
    const struct snap_resources *resources = &report->input->snapshot->resources;
    char label[64];

    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        for (size_t i = 0; i < resources->count; i++) {
            const struct snap_resource *row = &resources->rows[i];
            if (row->counter != rows[k].counter || !isfinite(row->mean))
                continue;
            snprintf(label, sizeof label, "GPU %" PRIu64 " %s", row->subject,
                     rows[k].label);
            add_row(table, report, label, row, rows[k].unit, "");
        }
}

/* Whether the loop's thread ran, or was ready to, or waited while each stage had it. */
static void say_states(struct report *report)
{
    const struct snap_resources *resources = &report->input->snapshot->resources;
    struct buf *value = &report->page.value;

    REPORT_FOR_STAGES(stage)
    {
        const uint64_t *seen = resources->states[stage];
        const uint64_t all = seen[0] + seen[1] + seen[2];
        if (all < LOOKS_NEEDED)
            continue;
        buf_printf(value, "%s%s" TEXT_NO_BREAK "%.0f" TEXT_NO_BREAK "%%",
                   value->size > 0 ? ", " : "", ss_stage_text((unsigned)stage),
                   100 * (double)seen[SS_THREAD_RUNS] / (double)all);
        if (seen[SS_THREAD_WAITS_FOR_DISK] * 10 > all)
            buf_add_text(value, " (waits for a disk)");
    }
    if (value->size > 0) {
        buf_add_text(value, " of its time it ran or could have; else the loop's thread "
                            "waited");
        page_field(&report->page, "Busy");
    }
}

void report_resources(struct report *report)
{
    struct table table;

    if (report->input->snapshot->resources.count == 0)
        return;
    report_title(report, "The machine %s",
                 report->loop ? "while it trained" : "meanwhile");
    table_init(&table);
    table_column(&table, "", TABLE_TEXT);
    table_optional(&table, "over time", TABLE_TEXT, 2);
    table_column(&table, "mean", TABLE_NUMBER);
    table_column(&table, "most", TABLE_NUMBER);
    table_optional(&table, "", TABLE_TEXT, 1);
    add_cpu_rows(&table, report);
    add_memory_rows(&table, report);
    add_io_rows(&table, report);
    add_gpu_rows(&table, report);
    if (table.count > 0)
        table_print(&table, &report->page, report->style);
    table_release(&table);
    say_states(report);
}

static void put_row(struct json *json, const struct snap_resource *row)
{
    static const char *const units[] = {[SS_UNIT_NS] = "ns",
                                        [SS_UNIT_BYTES] = "bytes",
                                        [SS_UNIT_COUNT] = "count",
                                        [SS_UNIT_HZ] = "hz",
                                        [SS_UNIT_CORES] = "cores",
                                        [SS_UNIT_SHARE] = "share",
                                        [SS_UNIT_STATE] = "state",
                                        [SS_UNIT_BITS] = "bits",
                                        [SS_UNIT_WATTS] = "watts",
                                        [SS_UNIT_CELSIUS] = "celsius",
                                        [SS_UNIT_BYTES_PER_S] = "bytes_per_s"};
    static const char *const states[] = {"value", "absent", "denied", "unknown"};
    const bool is_total = counter_table[row->counter].kind == SS_COUNTER_TOTAL;

    json_begin_object(json, NULL);
    json_string(json, "counter", counter_table[row->counter].text);
    json_string(json, "unit", units[counter_table[row->counter].unit]);
    json_string(json, "state", states[row->state & 3]);
    if (counter_table[row->counter].subject == SS_SUBJECT_NONE ||
        row->state != SS_SYSTEM_VALUE || row->subject == SS_ALL_CPUS)
        json_null(json, "subject");
    else
        json_uint(json, "subject", row->subject);
    json_double(json, is_total ? "per_s" : "mean", row->mean);
    json_double(json, "min", row->min);
    json_double(json, "max", row->max);
    json_double(json, is_total ? "gained" : "last", is_total ? row->gained : row->last);
    json_begin_array(json, "course");
    for (size_t i = 0; row->state == SS_SYSTEM_VALUE && i < SNAP_COURSE; i++)
        json_double(json, NULL, row->course[i]);
    json_end_array(json);
    json_end_object(json);
}

static void put_states(struct json *json, const struct snap_resources *resources)
{
    json_begin_object(json, "loop_threads");
    for (unsigned stage = 0; stage < SS_STAGE_COUNT; stage++) {
        const uint64_t *seen = resources->states[stage];
        if (seen[0] + seen[1] + seen[2] == 0)
            continue;
        json_begin_object(json, ss_stage_text(stage));
        json_uint(json, "runs", seen[SS_THREAD_RUNS]);
        json_uint(json, "waits", seen[SS_THREAD_WAITS]);
        json_uint(json, "waits_for_disk", seen[SS_THREAD_WAITS_FOR_DISK]);
        json_end_object(json);
    }
    json_end_object(json);
}

void report_json_resources(struct json *json, const struct snapshot *snapshot)
{
    const struct snap_resources *resources = &snapshot->resources;

    if (resources->count == 0) {
        json_null(json, "resources");
        return;
    }
    json_begin_object(json, "resources");
    json_int(json, "start_ns", resources->begin_ns);
    json_int(json, "wall_ns", resources->end_ns - resources->begin_ns);
    json_double(json, "memory_growth_per_s", resources->growth_per_s);
    put_states(json, resources);
    json_begin_array(json, "counters");
    for (size_t i = 0; i < resources->count; i++)
        put_row(json, &resources->rows[i]);
    json_end_array(json);
    json_end_object(json);
}
