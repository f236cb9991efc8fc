#include "support/exercise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition) expect((condition), #condition, __LINE__)

/* What one lane gave, by its own cursor or among all lanes. */
struct summary {
    uint64_t records;
    uint64_t hash;
    ss_ns last_ns;
};

static volatile uint64_t sink; /* keeps reads of texts that nothing else needs */

static void expect(bool condition, const char *text, int line)
{
    if (condition)
        return;
    fprintf(stderr, "exercise: line %d: not true: %s\n", line, text);
    abort();
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29);
}

static uint64_t mix_bytes(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *const bytes = data;

    hash = mix(hash, size);
    for (size_t i = 0; i < size; i++)
        hash = mix(hash, bytes[i]);
    return hash;
}

static uint64_t mix_payload(uint64_t hash, const struct ss_record *record)
{
    switch (record->kind) {
    case SS_KIND_MARK:
    case SS_KIND_FRAME:
    case SS_KIND_HOOK:
    case SS_KIND_NAME:
    case SS_KIND_INFO:
    case SS_KIND_THREAD_BEGIN:
        hash = mix_bytes(hash, record->u.text.a.data, record->u.text.a.size);
        hash = mix_bytes(hash, record->u.text.b.data, record->u.text.b.size);
        return mix(mix(hash, record->u.text.id), record->u.text.line);
    case SS_KIND_SAMPLE:
        for (uint32_t i = 0; i < record->u.sample.frames; i++)
            hash = mix(hash, record->u.sample.frame[i]);
        return hash;
    case SS_KIND_PLAN:
        return mix_bytes(hash, record->u.plan, sizeof record->u.plan);
    case SS_KIND_CALIBRATION:
        return mix_bytes(hash, record->u.clocks, sizeof record->u.clocks);
    default:
        return mix(hash, record->u.samples);
    }
}

static void add(struct summary *summary, const struct ss_record *record)
{
    uint64_t hash = summary->hash;

    EXPECT(record->kind > 0 && record->kind < SS_KIND_COUNT);
    EXPECT(record->stage < SS_STAGE_COUNT);
    EXPECT(record->role < SS_ROLE_COUNT && record->scope < SS_SCOPE_COUNT);
    EXPECT(record->end_ns >= record->start_ns);
    EXPECT(summary->records == 0 || record->time_ns >= summary->last_ns);
    hash = mix(mix(hash, (uint64_t)record->time_ns), (uint64_t)record->start_ns);
    hash = mix(mix(hash, (uint64_t)record->end_ns), record->tid);
    hash = mix(mix(hash, record->owner), (uint64_t)record->name << 16 | record->flags);
    hash = mix(mix(hash, record->kind), (uint64_t)record->depth << 8 | record->nest);
    summary->hash = mix_payload(hash, record);
    summary->last_ns = record->time_ns;
    summary->records++;
}

static void read_lane(struct ss_run *run, size_t lane, struct summary *summary)
{
    struct ss_cursor *const cursor = ss_cursor_new(run, lane);
    struct ss_record record;

    EXPECT(cursor != NULL);
    while (ss_cursor_next(cursor, &record)) {
        EXPECT(record.lane == lane);
        add(summary, &record);
    }
    EXPECT(!ss_cursor_next(cursor, &record));
    ss_cursor_free(cursor);
}

/* At one time, the order of processes and of their lanes decides. */
static bool in_order(const struct ss_record *a, const struct ss_record *b)
{
    return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->lane <= b->lane);
}

static void read_merged(struct ss_run *run, struct summary *summaries)
{
    struct ss_cursor *const cursor = ss_cursor_new(run, SS_ALL_LANES);
    struct ss_record record, last = {.time_ns = INT64_MIN};

    EXPECT(cursor != NULL);
    while (ss_cursor_next(cursor, &record)) {
        EXPECT(record.lane < ss_run_lanes(run));
        EXPECT(in_order(&last, &record));
        add(&summaries[record.lane], &record);
        last = record;
    }
    ss_cursor_free(cursor);
}

static void read_all_lanes(struct ss_run *run)
{
    const size_t lanes = ss_run_lanes(run);
    struct summary *const alone = calloc(lanes + 1, sizeof *alone);
    struct summary *const merged = calloc(lanes + 1, sizeof *merged);

    if (!alone || !merged)
        abort();
    for (size_t i = 0; i < lanes; i++)
        read_lane(run, i, &alone[i]);
    const size_t losses = ss_run_losses(run);
    read_merged(run, merged);
    EXPECT(losses == ss_run_losses(run));
    for (size_t i = 0; i < lanes; i++) {
        EXPECT(alone[i].records == merged[i].records);
        EXPECT(alone[i].hash == merged[i].hash);
    }
    free(alone);
    free(merged);
}

static void read_open_spans(struct ss_run *run)
{
    struct ss_record open[SS_STACK_DEPTH];

    for (size_t lane = 0; lane < ss_run_lanes(run); lane++) {
        const size_t count = ss_run_open_spans(run, lane, open, SS_STACK_DEPTH);
        EXPECT(count < SS_STACK_DEPTH);
        for (size_t i = 0; i < count; i++)
            EXPECT(open[i].kind == SS_KIND_SPAN && open[i].end_ns >= open[i].start_ns);
        EXPECT(ss_run_open_spans(run, lane, open, 1) == (count > 0));
    }
}

static void read_names(const struct ss_run *run, size_t process)
{
    const uint32_t names = ss_run_process(run, process)->names;
    uint64_t hash = 0;

    /* All of them if there are few: a damaged id may stand for 65,000 that are not
     * there. */
    for (uint32_t id = 0; id <= names; id += 1 + id / 64) {
        const struct ss_name_info *const name = ss_run_name(run, process, id);
        EXPECT(name && name->text.data && name->object.data);
        EXPECT(name->stage < SS_STAGE_COUNT);
        hash = mix_bytes(hash, name->text.data, name->text.size);
        hash = mix_bytes(hash, name->object.data, name->object.size);
    }
    sink = hash;
}

static void read_infos(const struct ss_run *run, size_t process)
{
    struct ss_text key, value;
    uint64_t hash = 0;

    for (size_t i = 0; ss_run_info_at(run, process, i, &key, &value); i++) {
        hash = mix_bytes(hash, key.data, key.size);
        hash = mix_bytes(hash, value.data, value.size);
    }
    sink = mix(hash, ss_run_info(run, process, "command").size);
}

static void read_losses(const struct ss_run *run)
{
    for (size_t i = 0; i < ss_run_losses(run); i++) {
        const struct ss_loss *const loss = ss_run_loss(run, i);
        EXPECT(loss->kind <= SS_LOSS_CHANGED && loss->file);
        if (loss->process == UINT32_MAX)
            continue;
        const struct ss_process *const process = ss_run_process(run, loss->process);
        EXPECT(process && strcmp(process->file, loss->file) == 0);
        EXPECT(loss->offset + loss->bytes <= process->file_bytes || loss->bytes == 0);
    }
}

void exercise_run(struct ss_run *run)
{
    uint32_t lanes = 0;

    for (size_t i = 0; i < ss_run_processes(run); i++) {
        const struct ss_process *const process = ss_run_process(run, i);
        EXPECT(process->end_ns >= process->start_ns);
        lanes += process->lanes;
        read_names(run, i);
        read_infos(run, i);
    }
    EXPECT(lanes == ss_run_lanes(run));
    read_infos(run, SIZE_MAX);
    read_open_spans(run);
    read_all_lanes(run);
    read_losses(run);
}

bool exercise_files(const struct ss_blob *files, size_t count)
{
    struct ss_error error = {0};
    struct ss_run *const run = ss_run_open_memory(files, count, &error);

    if (!run) {
        EXPECT(error.code < 0 && error.message[0]);
        return false;
    }
    EXPECT(ss_run_refresh(run) == 0);
    exercise_run(run);
    ss_run_close(run);
    return true;
}
