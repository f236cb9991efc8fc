/* The machine during training: a row for each counter. */
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "diagnose/hardware.h"
#include "read/counter_table.h"
#include "render/numbers.h"
#include "render/table.h"
#include "render/units.h"
#include "report/machine_rows.h"
#include "report/report_parts.h"

enum { SPARK_COLUMNS = 16, LOOKS_NEEDED = 20 };

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

/* What it is with its unit, its course, mean and largest in that unit, and a word on it. */
static void add_row(struct table *table, const struct machine_row *row, bool blocks)
{
    char mean[UNITS_SIZE], most[UNITS_SIZE];
    struct buf spark = {0};

    add_spark(&spark, &row->resource, blocks);
    table_cell(table, "%s, %s", row->label, row->unit);
    table_text(table, buf_text(&spark));
    table_cell(table, "%s", digits_text(mean, row->resource.mean / row->size));
    table_cell(table, "%s", digits_text(most, row->resource.max / row->size));
    table_text(table, row->note);
    buf_release(&spark);
}

/* Whether the loop thread ran, or was ready to, or waited while each stage had it. */
void report_loop_states(struct report *report)
{
    const struct snap_resources *resources = &report->analysis->snapshot->resources;
    struct buf *value = &report->page.value;

    REPORT_FOR_STAGES(stage)
    {
        const uint64_t *seen = resources->states[stage];
        const uint64_t all = seen[0] + seen[1] + seen[2];
        if (all < LOOKS_NEEDED)
            continue;
        if (value->size == 0)
            buf_add_text(value, "the loop thread was running, or ready to run, in ");
        else
            buf_add_text(value, ", ");
        page_joined(&report->page, "%s %.0f %%", ss_stage_text((unsigned)stage),
                    100 * (double)seen[SS_THREAD_RUNS] / (double)all);
        if (seen[SS_THREAD_WAITS_FOR_DISK] * 10 > all)
            buf_add_text(value, " (waits for a disk)");
    }
    if (value->size > 0) {
        buf_add_text(value, " of the time; otherwise it waited");
        page_field(&report->page, "Busy");
    }
}

void report_gpu_holds(struct report *report)
{
    const struct snapshot *snapshot = report->analysis->snapshot;
    struct buf *value = &report->page.value;
    char reasons[GPU_HELD_SIZE];

    for (size_t i = 0; i < snapshot->resources.count; i++) {
        const struct snap_resource *row = &snapshot->resources.rows[i];
        if (row->counter == SS_COUNTER_ID_GPU_CLOCK &&
            gpu_held_text(reasons, snapshot, row->subject)[0])
            buf_printf(value, "%sthe clock of GPU %" PRIu64 " by %s of the time",
                       value->size > 0 ? "; " : "", row->subject, reasons);
    }
    if (value->size > 0)
        page_field(&report->page, "Held");
}

void report_resources(struct report *report)
{
    struct machine_rows rows;
    struct table table;

    if (!snapshot_is_watched(report->analysis->snapshot))
        return;
    report_title(report, "Machine");
    table_init(&table);
    table_column(&table, "", TABLE_TEXT);
    table_optional(&table, "over time", TABLE_TEXT, 2);
    table_column(&table, "mean", TABLE_NUMBER);
    table_column(&table, "most", TABLE_NUMBER);
    table_optional(&table, "", TABLE_TEXT, 1);
    machine_rows_choose(&rows, report->analysis->snapshot, report->loop);
    for (size_t i = 0; i < rows.count; i++)
        add_row(&table, &rows.row[i], report->style->blocks);
    if (table.count > 0)
        table_print(&table, &report->page, report->style);
    table_release(&table);
    report_loop_states(report);
    report_gpu_holds(report);
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
    if (counter_table[row->counter].subject == SS_SUBJECT_NONE || row->state != SS_SYSTEM_VALUE ||
        row->subject == SS_ALL_CPUS)
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
