#include "report/metrics.h"

#include <stddef.h>
#include <string.h>

#include "report/report_json.h"

#define ALWAYS 0, UINT64_MAX

#define IN(field) offsetof(struct snap_loop, field)
static const struct metric steady[] = {
    {"count", NULL, NULL, METRIC_COUNT, IN(steady_steps), ALWAYS, 0, "steady steps"},
    {"total_ns", NULL, NULL, METRIC_COUNT, IN(steady_ns), ALWAYS, 0, "time of all steady steps"},
    {"mean_ns", "mean_ci_ns", NULL, METRIC_INTERVAL, IN(step_ns), ALWAYS, 0,
     "mean time of a step; its interval allows for autocorrelation"},
    {"p50_ns", NULL, NULL, METRIC_POSITIVE, IN(quantiles.p50_ns), ALWAYS, 0,
     "median, within 0.5 %"},
    {"p90_ns", NULL, NULL, METRIC_POSITIVE, IN(quantiles.p90_ns), ALWAYS, 0, "90th percentile"},
    {"p95_ns", NULL, NULL, METRIC_POSITIVE, IN(quantiles.p95_ns), ALWAYS, 0, "95th percentile"},
    {"p99_ns", NULL, NULL, METRIC_POSITIVE, IN(quantiles.p99_ns), ALWAYS, 0, "99th percentile"},
    {"p999_ns", NULL, NULL, METRIC_POSITIVE, IN(quantiles.p999_ns), ALWAYS, 0,
     "99.9th percentile: one step in a thousand takes longer"},
    {"max_ns", NULL, NULL, METRIC_COUNT, IN(quantiles.max_ns), ALWAYS, 0, "the longest step"},
    {"max_step", NULL, NULL, METRIC_INTEGER, IN(max_step), ALWAYS, 0,
     "number of the longest step; -1: none"},
    {"mad_ns", NULL, NULL, METRIC_POSITIVE, IN(mad_ns), ALWAYS, 0, "median absolute deviation"},
    {"spike_tax", NULL, NULL, METRIC_NUMBER, IN(spike_tax), ALWAYS, 0,
     "mean over median, less 1: what slow steps cost"},
    {"window_steps", NULL, NULL, METRIC_COUNT, IN(window_steps), ALWAYS, 0,
     "steps in the longest stretch that has a true end"},
    {"more_steps_needed", NULL, NULL, METRIC_INTEGER, IN(more_steps_needed), ALWAYS, 0,
     "steps until the mean is known to 2 %; 0: it is"},
};

static const struct metric throughput[] = {
    {"steps_per_s", "steps_per_s_ci", NULL, METRIC_INTERVAL, IN(steps_per_s), ALWAYS, 0,
     "steps per second of steady time"},
    {"samples_per_s", "samples_per_s_ci", NULL, METRIC_INTERVAL, IN(samples_per_s), ALWAYS, 0,
     "samples per second; `null`: batch size unknown"},
    {"batches_per_s", "batches_per_s_ci", NULL, METRIC_INTERVAL, IN(batches_per_s), ALWAYS, 0,
     "batches per second"},
    {"bytes_per_s", "bytes_per_s_ci", NULL, METRIC_INTERVAL, IN(bytes_per_s), ALWAYS, 0,
     "bytes per second that tf.data delivered; `null`: unknown"},
    {"overall_steps_per_s", NULL, NULL, METRIC_POSITIVE, IN(overall_steps_per_s), ALWAYS, 0,
     "steps per second including pauses between steps"},
};
#undef IN

#define IN(field) offsetof(struct snap_stage, field)
static const struct metric stage[] = {
    {"total_ns", NULL, NULL, METRIC_COUNT, IN(total_ns), ALWAYS, 0,
     "time of the stage in all steady steps"},
    {"mean_ns", NULL, "mean", METRIC_POSITIVE, IN(mean_ns), ALWAYS, 0, "mean time per step"},
    {"share", "share_ci", "share", METRIC_SHARE, IN(share), ALWAYS, 0,
     "share of steady time; those of all stages add up to 1"},
};
#undef IN

/* Without a p99 the longest one says how far it goes. */
#define IN(field) offsetof(struct snap_quantiles, field)
static const struct metric quantiles[] = {
    {"p50_ns", NULL, "p50", METRIC_POSITIVE, IN(p50_ns), ALWAYS, 0, "median, within 0.5 %"},
    {"p90_ns", NULL, NULL, METRIC_POSITIVE, IN(p90_ns), ALWAYS, 0, "90th percentile"},
    {"p95_ns", NULL, "p95", METRIC_POSITIVE, IN(p95_ns), SNAP_LEAST_FOR_P95, UINT64_MAX, 1,
     "95th percentile"},
    {"p99_ns", NULL, "p99", METRIC_POSITIVE, IN(p99_ns), SNAP_LEAST_FOR_P99, UINT64_MAX, 2,
     "99th percentile"},
    {"max_ns", NULL, "max", METRIC_COUNT, IN(max_ns), 0, SNAP_LEAST_FOR_P99 - 1, 2,
     "the longest one"},
};
#undef IN

#define GROUP(list, text)                                                                          \
    {                                                                                              \
        .name = (text), .metric = (list), .count = sizeof(list) / sizeof(list)[0]                  \
    }
const struct metric_group metrics_steady = GROUP(steady, "steady");
const struct metric_group metrics_throughput = GROUP(throughput, "throughput");
const struct metric_group metrics_stage = GROUP(stage, "stage");
const struct metric_group metrics_quantiles = GROUP(quantiles, "quantiles");

static const char *value_of(const struct metric *metric, const void *from)
{
    return (const char *)from + metric->offset;
}

static int64_t integer_of(const struct metric *metric, const void *from)
{
    int64_t value;

    memcpy(&value, value_of(metric, from), sizeof value);
    return value;
}

static double number_of(const struct metric *metric, const void *from)
{
    double value;

    memcpy(&value, value_of(metric, from), sizeof value);
    return value;
}

static struct interval interval_of(const struct metric *metric, const void *from)
{
    struct interval value;

    memcpy(&value, value_of(metric, from), sizeof value);
    return value;
}

static bool is_integer(const struct metric *metric)
{
    return metric->type == METRIC_COUNT || metric->type == METRIC_INTEGER;
}

void metrics_json(struct json *json, const struct metric_group *group, const void *from)
{
    for (size_t i = 0; i < group->count; i++) {
        const struct metric *metric = &group->metric[i];

        if (is_integer(metric))
            json_int(json, metric->name, integer_of(metric, from));
        else if (metric->ci)
            report_json_interval(json, metric->name, metric->ci, interval_of(metric, from));
        else
            json_double(json, metric->name, number_of(metric, from));
    }
}

static bool is_column(const struct metric *metric, uint64_t count)
{
    return metric->column && count >= metric->least && count <= metric->most;
}

void metrics_columns(struct table *table, const struct metric_group *group, uint64_t count)
{
    for (size_t i = 0; i < group->count; i++)
        if (is_column(&group->metric[i], count))
            table_optional(table, group->metric[i].column, TABLE_NUMBER, group->metric[i].drop);
}

void metrics_cells(struct table *table, const struct metric_group *group, const void *from,
                   uint64_t count, struct scale scale)
{
    char text[UNITS_SIZE];

    for (size_t i = 0; i < group->count; i++) {
        const struct metric *metric = &group->metric[i];

        if (!is_column(metric, count))
            continue;
        if (metric->type == METRIC_SHARE)
            share_text(text, interval_of(metric, from).mid);
        else
            scale_text(text,
                       is_integer(metric) ? (double)integer_of(metric, from)
                                          : number_of(metric, from),
                       scale);
        table_cell(table, "%s", text);
    }
}

const char *metric_type_text(enum metric_type type)
{
    static const char *const texts[] = {
        [METRIC_COUNT] = "count",   [METRIC_INTEGER] = "integer",
        [METRIC_NUMBER] = "number", [METRIC_POSITIVE] = "positive",
        [METRIC_SHARE] = "share",   [METRIC_INTERVAL] = "positive",
    };

    return texts[type];
}
