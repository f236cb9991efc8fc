#include "cli/dump.h"

#include <string.h>

static void put_text(struct json *json, const char *key, struct ss_text text)
{
    json_bytes(json, key, text.data, text.size);
}

/* Fields of the record's head. The lane's own facts (name, info, frame, calibration) have none. */
static void put_head(struct json *json, const struct ss_record *record)
{
    json_uint(json, "depth", record->depth);
    json_uint(json, "nest", record->nest);
    json_begin_array(json, "flags");
    for (unsigned bit = 0; SS_FLAG_ALL >> bit; bit++)
        if (record->flags >> bit & 1)
            json_string(json, NULL, ss_flag_text(bit));
    json_end_array(json);
}

static const struct ss_name_info *put_name(struct json *json, const struct ss_run *run,
                                           const struct ss_record *record)
{
    const struct ss_name_info *name =
        ss_run_name(run, ss_run_lane(run, record->lane)->process, record->name);

    put_text(json, "name", name->text);
    json_uint(json, "name_id", record->name);
    return name;
}

static void put_times(struct json *json, const struct ss_record *record)
{
    json_int(json, "start_ns", record->start_ns);
    json_int(json, "end_ns", record->end_ns);
}

static void put_span(struct json *json, const struct ss_run *run,
                     const struct ss_record *record)
{
    const struct ss_name_info *name = put_name(json, run, record);

    if (name->object.size > 0)
        put_text(json, "object", name->object);
    json_string(json, "stage", ss_stage_text(record->stage));
    put_times(json, record);
    json_int(json, "arg", record->u.arg);
}

static void put_plan(struct json *json, const struct ss_record *record)
{
    static const char *const keys[] = {"steps", "epochs", "steps_per_epoch", "batch"};

    for (size_t i = 0; i < 4; i++)
        json_uint(json, keys[i], record->u.plan[i]);
}

static void put_system(struct json *json, const struct ss_record *record)
{
    static const char *const states[] = {"value", "absent", "denied"};

    json_double(json, "value", record->u.value);
    json_uint(json, "subject", record->subject);
    json_string(json, "state", states[record->flags <= SS_SYSTEM_DENIED ? record->flags : 0]);
}

static void put_declaration(struct json *json, const struct ss_record *record)
{
    json_uint(json, "id", record->name);
    put_text(json, "text", record->u.text.a);
    put_text(json, "object", record->u.text.b);
    json_string(json, "stage", ss_stage_text(record->stage));
    json_string(json, "role", ss_role_text(record->role));
    json_string(json, "scope", ss_scope_text(record->scope));
}

static void put_sample(struct json *json, const struct ss_record *record)
{
    json_begin_array(json, "frames");
    for (uint32_t i = 0; i < record->u.sample.frames; i++)
        json_uint(json, NULL, record->u.sample.frame[i]);
    json_end_array(json);
}

static void put_frame(struct json *json, const struct ss_record *record)
{
    json_uint(json, "id", record->u.text.id);
    json_uint(json, "line", record->u.text.line);
    put_text(json, "function", record->u.text.a);
    put_text(json, "file", record->u.text.b);
}

static void put_calibration(struct json *json, const struct ss_record *record)
{
    json_int(json, "raw_ns", record->u.clocks[0]);
    json_int(json, "realtime_ns", record->u.clocks[1]);
    json_uint(json, "bracket_ticks", (uint64_t)record->u.clocks[2]);
}

static void put_kind(struct json *json, const struct ss_run *run,
                     const struct ss_record *record)
{
    switch (record->kind) {
    case SS_KIND_SPAN:
        put_span(json, run, record);
        break;
    case SS_KIND_STEP:
        json_uint(json, "samples", record->u.samples);
        break;
    case SS_KIND_LOOP_BEGIN:
        put_name(json, run, record);
        break;
    case SS_KIND_EPOCH_BEGIN:
        json_uint(json, "epoch", record->u.epoch);
        break;
    case SS_KIND_COUNTER:
        put_name(json, run, record);
        json_double(json, "value", record->u.value);
        break;
    case SS_KIND_MARK:
        put_name(json, run, record);
        put_text(json, "text", record->u.text.a);
        break;
    case SS_KIND_PLAN:
        put_plan(json, record);
        break;
    case SS_KIND_CALIBRATION:
        put_calibration(json, record);
        break;
    case SS_KIND_SAMPLE:
        put_sample(json, record);
        break;
    case SS_KIND_FRAME:
        put_frame(json, record);
        break;
    case SS_KIND_HOOK:
        put_text(json, "target", record->u.text.a);
        put_text(json, "reason", record->u.text.b);
        break;
    case SS_KIND_PERTURBED:
        put_times(json, record);
        json_int(json, "reason", record->u.arg);
        break;
    case SS_KIND_SYSTEM:
        put_name(json, run, record);
        put_system(json, record);
        break;
    case SS_KIND_NAME:
        put_declaration(json, record);
        break;
    case SS_KIND_INFO:
        put_text(json, "key", record->u.text.a);
        put_text(json, "value", record->u.text.b);
        break;
    case SS_KIND_THREAD_BEGIN:
        put_text(json, "thread", record->u.text.a);
        break;
    case SS_KIND_LOST:
        put_times(json, record);
        json_int(json, "count", record->u.arg);
        break;
    default:
        break; /* loop_end, epoch_end, thread_end say all by their kind */
    }
}

void dump_json(struct json *json, const struct ss_run *run, const struct ss_record *record)
{
    const struct ss_lane *lane = ss_run_lane(run, record->lane);

    json_begin_object(json, NULL);
    json_string(json, "kind", ss_kind_text(record->kind));
    json_int(json, "time_ns", record->time_ns);
    json_uint(json, "process", lane->process);
    json_uint(json, "lane", lane->number);
    json_uint(json, "tid", record->tid);
    json_uint(json, "owner", record->owner);
    if (record->kind != SS_KIND_NAME && record->kind != SS_KIND_INFO &&
        record->kind != SS_KIND_FRAME && record->kind != SS_KIND_CALIBRATION)
        put_head(json, record);
    put_kind(json, run, record);
    json_end_object(json);
    json_end_line(json);
}
