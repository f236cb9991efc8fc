#include "support/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LANES = 32, DEPTH = 16, NAMES = 256, START = 1000 };

struct open {
    unsigned name, flags, nest;
    int64_t start;
};

struct script {
    struct model *model;
    struct snapshot *snapshot;
    int64_t now;
    uint32_t lane, process;
    struct open open[LANES][DEPTH];
    unsigned depth[LANES];
    uint32_t owner[LANES], gaps[LANES];
    struct {
        const char *text, *object;
        unsigned stage, role, scope;
    } names[NAMES];
    unsigned name_count;
    struct ss_process facts[LANES];
    uint32_t processes;
    void (*tap)(void *context, uint32_t process, const struct ss_record *record);
    void *context;
};

struct script *script_new(void)
{
    struct script *script = calloc(1, sizeof *script);
    script->model = model_new();
    script->now = START;
    script->lane = 1;
    script_process(script, 0, -1);
    return script;
}

void script_free(struct script *script)
{
    snapshot_free(script->snapshot);
    model_free(script->model);
    free(script);
}

void script_lane(struct script *script, uint32_t lane)
{
    script->lane = lane;
}

void script_process(struct script *script, uint32_t process, int rank)
{
    script->process = process;
    if (process >= script->processes) {
        struct ss_process *facts = &script->facts[process];
        script->processes = process + 1;
        facts->pid = 100 + process;
        facts->rank = rank;
        facts->start_ns = script->now;
        facts->end_ns = script->now;
        facts->end = SS_END_EXITED;
        model_process(script->model, process, facts);
    }
}

static struct ss_record record_of(const struct script *script, unsigned kind)
{
    unsigned depth = script->depth[script->lane];
    struct ss_record record = {.time_ns = script->now,
                               .start_ns = script->now,
                               .end_ns = script->now,
                               .lane = script->lane,
                               .owner = script->owner[script->lane] + 1,
                               .kind = (uint8_t)kind,
                               .depth = (uint8_t)depth,
                               .gaps = script->gaps[script->lane]};
    record.tid =
        script->lane == script->process * 2 + 1 ? 100 + script->process : 1000 + script->lane;
    record.tid += 1000 * script->owner[script->lane];
    if (depth > 0)
        record.nest = (uint8_t)script->open[script->lane][depth - 1].nest;
    return record;
}

static void feed(const struct script *script, uint32_t process, const struct ss_record *record)
{
    model_feed(script->model, process, record);
    if (script->tap)
        script->tap(script->context, process, record);
}

static struct ss_text text_of(const char *text)
{
    return (struct ss_text){text, strlen(text)};
}

unsigned script_name(struct script *script, const char *text, unsigned stage, unsigned role,
                     unsigned scope, const char *object)
{
    for (unsigned i = 0; i < script->name_count; i++)
        if (strcmp(script->names[i].text, text) == 0 &&
            strcmp(script->names[i].object, object) == 0 && script->names[i].stage == stage)
            return i + 1;
    unsigned number = ++script->name_count;
    assert_true(number < NAMES);
    script->names[number - 1].text = text;
    script->names[number - 1].object = object;
    script->names[number - 1].stage = stage;
    for (uint32_t process = 0; process < script->processes; process++) {
        struct ss_record record = record_of(script, SS_KIND_NAME);
        record.name = (uint16_t)number;
        record.stage = (uint8_t)stage;
        record.role = (uint8_t)role;
        record.scope = (uint8_t)scope;
        record.u.text.a = text_of(text);
        record.u.text.b = text_of(object);
        feed(script, process, &record);
    }
    return number;
}

void script_pass(struct script *script, int64_t ns)
{
    script->now += ns;
}

int64_t script_now(const struct script *script)
{
    return script->now;
}

void script_begin(struct script *script, unsigned name, unsigned flags)
{
    struct open *stack = script->open[script->lane];
    unsigned depth = script->depth[script->lane]++;
    assert_true(depth < DEPTH);
    unsigned stage = script->names[name - 1].stage;
    unsigned around = depth ? stack[depth - 1].nest : 0;
    stack[depth].name = name;
    stack[depth].flags = flags;
    stack[depth].start = script->now;
    stack[depth].nest = stage | SS_NEST_OPEN | (around & (SS_NEST_CLOSED | SS_NEST_OPAQUE)) |
                        (SS_STAGE_IS_CLOSED(stage) ? SS_NEST_CLOSED : 0u) |
                        (stage == SS_STAGE_USER ? 0u : SS_NEST_OPAQUE);
}

void script_end(struct script *script, unsigned flags, int64_t arg)
{
    assert_true(script->depth[script->lane] > 0);
    const struct open *open = &script->open[script->lane][--script->depth[script->lane]];
    struct ss_record record = record_of(script, SS_KIND_SPAN);
    record.start_ns = open->start;
    record.name = (uint16_t)open->name;
    record.flags = (uint16_t)(open->flags | flags);
    record.stage = (uint8_t)script->names[open->name - 1].stage;
    record.u.arg = arg;
    feed(script, script->process, &record);
}

void script_span(struct script *script, unsigned name, unsigned flags, int64_t ns)
{
    script_begin(script, name, flags);
    script_pass(script, ns);
    script_end(script, 0, 0);
}

void script_point(struct script *script, unsigned kind, uint64_t value)
{
    struct ss_record record = record_of(script, kind);
    if (kind == SS_KIND_STEP)
        record.u.samples = value;
    else if (kind == SS_KIND_EPOCH_BEGIN)
        record.u.epoch = value;
    else
        record.name = (uint16_t)value;
    feed(script, script->process, &record);
}

void script_clock(struct script *script, uint64_t waited_ns, uint64_t others_ns)
{
    struct ss_record record = record_of(script, SS_KIND_CLOCK);
    record.u.waited_ns = waited_ns;
    record.subject = others_ns;
    feed(script, script->process, &record);
}

void script_arm(struct script *script, unsigned name, uint64_t round, bool settles)
{
    struct ss_record record = record_of(script, SS_KIND_ARM);
    record.name = (uint16_t)name;
    record.u.round = round;
    record.flags = settles ? SS_FLAG_PERTURBED : 0;
    feed(script, script->process, &record);
}

void script_counter(struct script *script, unsigned name, double value)
{
    struct ss_record record = record_of(script, SS_KIND_COUNTER);
    record.name = (uint16_t)name;
    record.u.value = value;
    feed(script, script->process, &record);
}

void script_mark_text(struct script *script, unsigned name, const char *text)
{
    struct ss_record record = record_of(script, SS_KIND_MARK);
    record.name = (uint16_t)name;
    record.u.text.a = text_of(text);
    feed(script, script->process, &record);
}

void script_mark(struct script *script, unsigned name)
{
    script_mark_text(script, name, "");
}

void script_plan(struct script *script, uint64_t steps, uint64_t epochs, uint64_t per_epoch,
                 uint64_t batch)
{
    struct ss_record record = record_of(script, SS_KIND_PLAN);
    const uint64_t plan[4] = {steps, epochs, per_epoch, batch};
    memcpy(record.u.plan, plan, sizeof plan);
    feed(script, script->process, &record);
}

void script_gap(struct script *script)
{
    script->gaps[script->lane]++;
}

void script_drop(struct script *script)
{
    assert_true(script->depth[script->lane] > 0);
    script->depth[script->lane]--;
}

void script_append(struct script *script, unsigned name, unsigned flags, int64_t start_ns,
                   int64_t end_ns)
{
    struct ss_record record = record_of(script, SS_KIND_SPAN);
    record.start_ns = start_ns;
    record.end_ns = end_ns;
    record.name = (uint16_t)name;
    record.flags = (uint16_t)(flags | SS_FLAG_APPENDED);
    record.stage = (uint8_t)script->names[name - 1].stage;
    feed(script, script->process, &record);
}

void script_new_owner(struct script *script)
{
    script->depth[script->lane] = 0;
    script->owner[script->lane]++;
}

void script_perturbed(struct script *script, int64_t ns)
{
    struct ss_record record = record_of(script, SS_KIND_PERTURBED);
    record.start_ns = script->now - ns;
    record.u.arg = SS_PERTURBED_SUSPEND;
    feed(script, script->process, &record);
}

void script_ended(struct script *script, enum ss_process_end end)
{
    script->facts[script->process].end = end;
}

unsigned script_depth(const struct script *script)
{
    return script->depth[script->lane];
}

void script_tap(struct script *script,
                void (*tap)(void *context, uint32_t process, const struct ss_record *record),
                void *context)
{
    script->tap = tap;
    script->context = context;
}

struct model *script_model(const struct script *script)
{
    return script->model;
}

const struct ss_process *script_facts(const struct script *script, uint32_t process)
{
    return &script->facts[process];
}

void script_check_books(const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->thread_count; i++) {
        int64_t sum = 0;
        for (int k = 0; k < MODEL_SEGMENT_COUNT; k++) {
            assert_true(snapshot->threads[i].segment_ns[k] >= 0);
            sum += snapshot->threads[i].segment_ns[k];
        }
        assert_int_equal(sum, snapshot->threads[i].wall_ns);
    }
    for (size_t i = 0; i < snapshot->loop_count; i++) {
        const struct snap_loop *loop = &snapshot->loops[i];
        int64_t segments = 0, stages = 0;
        for (int k = 0; k < MODEL_SEGMENT_COUNT; k++) {
            assert_true(loop->segment_ns[k] >= 0);
            segments += loop->segment_ns[k];
        }
        for (int k = 0; k < SS_STAGE_COUNT; k++) {
            assert_true(loop->stage[k].total_ns >= 0);
            stages += loop->stage[k].total_ns;
        }
        assert_int_equal(segments, loop->wall_ns);
        assert_int_equal(stages, loop->steady_ns);
    }
}

static void tell_end(struct script *script)
{
    for (uint32_t i = 0; i < script->processes; i++) {
        script->facts[i].end_ns = script->now;
        model_process(script->model, i, &script->facts[i]);
    }
}

void script_look(struct script *script)
{
    tell_end(script);
    struct snapshot *snapshot = model_snapshot(script->model);
    assert_non_null(snapshot);
    snapshot_free(snapshot);
}

const struct snapshot *script_finish(struct script *script)
{
    tell_end(script);
    model_finish(script->model);
    script->snapshot = model_snapshot(script->model);
    assert_non_null(script->snapshot);
    assert_int_equal(model_error(script->model), 0);
    script_check_books(script->snapshot);
    return script->snapshot;
}

const struct snap_span *script_find(const struct snapshot *snapshot, const char *text)
{
    for (size_t i = 0; i < snapshot->span_count; i++)
        if (strcmp(snapshot->spans[i].text, text) == 0)
            return &snapshot->spans[i];
    return NULL;
}
