/* Prints the descriptors of findings and metrics as JSON: what tools/generate-docs makes lists and
 * tables of. */
#include <unistd.h>

#include "base/json.h"
#include "diagnose/finding_kind.h"
#include "report/metrics.h"

static void put_said(struct json *json, const struct finding_said *said)
{
    json_begin_object(json, NULL);
    json_string(json, "where", said->where);
    json_string(json, "of", finding_of_text(said->of));
    json_double(json, "info", said->bands->info);
    json_double(json, "warn", said->bands->warn);
    json_double(json, "high", said->bands->high);
    json_end_object(json);
}

static void put_ends(struct json *json, const struct finding_ends *ends)
{
    json_begin_object(json, NULL);
    json_string(json, "where", ends->where);
    json_string(json, "text", ends->text);
    json_end_object(json);
}

static void put_kind(struct json *json, const struct finding_kind *kind)
{
    json_begin_object(json, NULL);
    json_string(json, "name", kind->name);
    json_string(json, "given", kind->given);
    json_begin_array(json, "cases");
    for (int i = 0; i < FINDING_CASES_MOST && kind->cases[i].when; i++)
        json_string(json, NULL, kind->cases[i].when);
    json_end_array(json);
    json_begin_array(json, "said");
    for (int i = 0; i < FINDING_SAID_MOST && kind->said[i].bands; i++)
        put_said(json, &kind->said[i]);
    json_end_array(json);
    json_begin_array(json, "ends");
    for (int i = 0; i < FINDING_ENDS_MOST && kind->ends[i].text; i++)
        put_ends(json, &kind->ends[i]);
    json_end_array(json);
    json_end_object(json);
}

static void put_group(struct json *json, const struct metric_group *group)
{
    json_begin_array(json, group->name);
    for (size_t i = 0; i < group->count; i++) {
        const struct metric *metric = &group->metric[i];
        json_begin_object(json, NULL);
        json_string(json, "name", metric->name);
        json_string(json, "ci", metric->ci ? metric->ci : "");
        json_string(json, "type", metric_type_text(metric->type));
        json_string(json, "meaning", metric->meaning);
        json_end_object(json);
    }
    json_end_array(json);
}

int main(void)
{
    static const struct metric_group *const groups[] = {&metrics_steady, &metrics_throughput,
                                                        &metrics_stage, &metrics_quantiles};
    struct sink out;
    struct json json;

    sink_init_fd(&out, STDOUT_FILENO);
    json_init(&json, &out);
    json_begin_object(&json, NULL);
    json_begin_array(&json, "findings");
    for (int i = 0; i < FINDING_COUNT; i++)
        put_kind(&json, finding_kind_of((enum finding_id)i));
    json_end_array(&json);
    json_begin_object(&json, "metrics");
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        put_group(&json, groups[i]);
    json_end_object(&json);
    json_end_object(&json);
    return sink_flush(&out) ? 1 : 0;
}
