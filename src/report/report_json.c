#include "report/report_json.h"

#include <math.h>

#include "read/run.h"
#include "report/metrics.h"
#include "report/report_parts.h"

static void put_text(struct json *json, const char *key, struct ss_text text)
{
    if (text.size > 0)
        json_bytes(json, key, text.data, text.size);
    else
        json_null(json, key);
}

static int64_t start_realtime_ns(const struct ss_run *run)
{
    int64_t first = 0;

    for (size_t i = 0; i < ss_run_processes(run); i++) {
        const int64_t own = ss_run_process(run, i)->start_realtime_ns;
        first = first == 0 || (own > 0 && own < first) ? own : first;
    }
    return first;
}

static void put_run(struct json *json, const struct analysis *analysis)
{
    const struct snapshot *snapshot = analysis->snapshot;
    const struct run_facts *facts = analysis->facts;
    const bool ended = facts->ended_ns > 0;

    json_begin_object(json, "run");
    json_string(json, "name", run_facts_name(facts));
    json_string(json, "path", facts->path);
    put_text(json, "command", report_command(analysis));
    put_text(json, "host", report_info(analysis, "host"));
    json_string(json, "state", report_state_text(report_state(analysis)));
    if (ended && facts->exit_code >= 0)
        json_int(json, "exit_code", facts->exit_code);
    else
        json_null(json, "exit_code");
    if (ended && facts->signal > 0)
        json_int(json, "signal", facts->signal);
    else
        json_null(json, "signal");
    json_int(json, "start_ns", report_begin_ns(analysis));
    json_int(json, "wall_ns", report_wall_ns(analysis));
    json_int(json, "start_realtime_ns", start_realtime_ns(analysis->run));
    json_uint(json, "processes", run_training_processes(analysis->run));
    json_uint(json, "records", snapshot->records);
    json_uint(json, "spans", snapshot->spans_seen);
    json_end_object(json);
}

static void put_books(struct json *json, const struct analysis *analysis)
{
    const struct snap_thread thread = report_thread(analysis);

    report_json_books(json, thread.wall_ns, thread.segment_ns);
}

/* Where in the primary loop it was. */
static void put_places(struct json *json, const struct snap_span *span)
{
    static const char *const places[CALL_PLACES] = {
        [CALLED_BEFORE] = "before",
        [CALLED_BETWEEN] = "between",
        [CALLED_IN_STEP] = "step",
        [CALLED_IN_CUT + CUT_EVAL] = "eval",
        [CALLED_IN_CUT + CUT_INFER] = "infer",
        [CALLED_IN_CUT + CUT_CHECKPOINT] = "checkpoint",
    };

    json_begin_array(json, "loop");
    for (int i = 0; i < CALL_PLACES; i++) {
        if (span->at[i].count == 0)
            continue;
        json_begin_object(json, NULL);
        json_string(json, "place", places[i]);
        json_uint(json, "count", span->at[i].count);
        json_int(json, "total_ns", span->at[i].total_ns);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_span(struct json *json, const struct snap_span *span)
{
    json_begin_object(json, NULL);
    json_string(json, "name", span->text);
    json_string(json, "object", span->object);
    json_string(json, "stage", ss_stage_text(span->stage));
    json_string(json, "role", ss_role_text(span->role));
    json_string(json, "scope", ss_scope_text(span->scope));
    json_uint(json, "count", span->count);
    json_uint(json, "failed", span->failed);
    json_int(json, "total_ns", span->total_ns);
    json_int(json, "self_ns", span->self_ns);
    json_double(json, "mean_ns", span->mean_ns);
    const struct snap_quantiles quantiles = report_quantiles(span->quantiles, span->count);
    metrics_json(json, &metrics_quantiles, &quantiles);
    const struct interval unknown = {NAN, NAN, NAN};
    report_json_interval(json, "share", "share_ci",
                         isfinite(report_span_share(span)) ? span->share : unknown);
    put_places(json, span);
    json_end_object(json);
}

static void put_loops(struct json *json, const struct analysis *analysis)
{
    const struct snapshot *snapshot = analysis->snapshot;

    json_begin_array(json, "loops");
    for (size_t i = 0; i < snapshot->loop_count; i++) {
        const struct snap_loop *loop = &snapshot->loops[i];
        json_begin_object(json, NULL);
        json_uint(json, "process", run_process_number(analysis->run, loop->process));
        if (loop->rank >= 0)
            json_int(json, "rank", loop->rank);
        else
            json_null(json, "rank");
        json_uint(json, "thread", loop->tid);
        json_string(json, "name", loop->name);
        json_bool(json, "ended", loop->ended);
        json_int(json, "start_ns", loop->begin_ns);
        json_int(json, "negative_ns", loop->negative_ns);
        report_json_books(json, loop->wall_ns, loop->segment_ns);
        report_json_loop(json, loop, NULL);
        json_end_object(json);
    }
    json_end_array(json);
    json_uint(json, "loops_forgotten", snapshot->forgotten_loops);
}

static void put_lost(struct json *json, const struct analysis *analysis)
{
    const struct report_losses losses = report_losses(analysis->run);
    const struct snapshot *snapshot = analysis->snapshot;
    int64_t negative_ns = snapshot->negative_ns;

    for (size_t i = 0; i < snapshot->loop_count; i++)
        negative_ns += snapshot->loops[i].negative_ns;
    json_begin_object(json, "lost");
    json_bool(json, "whole", report_is_whole(&losses));
    json_uint(json, "dropped", losses.dropped);
    json_uint(json, "reused", losses.reused);
    json_uint(json, "too_deep", losses.too_deep);
    json_uint(json, "names", losses.names);
    json_uint(json, "threads", losses.threads);
    json_uint(json, "places", losses.places);
    if (losses.folded_processes > 0) {
        json_uint(json, "folded_processes", losses.folded_processes);
        json_uint(json, "folded_records", losses.folded_records);
    }
    json_uint(json, "bytes", losses.bytes);
    json_uint(json, "orphan_spans", snapshot->orphan_spans);
    json_int(json, "negative_ns", negative_ns);
    if (losses.recorder_error != 0)
        json_string(json, "recorder_error", ss_error_text(losses.recorder_error));
    else
        json_null(json, "recorder_error");
    json_end_object(json);
}

static void put_deadline(struct json *json, const struct analysis *analysis)
{
    if (analysis->deadline_ns <= 0) {
        json_null(json, "deadline");
        return;
    }
    json_begin_object(json, "deadline");
    json_int(json, "deadline_ns", analysis->deadline_ns);
    json_string(json, "verdict", report_deadline_text(report_deadline(analysis)));
    json_end_object(json);
}

static void put_hooks(struct json *json, const struct hook_list *hooks)
{
    json_begin_array(json, "hooks");
    for (size_t i = 0; hooks && i < hooks->count; i++) {
        const struct hook_entry *hook = &hooks->entry[i];
        json_begin_object(json, NULL);
        json_bytes(json, "target", hook->target.data, hook->target.size);
        json_bool(json, "installed", !hook->skipped);
        json_bytes(json, "reason", hook->reason.data, hook->reason.size);
        json_end_object(json);
    }
    json_end_array(json);
}

/* On the top level stands, too, what is known of the devices of an imported run. */
static void put_primary_loop(struct json *json, const struct analysis *analysis)
{
    const struct snapshot *snapshot = analysis->snapshot;
    struct device_table imported;
    const bool is_imported =
        device_table_load(&imported, analysis->facts->path, DEVICE_TABLE_FILE) == 0 &&
        imported.rows[TABLE_FACT].count > 0;

    report_json_loop(json, snapshot->loop_count > 0 ? snapshot->loops : NULL,
                     is_imported ? &imported : NULL);
    device_table_release(&imported);
}

void report_json(struct sink *out, const struct analysis *analysis)
{
    const struct snapshot *snapshot = analysis->snapshot;
    struct json json;

    json_init(&json, out);
    json_begin_object(&json, NULL);
    json_string(&json, "schema", REPORT_JSON_SCHEMA);
    put_run(&json, analysis);
    report_json_findings(&json, snapshot, &analysis->diagnosis);
    put_books(&json, analysis);
    put_primary_loop(&json, analysis);
    report_json_operations(&json, analysis);
    json_begin_array(&json, "spans");
    for (size_t i = 0; i < snapshot->span_count; i++)
        put_span(&json, &snapshot->spans[i]);
    json_end_array(&json);
    put_loops(&json, analysis);
    report_json_job(&json, analysis);
    put_lost(&json, analysis);
    put_deadline(&json, analysis);
    put_hooks(&json, analysis->hooks);
    report_json_hot(&json, &snapshot->hot);
    report_json_resources(&json, snapshot);
    report_json_validity(&json, &analysis->diagnosis);
    json_end_object(&json);
    json_end_line(&json);
}
