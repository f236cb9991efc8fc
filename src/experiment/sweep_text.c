#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "experiment/sweep.h"
#include "render/numbers.h"
#include "render/table.h"
#include "render/units.h"

enum { ERROR_COLUMNS = 50, COMMAND_COLUMNS = 60 };
static const double worth_a_word = 0.05;

static bool is_measured(const struct sweep_row *row)
{
    return row->rate.mid > 0;
}

static void add_row(struct table *table, const struct sweep_result *result, size_t i)
{
    const struct sweep_row *const row = &result->rows[i];
    char text[UNITS_SIZE], low[UNITS_SIZE], high[UNITS_SIZE];

    table_text(table, row->label);
    if (!is_measured(row)) {
        for (int column = 0; column < 4; column++)
            table_cell(table, "-");
        table_cell(table, "failed");
        return;
    }
    table_cell(table, "%s", digits_text(text, row->rate.mid));
    table_cell(table, "%s to %s", digits_text(low, row->rate.low),
               digits_text(high, row->rate.high));
    table_cell(table, "%s", units_duration(text, (int64_t)row->step_ns));
    table_cell(table, "%s", row->rss_bytes ? units_bytes(text, row->rss_bytes) : "-");
    if (i == result->best)
        table_cell(table, "best");
    else
        table_cell(table, "%.0f %%%s", 100 * row->of_best.mid, row->was_dropped ? ", dropped" : "");
}

static void print_table(struct page *page, const struct sweep_wish *wish,
                        const struct sweep_result *result, const struct style *style)
{
    const struct variant_parameter *const first = &wish->variants->parameters[0];
    struct table table;

    table_init(&table);
    table_column(&table,
                 wish->is_batch   ? "batch"
                 : first->name[0] ? first->name
                                  : "value",
                 TABLE_NUMBER);
    table_column(&table, result->counts_samples ? "samples/s" : "steps/s", TABLE_NUMBER);
    table_column(&table, "95 % interval", TABLE_NUMBER);
    table_column(&table, "step", TABLE_NUMBER);
    table_optional(&table, "memory", TABLE_NUMBER, 1);
    table_column(&table, "of the best", TABLE_NUMBER);
    for (size_t i = 0; i < result->count; i++)
        add_row(&table, result, i);
    table_print(&table, page, style);
    table_release(&table);
}

static void print_fit(struct page *page, const struct sweep_result *result)
{
    char fixed[UNITS_SIZE], low[UNITS_SIZE], high[UNITS_SIZE], each[UNITS_SIZE];

    if (!result->has_fit)
        return;
    page_joined(page, "a step costs %s (%s to %s)",
                units_duration(fixed, (int64_t)result->fit.fixed_ns),
                units_duration(low, (int64_t)result->fixed_ns.low),
                units_duration(high, (int64_t)result->fixed_ns.high));
    buf_printf(&page->value, " plus %s per sample%s",
               units_duration(each, (int64_t)result->fit.each_ns),
               result->fit.is_model ? "" : " (an indication: it takes five sizes to be sure)");
    if (result->fit.floor_ns > 0)
        buf_printf(&page->value, "; smaller batches cost %s whatever their size",
                   units_duration(each, (int64_t)result->fit.floor_ns));
    page_field(page, "fit");
}

static void print_best(struct page *page, const struct sweep_wish *wish,
                       const struct sweep_result *result)
{
    const struct sweep_row *const best = &result->rows[result->best];
    char rate[UNITS_SIZE], low[UNITS_SIZE], high[UNITS_SIZE];

    page_text(page, (struct ss_text){best->label, strlen(best->label)}, ERROR_COLUMNS);
    buf_printf(&page->value, ", %s %s (%s to %s)", digits_text(rate, best->rate.mid),
               result->counts_samples ? "samples/s" : "steps/s", digits_text(low, best->rate.low),
               digits_text(high, best->rate.high));
    if (result->smallest_near_best != SIZE_MAX && result->smallest_near_best != result->best)
        buf_printf(&page->value, "; %s is the smallest within 10 %% of it",
                   result->rows[result->smallest_near_best].label);
    page_field(page, "best");
    if (wish->is_batch) {
        page_prose(page,
                   "another batch size is another training: check learning rate and accuracy");
        page_field(page, "note");
    }
}

static void print_clock(struct page *page, const struct sweep_result *result)
{
    if (result->others_share < worth_a_word)
        return;
    if (result->is_quiet)
        buf_printf(&page->value,
                   "other programs kept the loops from a core for %.0f %% of the time, which is "
                   "left out",
                   100 * result->others_share);
    else
        buf_printf(
            &page->value,
            "other programs kept the loops from a core for %.0f %% of the time, which cannot "
            "be left out of trainings with several threads",
            100 * result->others_share);
    page_field(page, result->is_quiet ? "clock" : "caution");
}

static void print_failures(struct page *page, const struct sweep_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        const struct sweep_row *const row = &result->rows[i];
        if (is_measured(row) || row->error.size == 0)
            continue;
        page_text(page, (struct ss_text){row->label, strlen(row->label)}, ERROR_COLUMNS);
        buf_add_text(&page->value, ": ");
        page_text(page, (struct ss_text){row->error.data, row->error.size}, 4 * ERROR_COLUMNS);
        page_field(page, "failed");
    }
}

void sweep_text_notes(struct page *page, const struct sweep_result *result)
{
    print_clock(page, result);
    print_failures(page, result);
    page_prose(page, "the trainings were thrown away; ");
    page_prose(page, protect_text(result->level));
    page_field(page, "files");
    page_text(page, (struct ss_text){result->dir.data, result->dir.size}, result->dir.size);
    page_field(page, "runs");
}

void sweep_text(struct sink *out, const struct sweep_wish *wish, const struct sweep_result *result,
                const struct style *style)
{
    char took[UNITS_SIZE];
    struct page page;

    page_init(&page, out);
    page.columns = style->columns;
    buf_printf(&page.value, "stepscope sweep: %zu %s in %s%s", result->count,
               result->count == 1 ? "value" : "values",
               units_duration(took, (int64_t)(result->seconds * 1e9)),
               result->signal      ? ", interrupted"
               : result->is_serial ? ", one after the other"
                                   : "");
    page_line(&page);
    print_table(&page, wish, result, style);
    if (result->best != SIZE_MAX)
        print_best(&page, wish, result);
    print_fit(&page, result);
    sweep_text_notes(&page, result);
    page_release(&page);
}

static void add_number(struct json *json, const char *key, double value, bool is_known)
{
    if (is_known)
        json_double(json, key, value);
    else
        json_null(json, key);
}

static void add_interval(struct json *json, const char *key, struct interval interval)
{
    if (!isfinite(interval.high)) {
        json_null(json, key);
        return;
    }
    json_begin_array(json, key);
    json_double(json, NULL, interval.low);
    json_double(json, NULL, interval.high);
    json_end_array(json);
}

static void add_value(struct json *json, const struct sweep_result *result, size_t i)
{
    const struct sweep_row *const row = &result->rows[i];
    const bool known = is_measured(row), samples = known && result->counts_samples;
    const struct interval none = {0, 0, INFINITY};

    json_begin_object(json, NULL);
    json_string(json, "value", row->label);
    add_number(json, "samples_per_s", row->rate.mid, samples);
    add_interval(json, "samples_per_s_ci", samples ? row->rate : none);
    add_number(json, "steps_per_s", 1e9 / row->step_ns, known);
    add_number(json, "step_ns", row->step_ns, known);
    json_int(json, "steps", (int64_t)row->steps);
    if (row->rss_bytes)
        json_uint(json, "rss_bytes", row->rss_bytes);
    else
        json_null(json, "rss_bytes");
    add_number(json, "of_best", row->of_best.mid, known);
    json_bool(json, "dropped", row->was_dropped);
    if (!known)
        json_bytes(json, "error", row->error.data, row->error.size);
    else
        json_null(json, "error");
    json_end_object(json);
}

static void add_label(struct json *json, const char *key, const struct sweep_result *result,
                      size_t i)
{
    if (i == SIZE_MAX)
        json_null(json, key);
    else
        json_string(json, key, result->rows[i].label);
}

static void add_fit(struct json *json, const struct sweep_result *result)
{
    if (!result->has_fit) {
        json_null(json, "fit");
        return;
    }
    json_begin_object(json, "fit");
    json_double(json, "fixed_ns", result->fit.fixed_ns);
    add_interval(json, "fixed_ns_ci", result->fixed_ns);
    json_double(json, "per_sample_ns", result->fit.each_ns);
    add_interval(json, "per_sample_ns_ci", result->each_ns);
    add_number(json, "floor_ns", result->fit.floor_ns, result->fit.floor_ns > 0);
    json_bool(json, "is_model", result->fit.is_model);
    json_end_object(json);
}

void sweep_json_facts(struct json *json, const struct sweep_result *result)
{
    json_string(json, "clock", result->is_quiet ? "quiet" : "wall");
    json_double(json, "others_share", result->others_share);
    json_string(json, "order", result->is_serial ? "serial" : "turns");
    json_string(json, "protected", protect_word(result->level));
    json_double(json, "seconds", result->seconds);
    json_bool(json, "interrupted", result->signal != 0);
    json_bytes(json, "path", result->dir.data, result->dir.size);
}

void sweep_json(struct sink *out, const struct sweep_result *result)
{
    struct json json;

    json_init(&json, out);
    json_begin_object(&json, NULL);
    json_begin_array(&json, "values");
    for (size_t i = 0; i < result->count; i++)
        add_value(&json, result, i);
    json_end_array(&json);
    add_label(&json, "best", result, result->best);
    add_label(&json, "smallest_near_best", result, result->smallest_near_best);
    add_fit(&json, result);
    sweep_json_facts(&json, result);
    json_end_object(&json);
    json_end_line(&json);
}
