/* A comparison for programs. Keys: docs/compare.md. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "report/compare_report.h"
#include "report/report_json.h"

#define COMPARE_JSON_SCHEMA "stepscope-compare/1"

/* 'A', 'B', ... as a text. */
struct side_name {
    char text[2];
};

static struct side_name side_name(size_t side)
{
    return (struct side_name){{(char)('A' + side), '\0'}};
}

static void put_run(struct json *json, const struct compare_report *report, size_t number)
{
    const struct compare_run *run = &report->runs[number];

    json_begin_object(json, NULL);
    json_string(json, "name", report->names[number]);
    json_int(json, "steps", run->steps);
    json_int(json, "warmup", run->warmup_steps);
    json_int(json, "steady", run->steady_steps);
    json_string(json, "warmup_class", report_json_class_text(run->class));
    json_double(json, "samples_per_step", run->samples);
    json_double(json, "mean_ns", run->time[COMPARE_STEP].mean_ns);
    json_double(json, "mean_error_ns", run->time[COMPARE_STEP].error_ns);
    json_double(json, "median_ns", run->time[COMPARE_STEP].median_ns);
    if (run->watched)
        json_string(json, "validity", validity_level_text(run->validity.level));
    else
        json_null(json, "validity");
    json_begin_array(json, "disturbed");
    for (size_t i = 0; run->watched && i < run->validity.count; i++)
        if (run->validity.item[i].level == VALIDITY_WARN)
            json_string(json, NULL, run->validity.item[i].text);
    json_end_array(json);
    json_end_object(json);
}

static void put_sides(struct json *json, const struct compare_report *report)
{
    json_begin_array(json, "sides");
    for (size_t i = 0; i < report->side_count; i++) {
        const struct compare_group *side = &report->side[i];
        json_begin_object(json, NULL);
        json_string(json, "side", side_name(i).text);
        json_string(json, "label", side->label);
        json_begin_array(json, "runs");
        for (size_t k = 0; k < side->count; k++)
            put_run(json, report, side->first + k);
        json_end_array(json);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_differences(struct json *json, const struct compare_report *report)
{
    const char *keys[COMPARE_MOST_KEYS];
    const size_t count =
        compare_facts_differing(report->facts, report->run_count, keys, COMPARE_MOST_KEYS);

    json_begin_array(json, "differs");
    for (size_t i = 0; i < count; i++) {
        json_begin_object(json, NULL);
        json_string(json, "key", keys[i]);
        for (size_t side = 0; side < report->side_count; side++) {
            const struct compare_group *group = &report->side[side];
            json_begin_array(json, side_name(side).text);
            for (size_t k = 0; k < group->count; k++) {
                const char *value = compare_facts_value(&report->facts[group->first + k], keys[i]);
                if (value)
                    json_string(json, NULL, value);
                else
                    json_null(json, NULL);
            }
            json_end_array(json);
        }
        json_end_object(json);
    }
    json_end_array(json);
}

/* What rows of stages and of layers have in common. */
static void put_change(struct json *json, const struct compare_row *row)
{
    json_double(json, "a_ns", row->a_ns);
    json_double(json, "b_ns", row->b_ns);
    report_json_interval(json, "change", "change_ci", row->change);
    json_double(json, "chance", row->chance);
    if (row->in_a && row->in_b)
        json_string(json, "verdict", compare_word_text(row->word));
    else
        json_null(json, "verdict");
}

static void put_row(struct json *json, const char *key, const struct compare_row *row)
{
    json_begin_object(json, key);
    put_change(json, row);
    if (row->more_runs >= 0)
        json_int(json, "more_runs", row->more_runs);
    else
        json_null(json, "more_runs");
    json_end_object(json);
}

static void put_layers(struct json *json, const struct compare_report *report, size_t side)
{
    struct compare_layer_row rows[COMPARE_LAYERS_MOST] = {{0}};
    const size_t count = compare_report_layers(report, side, rows);

    json_begin_array(json, "layers");
    for (size_t i = 0; i < count; i++) {
        json_begin_object(json, NULL);
        json_string(json, "path", rows[i].path);
        put_change(json, &rows[i].row);
        json_end_object(json);
    }
    json_end_array(json);
}

static const char *decider_text(int row)
{
    return row == COMPARE_QUIET ? "quiet" : row == COMPARE_MEDIAN ? "median" : "mean";
}

static void put_comparison(struct json *json, const struct compare_report *report, size_t side)
{
    const struct comparison *comparison = &report->with[side];

    json_begin_object(json, NULL);
    json_string(json, "a", side_name(0).text);
    json_string(json, "b", side_name(side).text);
    json_string(json, "level", compare_level_text(comparison->level));
    if (comparison->level == COMPARE_INDICATION)
        json_double(json, "assumed_spread", comparison->assumed);
    else
        json_null(json, "assumed_spread");
    json_string(json, "unit", comparison->per_sample ? "sample" : "step");
    json_bool(json, "unsteady", comparison->unsteady);
    json_string(json, "verdict", compare_word_text(comparison->word));
    json_string(json, "decided_by", decider_text(comparison->decided_by));
    put_row(json, "step", &comparison->row[COMPARE_STEP]);
    put_row(json, "median", &comparison->row[COMPARE_MEDIAN]);
    put_row(json, "quiet", &comparison->row[COMPARE_QUIET]);
    json_begin_object(json, "stages");
    for (int i = 0; i < SS_STAGE_COUNT; i++)
        if (comparison->row[i].a_ns > 0 || comparison->row[i].b_ns > 0)
            put_row(json, compare_row_text(i), &comparison->row[i]);
    json_end_object(json);
    put_layers(json, report, side);
    if (comparison->carrier >= 0)
        json_string(json, "carrier", compare_row_text(comparison->carrier));
    else
        json_null(json, "carrier");
    if (isnan(report->gate))
        json_null(json, "gate");
    else
        json_string(json, "gate", compare_gate_text(compare_gate(comparison, report->gate)));
    json_end_object(json);
}

void compare_json(struct sink *out, const struct compare_report *report)
{
    struct json json;

    json_init(&json, out);
    json_begin_object(&json, NULL);
    json_string(&json, "schema", COMPARE_JSON_SCHEMA);
    put_sides(&json, report);
    put_differences(&json, report);
    json_begin_array(&json, "comparisons");
    for (size_t side = 1; side < report->side_count; side++)
        put_comparison(&json, report, side);
    json_end_array(&json);
    json_double(&json, "fail_if_slower", report->gate);
    json_end_object(&json);
    json_end_line(&json);
}
