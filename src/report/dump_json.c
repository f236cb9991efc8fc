/* Records as JSON, one object a line. */
#include "report/dump.h"
#include "stepscope/counters.h"

/* Writes the keys of one kind of record; dump-> has the run and the writer. */
typedef void put_kind(struct dump *dump, const struct ss_record *record);

static void put_text(struct json *json, const char *key, struct ss_text text)
{
    json_bytes(json, key, text.data, text.size);
}

static const struct ss_name_info *put_name(struct dump *dump, const struct ss_record *record)
{
    const struct ss_name_info *name = dump_name(dump, record);

    put_text(&dump->json, "name", name->text);
    json_uint(&dump->json, "name_id", record->name);
    return name;
}

static void put_times(struct json *json, const struct ss_record *record)
{
    json_int(json, "start_ns", record->start_ns);
    json_int(json, "end_ns", record->end_ns);
}

static void put_span(struct dump *dump, const struct ss_record *record)
{
    const struct ss_name_info *name = put_name(dump, record);

    if (name->object.size > 0)
        put_text(&dump->json, "object", name->object);
    json_string(&dump->json, "stage", ss_stage_text(record->stage));
    put_times(&dump->json, record);
    json_int(&dump->json, "arg", record->u.arg);
}

static void put_step(struct dump *dump, const struct ss_record *record)
{
    json_uint(&dump->json, "samples", record->u.samples);
}

static void put_loop_begin(struct dump *dump, const struct ss_record *record)
{
    put_name(dump, record);
}

static void put_epoch_begin(struct dump *dump, const struct ss_record *record)
{
    json_uint(&dump->json, "epoch", record->u.epoch);
}

static void put_counter(struct dump *dump, const struct ss_record *record)
{
    put_name(dump, record);
    json_double(&dump->json, "value", record->u.value);
}

static void put_mark(struct dump *dump, const struct ss_record *record)
{
    put_name(dump, record);
    put_text(&dump->json, "text", record->u.text.a);
}

static void put_plan(struct dump *dump, const struct ss_record *record)
{
    static const char *const keys[] = {"steps", "epochs", "steps_per_epoch", "batch"};

    for (size_t i = 0; i < 4; i++)
        json_uint(&dump->json, keys[i], record->u.plan[i]);
}

static void put_calibration(struct dump *dump, const struct ss_record *record)
{
    json_int(&dump->json, "raw_ns", record->u.clocks[0]);
    json_int(&dump->json, "realtime_ns", record->u.clocks[1]);
    json_uint(&dump->json, "bracket_ticks", (uint64_t)record->u.clocks[2]);
}

static void put_sample(struct dump *dump, const struct ss_record *record)
{
    json_begin_array(&dump->json, "frames");
    for (uint32_t i = 0; i < record->u.sample.frames; i++)
        json_uint(&dump->json, NULL, record->u.sample.frame[i]);
    json_end_array(&dump->json);
}

static void put_frame(struct dump *dump, const struct ss_record *record)
{
    json_uint(&dump->json, "id", record->u.text.id);
    json_uint(&dump->json, "line", record->u.text.line);
    json_uint(&dump->json, "traits", record->u.text.traits);
    json_uint(&dump->json, "body", record->u.text.body);
    put_text(&dump->json, "function", record->u.text.a);
    put_text(&dump->json, "file", record->u.text.b);
}

static void put_hook(struct dump *dump, const struct ss_record *record)
{
    put_text(&dump->json, "target", record->u.text.a);
    put_text(&dump->json, "reason", record->u.text.b);
}

static void put_perturbed(struct dump *dump, const struct ss_record *record)
{
    put_times(&dump->json, record);
    json_int(&dump->json, "reason", record->u.arg);
}

static void put_system(struct dump *dump, const struct ss_record *record)
{
    static const char *const states[] = {"value", "absent", "denied"};

    put_name(dump, record);
    json_double(&dump->json, "value", record->u.value);
    if (record->subject == SS_ALL_CPUS)
        json_null(&dump->json, "subject");
    else
        json_uint(&dump->json, "subject", record->subject);
    json_string(&dump->json, "state",
                states[record->flags <= SS_SYSTEM_DENIED ? record->flags : SS_SYSTEM_VALUE]);
}

static void put_declaration(struct dump *dump, const struct ss_record *record)
{
    json_uint(&dump->json, "id", record->name);
    put_text(&dump->json, "text", record->u.text.a);
    put_text(&dump->json, "object", record->u.text.b);
    json_string(&dump->json, "stage", ss_stage_text(record->stage));
    json_string(&dump->json, "role", ss_role_text(record->role));
    json_string(&dump->json, "scope", ss_scope_text(record->scope));
}

static void put_info(struct dump *dump, const struct ss_record *record)
{
    put_text(&dump->json, "key", record->u.text.a);
    put_text(&dump->json, "value", record->u.text.b);
}

static void put_thread_begin(struct dump *dump, const struct ss_record *record)
{
    put_text(&dump->json, "thread", record->u.text.a);
}

static void put_lost(struct dump *dump, const struct ss_record *record)
{
    put_times(&dump->json, record);
    json_int(&dump->json, "count", record->u.arg);
}

static void put_clock(struct dump *dump, const struct ss_record *record)
{
    json_uint(&dump->json, "waited_ns", record->u.waited_ns);
    json_uint(&dump->json, "others_ns", record->subject);
}

static void put_arm(struct dump *dump, const struct ss_record *record)
{
    put_name(dump, record);
    json_uint(&dump->json, "round", record->u.round);
}

static void put_nothing(struct dump *dump, const struct ss_record *record)
{
    (void)dump;
    (void)record;
}

static put_kind *const put_by_kind[SS_KIND_COUNT] = {
    [SS_KIND_SPAN] = put_span,
    [SS_KIND_STEP] = put_step,
    [SS_KIND_LOOP_BEGIN] = put_loop_begin,
    [SS_KIND_LOOP_END] = put_nothing,
    [SS_KIND_EPOCH_BEGIN] = put_epoch_begin,
    [SS_KIND_EPOCH_END] = put_nothing,
    [SS_KIND_COUNTER] = put_counter,
    [SS_KIND_MARK] = put_mark,
    [SS_KIND_PLAN] = put_plan,
    [SS_KIND_CALIBRATION] = put_calibration,
    [SS_KIND_SAMPLE] = put_sample,
    [SS_KIND_FRAME] = put_frame,
    [SS_KIND_HOOK] = put_hook,
    [SS_KIND_PERTURBED] = put_perturbed,
    [SS_KIND_SYSTEM] = put_system,
    [SS_KIND_NAME] = put_declaration,
    [SS_KIND_INFO] = put_info,
    [SS_KIND_THREAD_BEGIN] = put_thread_begin,
    [SS_KIND_THREAD_END] = put_nothing,
    [SS_KIND_LOST] = put_lost,
    [SS_KIND_CLOCK] = put_clock,
    [SS_KIND_ARM] = put_arm,
};

/* Where a record stands among the open spans. Facts that stand outside time have no place. */
static void put_place(struct json *json, const struct ss_record *record)
{
    if (record->kind == SS_KIND_NAME || record->kind == SS_KIND_INFO ||
        record->kind == SS_KIND_FRAME || record->kind == SS_KIND_CALIBRATION)
        return;
    json_uint(json, "depth", record->depth);
    json_uint(json, "nest", record->nest);
    if (record->kind == SS_KIND_SYSTEM)
        return; /* its flags are its state */
    json_begin_array(json, "flags");
    for (unsigned bit = 0; SS_FLAG_ALL >> bit; bit++)
        if (record->flags >> bit & 1)
            json_string(json, NULL, ss_flag_text(bit));
    json_end_array(json);
}

void dump_json(struct dump *dump, const struct ss_record *record)
{
    const struct ss_lane *lane = ss_run_lane(dump->run, record->lane);
    struct json *json = &dump->json;

    json_begin_object(json, NULL);
    json_string(json, "kind", ss_kind_text(record->kind));
    json_int(json, "time_ns", record->time_ns);
    json_uint(json, "process", lane->process);
    json_uint(json, "lane", lane->number);
    json_uint(json, "tid", record->tid);
    json_uint(json, "owner", record->owner);
    put_place(json, record);
    put_by_kind[record->kind](dump, record);
    json_end_object(json);
    json_end_line(json);
}
