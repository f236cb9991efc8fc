/* What is in a run, as JSON. */
#include <string.h>

#include "base/json.h"
#include "read/fold.h"
#include "report/info.h"
#include "report/report_parts.h"

static void put_text(struct json *json, const char *key, struct ss_text text)
{
    json_bytes(json, key, text.data, text.size);
}

static void put_buf(struct json *json, const char *key, const struct buf *bytes)
{
    json_bytes(json, key, bytes->data, bytes->size);
}

/* Keys come from the run: they are values here, in a list of pairs. */
static void put_infos(struct json *json, const char *key, const struct ss_run *run, size_t process)
{
    struct ss_text name, value;

    json_begin_array(json, key);
    for (size_t i = 0; ss_run_info_at(run, process, i, &name, &value); i++) {
        json_begin_object(json, NULL);
        put_text(json, "key", name);
        put_text(json, "value", value);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_by_stage(struct json *json, const char *key, const uint64_t *counts)
{
    json_begin_object(json, key);
    for (unsigned i = 0; i < SS_STAGE_COUNT; i++)
        if (counts[i] > 0)
            json_uint(json, ss_stage_text(i), counts[i]);
    json_end_object(json);
}

static void put_contents(struct json *json, const struct tally *tally)
{
    json_begin_object(json, "records");
    for (unsigned i = 1; i < SS_KIND_COUNT; i++)
        json_uint(json, ss_kind_text(i), tally->kinds[i]);
    json_end_object(json);
    json_begin_object(json, "stages");
    for (unsigned i = 0; i < SS_STAGE_COUNT; i++) {
        if (tally->stages[i].spans == 0)
            continue;
        json_begin_object(json, ss_stage_text(i));
        json_uint(json, "spans", tally->stages[i].spans);
        json_uint(json, "sum_ns", tally->stages[i].sum_ns);
        json_end_object(json);
    }
    json_end_object(json);
    json_uint(json, "samples", tally->samples);
    json_uint(json, "unfinished", tally->unfinished);
    json_uint(json, "names", tally->names);
    json_begin_object(json, "hooks");
    json_uint(json, "installed", tally->hooks.installed);
    json_uint(json, "skipped", tally->hooks.skipped);
    json_begin_array(json, "reasons");
    for (size_t i = 0; i < tally->hooks.count; i++) {
        if (!tally->hooks.entry[i].skipped)
            continue;
        json_begin_object(json, NULL);
        put_buf(json, "target", &tally->hooks.entry[i].target);
        put_buf(json, "reason", &tally->hooks.entry[i].reason);
        json_end_object(json);
    }
    json_end_array(json);
    json_begin_array(json, "targets");
    for (size_t i = 0; i < tally->hooks.count; i++)
        if (!tally->hooks.entry[i].skipped)
            put_buf(json, NULL, &tally->hooks.entry[i].target);
    json_end_array(json);
    json_end_object(json);
}

static void put_lost(struct json *json, const struct tally *tally)
{
    json_begin_object(json, "lost");
    json_uint(json, "dropped", tally->sum.dropped);
    put_by_stage(json, "dropped_spans", tally->dropped_by_stage);
    json_uint(json, "reused", tally->reused);
    put_by_stage(json, "reused_spans", tally->reused_by_stage);
    json_uint(json, "names", tally->lost_names);
    json_uint(json, "threads", tally->lost_threads);
    json_uint(json, "too_deep", tally->sum.too_deep);
    if (fold_counts(tally->run)->processes > 0) {
        json_uint(json, "folded_processes", fold_counts(tally->run)->processes);
        json_uint(json, "folded_records", fold_counts(tally->run)->records);
        json_uint(json, "folded_bytes", fold_counts(tally->run)->bytes);
    }
    json_uint(json, "unbalanced", tally->sum.unbalanced);
    json_begin_array(json, "unread");
    for (size_t i = 0; i < ss_run_losses(tally->run); i++) {
        const struct ss_loss *loss = ss_run_loss(tally->run, i);
        json_begin_object(json, NULL);
        json_string(json, "kind", tally_loss_word(loss->kind));
        json_string(json, "file", loss->file);
        json_uint(json, "offset", loss->offset);
        json_uint(json, "bytes", loss->bytes);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static void put_clock(struct json *json, const struct ss_process *process)
{
    static const char *const clocks[] = {"raw", "tsc", "arm"};

    json_begin_object(json, "clock");
    json_string(json, "kind", process->clock <= SS_CLOCK_ARM ? clocks[process->clock] : "unknown");
    json_double(json, "ticks_per_s", process->ticks_per_s);
    json_uint(json, "calibrations", process->calibrations);
    json_int(json, "jump_ns", process->clock_jump_ns);
    json_double(json, "drift_ppm", process->clock_drift_ppm);
    json_bool(json, "suspect", process->clock_suspect);
    json_end_object(json);
}

static void put_process(struct json *json, const struct tally *tally, size_t index)
{
    const struct ss_process *process = ss_run_process(tally->run, index);
    const struct process_tally *own = &tally->processes[index];

    json_begin_object(json, NULL);
    json_string(json, "file", process->file);
    json_uint(json, "pid", process->pid);
    json_uint(json, "parent_pid", process->parent_pid);
    json_string(json, "kind", process->kind == SS_PROCESS_SUPERVISOR ? "supervisor" : "training");
    json_int(json, "rank", process->rank);
    json_uint(json, "world", process->world);
    json_string(json, "end", tally_end_word(process->end));
    json_int(json, "start_ns", process->start_ns);
    json_int(json, "end_ns", process->end_ns);
    json_int(json, "start_realtime_ns", process->start_realtime_ns);
    json_uint(json, "bytes", process->file_bytes);
    json_uint(json, "cap_bytes", process->cap_bytes);
    json_uint(json, "threads", own->threads);
    json_uint(json, "records", own->records);
    json_uint(json, "spans", own->spans);
    json_uint(json, "steps", own->steps);
    json_string(json, "error",
                process->recorder_error ? ss_error_text(process->recorder_error) : "");
    json_double(json, "span_cost_ns", process->span_cost_ps / 1000.0);
    json_uint(json, "cost_ns", own->cost_ns);
    json_uint(json, "helper_cpu_ns", process->helper_cpu_ns);
    json_uint(json, "pool_empty", process->pool_empty);
    put_clock(json, process);
    put_infos(json, "infos", tally->run, index);
    json_end_object(json);
}

static void put_lane(struct json *json, const struct tally *tally, size_t index)
{
    const struct ss_lane *lane = ss_run_lane(tally->run, index);
    struct ss_record open[SS_STACK_DEPTH];
    size_t count = ss_run_open_spans(tally->run, index, open, SS_STACK_DEPTH);

    json_begin_object(json, NULL);
    json_uint(json, "process", lane->process);
    json_uint(json, "lane", lane->number);
    json_uint(json, "tid", lane->tid);
    json_bytes(json, "thread", tally->lanes[index].thread, tally->lanes[index].thread_bytes);
    json_uint(json, "owners", lane->owners);
    json_uint(json, "records", tally->lanes[index].records);
    json_uint(json, "spans", tally->lanes[index].spans);
    json_uint(json, "lost_records", lane->lost_records);
    json_begin_array(json, "open");
    for (size_t i = 0; i < count; i++) {
        const struct ss_name_info *name = ss_run_name(tally->run, lane->process, open[i].name);
        json_begin_object(json, NULL);
        put_text(json, "name", name->text);
        put_text(json, "object", name->object);
        json_string(json, "stage", ss_stage_text(open[i].stage));
        json_int(json, "start_ns", open[i].start_ns);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

void info_json(struct sink *out, const struct tally *tally, const struct analysis *analysis)
{
    struct json json;

    json_init(&json, out);
    json_begin_object(&json, NULL);
    json_string(&json, "run", tally->path);
    json_bool(&json, "whole", tally->whole);
    json_bool(&json, "live", ss_run_is_live(tally->run));
    json_int(&json, "start_ns", report_begin_ns(analysis));
    json_int(&json, "duration_ns", report_wall_ns(analysis));
    json_uint(&json, "steps", report_steps(analysis));
    json_uint(&json, "bytes", tally->bytes);
    put_contents(&json, tally);
    put_lost(&json, tally);
    put_infos(&json, "manifest", tally->run, SIZE_MAX);
    json_begin_array(&json, "processes");
    for (size_t i = 0; i < ss_run_processes(tally->run); i++)
        put_process(&json, tally, i);
    json_end_array(&json);
    json_begin_array(&json, "lanes");
    for (size_t i = 0; i < ss_run_lanes(tally->run); i++)
        put_lane(&json, tally, i);
    json_end_array(&json);
    json_end_object(&json);
    json_end_line(&json);
}
