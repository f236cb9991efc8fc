/* Inside the step: which operations took the time of a few steps, as the framework's own profiler
 * says (format 1.4). */
#include <math.h>
#include <string.h>

#include "load/operation_list.h"
#include "render/numbers.h"
#include "render/table.h"
#include "report/report_json.h"
#include "report/report_parts.h"

enum { OPERATIONS_SHOWN = 15, ROWS_OF_JSON = 200, FEW_UPDATES = 5 };
static const double least_share = 0.005; /* of the time in operations: less is only in --json */

static double per_step(const struct operation_list *list, int64_t sum)
{
    return list->steps > 0 ? (double)sum / (double)list->steps : NAN;
}

static double share_of(const struct operation_list *list, const struct operation *operation)
{
    return list->self_ns > 0 ? (double)operation->self_ns / (double)list->self_ns : NAN;
}

static double coverage_of(const struct operation_list *list)
{
    const double share = list->wall_ns > 0 ? (double)list->covered_ns / (double)list->wall_ns : NAN;

    return share > 1 ? 1 : share;
}

/* Autograd has a name for the call of each function that is long, and its end says which. */
static void put_name(struct table *table, const char *name)
{
    static const char long_form[] = "autograd::engine::evaluate_function: ";
    struct buf text = {0};

    if (strncmp(name, long_form, sizeof long_form - 1) == 0) {
        buf_printf(&text, "autograd: %s", name + sizeof long_form - 1);
        name = buf_text(&text);
    }
    table_text(table, name);
    buf_release(&text);
}

static size_t count_shown(const struct operation_list *list)
{
    size_t shown = 0;

    while (shown < list->count && shown < OPERATIONS_SHOWN &&
           share_of(list, &list->items[shown]) >= least_share)
        shown++;
    return shown;
}

static void say_windows(struct report *report, const struct operation_list *list, size_t shown)
{
    struct buf *value = &report->page.value;
    char text[UNITS_SIZE];

    buf_printf(value, "the profiler of %s watched ", list->framework);
    page_count(&report->page, (uint64_t)list->steps, "step", "steps");
    buf_add_text(value, " in ");
    page_count(&report->page, (uint64_t)list->windows, "window", "windows");
    buf_printf(value, ", which cost %s", units_duration(text, list->cost_ns));
    if (isfinite(coverage_of(list)))
        buf_printf(value, "; %s of their time is in an operation",
                   share_text(text, coverage_of(list)));
    if (list->count > shown) {
        buf_add_text(value, "; --json has ");
        page_count(&report->page, list->count - shown, "more operation", "more operations");
    }
    report_paragraph(report, false);
}

static void say_list(struct report *report, const struct operation_list *list)
{
    const size_t shown = count_shown(list);
    const struct scale scale = scale_for(per_step(list, list->items[shown ? shown / 2 : 0].self_ns),
                                         per_step(list, list->items[0].self_ns));
    struct table table;

    report_title(report, "Operations, by what they took themselves: %s per step", scale.unit.name);
    table_init(&table);
    table_column(&table, "", TABLE_TEXT);
    table_optional(&table, "pass", TABLE_TEXT, 1);
    table_column(&table, "calls", TABLE_NUMBER);
    table_column(&table, "self", TABLE_NUMBER);
    table_column(&table, "share", TABLE_NUMBER);
    for (size_t i = 0; i < shown; i++) {
        const struct operation *operation = &list->items[i];
        char number[UNITS_SIZE];
        put_name(&table, operation->name);
        table_cell(&table, "%s", operation_pass_text(operation->pass));
        table_cell(&table, "%s", digits_text(number, per_step(list, operation->calls)));
        table_cell(&table, "%s", scale_text(number, per_step(list, operation->self_ns), scale));
        table_cell(&table, "%s", share_text(number, share_of(list, operation)));
    }
    table_print(&table, &report->page, report->style);
    table_release(&table);
    say_windows(report, list, shown);
}

void report_operations(struct report *report)
{
    const struct run_facts *facts = report->analysis->facts;
    struct operation_list list;

    if (!facts)
        return;
    if (operation_list_load(&list, facts->path) == 0 && list.count > 0 && list.self_ns > 0)
        say_list(report, &list);
    operation_list_release(&list);
}

static void put_known(struct json *json, const char *key, double value, bool is_known)
{
    json_double(json, key, is_known ? value : NAN);
}

static void put_operation(struct json *json, const struct operation_list *list,
                          const struct operation *operation)
{
    json_begin_object(json, NULL);
    json_string(json, "name", operation->name);
    json_null(json, "layer");
    json_string(json, "pass", operation_pass_text(operation->pass));
    json_double(json, "calls", per_step(list, operation->calls));
    json_double(json, "self_ns", per_step(list, operation->self_ns));
    json_double(json, "share", share_of(list, operation));
    put_known(json, "flops", per_step(list, operation->flops), operation->flops >= 0);
    json_end_object(json);
}

/* Why there are none, as far as it is known. */
static const char *reason_of(const struct analysis *analysis)
{
    const struct snap_loop *loop =
        analysis->snapshot->loop_count > 0 ? analysis->snapshot->loops : NULL;

    if (!loop)
        return "there are no steps";
    return loop->no_windows              ? loop->no_windows
           : loop->updates < FEW_UPDATES ? "too few updates for a window"
                                         : "they were not asked for: 'stepscope run --ops' does";
}

static void put_captures(struct json *json, const struct operation_list *list, const char *reason)
{
    json_begin_object(json, "captures");
    json_int(json, "windows", list->windows);
    json_int(json, "steps", list->steps);
    json_int(json, "wall_ns", list->wall_ns);
    json_double(json, "coverage", coverage_of(list));
    json_int(json, "own_cost_ns", list->cost_ns);
    if (reason)
        json_string(json, "reason", reason);
    else
        json_null(json, "reason");
    json_end_object(json);
}

void report_json_operations(struct json *json, const struct analysis *analysis)
{
    struct operation_list list;
    const bool is_loaded = operation_list_load(&list, analysis->facts->path) == 0;

    if (is_loaded && list.count > 0) {
        json_begin_array(json, "operations");
        for (size_t i = 0; i < list.count && i < ROWS_OF_JSON; i++)
            put_operation(json, &list, &list.items[i]);
        json_end_array(json);
        put_captures(json, &list, NULL);
    } else {
        json_null(json, "operations");
        put_captures(json, &list, reason_of(analysis));
    }
    operation_list_release(&list);
}
