/* What an imported trace says of its devices (format 1.3), and what such a trace cannot tell. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/saturate.h"
#include "load/device_table.h"
#include "render/numbers.h"
#include "render/table.h"
#include "report/report_json.h"
#include "report/report_parts.h"

enum { ROWS_SHOWN = 10, NAME_MOST = 200 };

static int64_t sum(const struct device_table *table, enum device_column column)
{
    return device_table_sum(table, TABLE_DEVICE, column);
}

/* What a reason has of the time in which nothing is computed; nothing if it is nothing. */
static void say_reason(struct report *report, const char *reason, int64_t ns, int64_t window_ns)
{
    char share[UNITS_SIZE];

    if (ns <= 0)
        return;
    buf_printf(&report->page.value, "%s%s %s", report->page.value.size > 0 ? ", " : "", reason,
               units_share(share, (double)ns, (double)window_ns));
}

static void say_busy(struct report *report, const struct device_table *table)
{
    const int64_t window_ns = sum(table, DEVICE_WINDOW_NS);
    const size_t devices = table->rows[TABLE_DEVICE].count;
    char share[UNITS_SIZE], compute[UNITS_SIZE], time[UNITS_SIZE];

    buf_printf(&report->page.value, "%s of %s",
               units_share(share, (double)sum(table, DEVICE_BUSY_NS), (double)window_ns),
               units_duration(time, window_ns));
    if (devices > 1)
        buf_printf(&report->page.value, " of %zu devices", devices);
    buf_printf(&report->page.value, "; computing %s",
               units_share(compute, (double)sum(table, DEVICE_COMPUTE_NS), (double)window_ns));
    page_field(&report->page, "Busy");
}

/* The time in which it computes nothing, by what it waits for. */
static void say_idle(struct report *report, const struct device_table *table)
{
    const int64_t window_ns = sum(table, DEVICE_WINDOW_NS);
    const int64_t data_ns = sum(table, DEVICE_DATA_NS);

    say_reason(report, "waiting for data", data_ns, window_ns);
    say_reason(report, "waiting for the host (other)", sum(table, DEVICE_HOST_NS) - data_ns,
               window_ns);
    say_reason(report, "launched but not begun", sum(table, DEVICE_LAUNCH_NS), window_ns);
    say_reason(report, "communication", sum(table, DEVICE_COMM_EXPOSED_NS), window_ns);
    say_reason(report, "memory copies", sum(table, DEVICE_COPY_EXPOSED_NS), window_ns);
    say_reason(report, "work from before the trace", sum(table, DEVICE_EARLIER_NS), window_ns);
    say_reason(report, "unknown", sum(table, DEVICE_UNKNOWN_NS), window_ns);
    if (report->page.value.size > 0)
        page_field(&report->page, "Idle");
}

static void say_communication(struct report *report, const struct device_table *table)
{
    const int64_t all_ns = sum(table, DEVICE_COMM_NS),
                  exposed_ns = sum(table, DEVICE_COMM_EXPOSED_NS);
    char all[UNITS_SIZE], exposed[UNITS_SIZE], share[UNITS_SIZE];

    if (all_ns <= 0)
        return;
    buf_printf(&report->page.value, "%s, of which %s (%s) while nothing was computed",
               units_duration(all, all_ns), units_duration(exposed, exposed_ns),
               units_share(share, (double)exposed_ns, (double)all_ns));
    page_field(&report->page, "Comm");
}

static double gigabytes_per_s(const struct device_row *row)
{
    return row->number[TRANSFER_TOTAL_NS] > 0 && row->number[TRANSFER_BYTES] > 0
               ? (double)row->number[TRANSFER_BYTES] / (double)row->number[TRANSFER_TOTAL_NS]
               : NAN;
}

static void say_transfers(struct report *report, const struct device_table *table)
{
    const struct device_rows *rows = &table->rows[TABLE_TRANSFER];

    for (size_t i = 0; i < rows->count; i++) {
        const struct device_row *row = &rows->items[i];
        char bytes[UNITS_SIZE], time[UNITS_SIZE], rate[UNITS_SIZE];
        page_text(&report->page, (struct ss_text){row->text, strlen(row->text)}, NAME_MOST);
        buf_add_text(&report->page.value, ": ");
        page_count(&report->page, (uint64_t)row->number[TRANSFER_COUNT], "copy", "copies");
        buf_printf(&report->page.value, ", %s in %s",
                   units_bytes(bytes, (uint64_t)row->number[TRANSFER_BYTES]),
                   units_duration(time, row->number[TRANSFER_TOTAL_NS]));
        if (isfinite(gigabytes_per_s(row)))
            page_joined(&report->page, ", %s GB/s", digits_text(rate, gigabytes_per_s(row)));
        page_field(&report->page, i == 0 ? "Copies" : "");
    }
}

/* The rows of a kind with most time: name, calls, total, share of all. */
static void say_rows(struct report *report, const struct device_table *table, enum device_kind kind,
                     unsigned calls, unsigned total, int64_t whole_ns, const char *title)
{
    const struct device_rows *rows = &table->rows[kind];
    struct table out;

    if (rows->count == 0 || rows->items[0].number[total] == 0)
        return;
    report_title(report, "%s", title);
    table_init(&out);
    table_column(&out, "", TABLE_TEXT);
    table_column(&out, "calls", TABLE_NUMBER);
    table_column(&out, "total", TABLE_NUMBER);
    table_column(&out, "share", TABLE_NUMBER);
    for (size_t i = 0; i < rows->count && i < ROWS_SHOWN; i++) {
        const struct device_row *row = &rows->items[i];
        char number[UNITS_SIZE], time[UNITS_SIZE], share[UNITS_SIZE];
        table_text(&out, row->text);
        table_cell(&out, "%s", count_text(number, (uint64_t)row->number[calls]));
        table_cell(&out, "%s", units_duration(time, row->number[total]));
        table_cell(&out, "%s", units_share(share, (double)row->number[total], (double)whole_ns));
    }
    table_print(&out, &report->page, report->style);
    table_release(&out);
    if (rows->count > ROWS_SHOWN) {
        buf_printf(&report->page.value, "and %zu more; --json lists them",
                   rows->count - ROWS_SHOWN);
        page_line(&report->page);
    }
}

/* The host's time in layers, of a trace without devices; of layers inside others only the outer. */
static void say_host_layers(struct report *report, const struct device_table *table)
{
    const struct device_rows *rows = &table->rows[TABLE_LAYER];
    int64_t all_ns = 0;

    for (size_t i = 0; i < rows->count; i++) {
        if (rows->items[i].number[LAYER_DEVICE_NS] > 0)
            return;
        if (!strchr(rows->items[i].text, '/'))
            saturate_add(&all_ns, rows->items[i].number[LAYER_HOST_NS]);
    }
    say_rows(report, table, TABLE_LAYER, LAYER_CALLS, LAYER_HOST_NS, all_ns,
             "Layers by time on the host, including nested layers");
}

/* Whether a trace of the run is one of torch.profiler. */
static bool is_of_torch(const struct device_table *table)
{
    const struct device_rows *facts = &table->rows[TABLE_FACT];

    for (size_t i = 0; i < facts->count; i++)
        if (strncmp(facts->items[i].text, "trace ", 6) == 0 && facts->items[i].number[0] == 0)
            return true;
    return false;
}

static void say_limits(struct report *report, const struct device_table *table)
{
    const int64_t earlier = device_table_number(table, "earlier", 0);

    buf_add_text(
        &report->page.value,
        "imported from another profiler's trace: host times include that profiler's own cost. The trace says nothing about the time before and after it, about the machine (cores, memory, clocks, power), or about why the host was late.");
    if (table->rows[TABLE_LAYER].count == 0 && is_of_torch(table))
        buf_add_text(&report->page.value,
                     " No layers: torch.profiler records modules only with with_stack=True.");
    page_field(&report->page, "Source");
    if (earlier > 0) {
        page_count(&report->page, (uint64_t)earlier, "event", "events");
        buf_add_text(&report->page.value,
                     " on devices that were launched before the trace began are not counted.");
        page_field(&report->page, "");
    }
}

static void say_devices(struct report *report, const struct device_table *table)
{
    const int64_t kernels_ns = device_table_sum(table, TABLE_KERNEL, KERNEL_TOTAL_NS);

    report_title(report, "Devices, as the trace shows them");
    if (table->rows[TABLE_DEVICE].count == 0) {
        buf_add_text(&report->page.value, "the trace has no device events");
        page_field(&report->page, "Busy");
    } else {
        say_busy(report, table);
        say_idle(report, table);
        say_communication(report, table);
        say_transfers(report, table);
    }
    say_limits(report, table);
    say_rows(report, table, TABLE_KERNEL, KERNEL_CALLS, KERNEL_TOTAL_NS, kernels_ns,
             "On devices, by name");
    say_rows(report, table, TABLE_COLLECTIVE, COLLECTIVE_CALLS, COLLECTIVE_TOTAL_NS, kernels_ns,
             "Collectives");
    say_rows(report, table, TABLE_LAYER, LAYER_CALLS, LAYER_DEVICE_NS, kernels_ns,
             "Layers by time on devices, including nested layers");
    say_host_layers(report, table);
}

void report_devices(struct report *report)
{
    const struct run_facts *facts = report->analysis->facts;
    struct device_table table;

    if (!facts || device_table_load(&table, facts->path, DEVICE_TABLE_FILE) != 0)
        return;
    if (table.rows[TABLE_FACT].count > 0)
        say_devices(report, &table);
    device_table_release(&table);
}

static void put_rows(struct json *json, const struct device_table *table, enum device_kind kind,
                     const char *key, const char *text_key)
{
    const struct device_rows *rows = &table->rows[kind];

    json_begin_array(json, key);
    for (size_t i = 0; i < rows->count; i++) {
        const struct device_row *row = &rows->items[i];
        json_begin_object(json, NULL);
        if (text_key)
            json_string(json, text_key, row->text);
        for (size_t c = 0; c < device_table_columns(kind); c++)
            json_int(json, device_table_column(kind, c), row->number[c]);
        if (kind == TABLE_TRANSFER)
            json_double(json, "gb_per_s", gigabytes_per_s(row));
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_share(struct json *json, const char *key, const struct device_table *table,
                      enum device_column column)
{
    const int64_t window_ns = sum(table, DEVICE_WINDOW_NS);

    json_double(json, key, window_ns > 0 ? (double)sum(table, column) / (double)window_ns : NAN);
}

static void put_idle(struct json *json, const struct device_table *table)
{
    json_begin_object(json, "idle");
    json_int(json, "host_ns", sum(table, DEVICE_HOST_NS));
    json_int(json, "data_ns", sum(table, DEVICE_DATA_NS));
    json_int(json, "launch_ns", sum(table, DEVICE_LAUNCH_NS));
    json_int(json, "comm_ns", sum(table, DEVICE_COMM_EXPOSED_NS));
    json_int(json, "transfer_ns", sum(table, DEVICE_COPY_EXPOSED_NS));
    json_int(json, "earlier_ns", sum(table, DEVICE_EARLIER_NS));
    json_int(json, "unknown_ns", sum(table, DEVICE_UNKNOWN_NS));
    json_end_object(json);
}

void report_json_devices(struct json *json, const struct device_table *table)
{
    json_string(json, "source", "imported");
    json_int(json, "window_ns", sum(table, DEVICE_WINDOW_NS));
    json_int(json, "busy_ns", sum(table, DEVICE_BUSY_NS));
    put_share(json, "busy_share", table, DEVICE_BUSY_NS);
    put_share(json, "kernel_share", table, DEVICE_KERNEL_NS);
    json_int(json, "compute_ns", sum(table, DEVICE_COMPUTE_NS));
    json_int(json, "comm_ns", sum(table, DEVICE_COMM_NS));
    json_int(json, "comm_exposed_ns", sum(table, DEVICE_COMM_EXPOSED_NS));
    json_int(json, "transfer_ns", sum(table, DEVICE_COPY_NS));
    put_idle(json, table);
    put_rows(json, table, TABLE_TRANSFER, "transfers", "kind");
    put_rows(json, table, TABLE_DEVICE, "devices", "name");
    put_rows(json, table, TABLE_STEP, "device_steps", NULL);
    put_rows(json, table, TABLE_KERNEL, "kernels", "name");
    put_rows(json, table, TABLE_COLLECTIVE, "collectives", "name");
    put_rows(json, table, TABLE_LAYER, "layers", "path");
}
