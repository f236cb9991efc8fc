#include "model/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/saturate.h"
#include "model/loop_data.h"
#include "model/model_state.h"
#include "model/thread.h"

void calls_release(struct loop_calls *calls)
{
    for (uint32_t i = 0; i < calls->count; i++) {
        if (calls->row[i].callback) {
            sketch_release(&calls->row[i].callback->times);
            free(calls->row[i].callback);
        }
    }
    free(calls->row);
    free(calls->place);
    *calls = (struct loop_calls){0};
}

static void merge_chunks(int64_t chunk[SERIES_CHUNKS])
{
    for (int i = 0; i < SERIES_CHUNKS / 2; i++)
        chunk[i] = chunk[2 * i] + chunk[2 * i + 1];
    memset(chunk + SERIES_CHUNKS / 2, 0, SERIES_CHUNKS / 2 * sizeof *chunk);
}

void calls_merge_chunks(struct loop_calls *calls)
{
    for (uint32_t i = 0; i < calls->count; i++) {
        struct name_calls *row = &calls->row[i];
        merge_chunks(row->chunk_ns);
        if (row->callback) {
            merge_chunks(row->callback->own_ns);
            merge_chunks(row->callback->wait_ns);
        }
    }
}

const struct name_calls *calls_find(const struct loop_calls *calls, uint32_t name)
{
    for (uint32_t i = 0; i < calls->count; i++)
        if (calls->row[i].name == name)
            return &calls->row[i];
    return NULL;
}

static bool make_place(struct loop_calls *calls, uint32_t name, uint32_t names)
{
    if (name >= calls->places) {
        uint32_t *grown = realloc(calls->place, names * sizeof *grown);
        if (!grown)
            return false;
        memset(grown + calls->places, 0, (names - calls->places) * sizeof *grown);
        calls->place = grown;
        calls->places = names;
    }
    if (calls->count == calls->capacity) {
        uint32_t capacity = calls->capacity ? calls->capacity * 2 : 16;
        struct name_calls *grown = realloc(calls->row, capacity * sizeof *grown);
        if (!grown)
            return false;
        calls->row = grown;
        calls->capacity = capacity;
    }
    return true;
}

static ATTR_NOINLINE struct name_calls *new_row(struct call_log *log, uint32_t name)
{
    struct model *model = log->thread->model;
    struct loop_calls *calls = &log->loop->calls;
    const bool is_callback = model->names.name[name].stage == SS_STAGE_CALLBACK;
    struct name_calls row = {.name = name};
    if (calls->count == CALL_ROWS_MOST || (is_callback && calls->callbacks == CALLBACK_ROWS_MOST))
        return NULL;
    if (!make_place(calls, name, model->names.count) ||
        (is_callback && !(row.callback = calloc(1, sizeof *row.callback)))) {
        model->error = SS_E_NOMEM;
        return NULL;
    }
    if (is_callback) {
        spikes_init(&row.callback->spikes);
        calls->callbacks++;
    }
    calls->row[calls->count++] = row;
    calls->place[name] = calls->count;
    return &calls->row[calls->count - 1];
}

static inline struct name_calls *row_of(struct call_log *log, uint32_t name)
{
    const struct loop_calls *calls = &log->loop->calls;
    return LIKELY(name < calls->places && calls->place[name]) ? &calls->row[calls->place[name] - 1]
                                                              : new_row(log, name);
}

static int part_of(unsigned stage)
{
    switch (stage) {
    case SS_STAGE_CHECKPOINT:
        return PART_SAVE;
    case SS_STAGE_EVAL:
        return PART_EVAL;
    case SS_STAGE_GC:
        return PART_GC;
    case SS_STAGE_SYNC:
        return PART_WAIT;
    default:
        return -1;
    }
}

/* The first read of a result waits for all that was queued on the device. */
static bool tells_device(unsigned stage)
{
    return model_computes(stage) || stage == SS_STAGE_INFER;
}

/* The parts of a call that are counted apart: all that nests in it is before it in the log. If it
 * lets the device compute, it is its own work that it waits for. */
static void find_parts(const struct model_names *names, const struct call_log *log, uint32_t at,
                       int64_t part_ns[CALL_PARTS])
{
    const struct waiting_call *whole = &log->call[at];
    int64_t left_ns = whole->end_ns; /* up to here nothing has been counted apart */
    bool computes = false;
    for (uint32_t i = at; i-- > 0 && log->call[i].start_ns >= whole->start_ns;) {
        const struct waiting_call *inner = &log->call[i];
        const unsigned stage = names->name[inner->name].stage;
        const int part = part_of(stage);
        computes = computes || tells_device(stage);
        if (part >= 0 && inner->end_ns <= left_ns) {
            part_ns[part] += inner->end_ns - inner->start_ns;
            left_ns = inner->start_ns;
        }
    }
    if (computes)
        part_ns[PART_WAIT] = 0;
}

static void book_in_step(const struct loop *loop, struct callback_calls *callback, int64_t ns,
                         int64_t own_ns, int64_t wait_ns, bool counted)
{
    if (loop->steps >= callback->next_step) {
        (void)spikes_add(&callback->spikes, loop->steps, (double)ns);
        callback->next_step = loop->steps + 1;
    }
    if (counted) {
        saturate_add(&callback->own_ns[loop->series.chunks], own_ns);
        saturate_add(&callback->wait_ns[loop->series.chunks], wait_ns);
    }
}

static void book_callback(const struct call_log *log, struct callback_calls *callback, uint32_t at,
                          enum call_place place, bool counted)
{
    const struct waiting_call *call = &log->call[at];
    const int64_t ns = call->end_ns - call->start_ns;
    int64_t part_ns[CALL_PARTS] = {0};
    find_parts(&log->thread->model->names, log, at, part_ns);
    callback->at[place].count++;
    saturate_add(&callback->at[place].total_ns, ns);
    int64_t own_ns = ns;
    for (int i = 0; i < CALL_PARTS; i++) {
        saturate_add(&callback->part_ns[place][i], part_ns[i]);
        own_ns -= part_ns[i];
    }
    if (call->is_whole)
        sketch_add(&callback->times, ns);
    if (place == CALLED_IN_STEP)
        book_in_step(log->loop, callback, ns, own_ns, part_ns[PART_WAIT], counted);
}

static enum call_place place_of(const struct call_log *log, const struct waiting_call *call,
                                enum call_place place)
{
    if (UNLIKELY(call->cut >= 0))
        return (enum call_place)(CALLED_IN_CUT + call->cut);
    const bool is_first = place == CALLED_IN_STEP && log->loop->steps == 0;
    return is_first && log->thread->model->names.name[call->name].stage == SS_STAGE_COMPILE
               ? CALLED_BEFORE /* step model 4.10 */
               : place;
}

static inline void book(struct call_log *log, uint32_t at, enum call_place around, bool counted)
{
    const struct waiting_call *call = &log->call[at];
    const enum call_place place = place_of(log, call, around);
    const int64_t ns = call->end_ns - call->start_ns;
    struct name_calls *row = row_of(log, call->name);
    if (!row)
        return;
    row->at[place].count++;
    saturate_add(&row->at[place].total_ns, ns);
    if (place == CALLED_IN_STEP && counted)
        saturate_add(&row->chunk_ns[log->loop->series.chunks], ns);
    if (row->callback && place < CALLED_IN_CUT && !call->is_inner)
        book_callback(log, row->callback, at, place, counted);
}

static inline void keep_earliest(struct call_log *log, int64_t start_ns)
{
    log->earliest_ns = start_ns < log->earliest_ns ? start_ns : log->earliest_ns;
}

static void book_layers(struct call_log *log, int64_t until_ns, enum call_place place)
{
    struct model *model = log->thread->model;
    const bool is_in_loop = log->loop && place != CALLED_NOWHERE;
    if (!layers_book(&log->layers, until_ns, model->names.name, model->names.count,
                     is_in_loop ? &log->loop->layers : NULL))
        model->error = SS_E_NOMEM;
}

void calls_book(struct call_log *log, int64_t until_ns, enum call_place place, bool counted)
{
    const uint32_t count = log->count;
    uint32_t kept = 0;
    if (UNLIKELY(log->layers.waits > 0))
        book_layers(log, until_ns, place);
    if (log->earliest_ns >= until_ns)
        return; /* as between two steps of which one begins where the other ends */
    log->earliest_ns = INT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (log->call[i].start_ns >= until_ns) {
            keep_earliest(log, log->call[i].start_ns);
            log->call[kept++] = log->call[i];
        } else if (place != CALLED_NOWHERE) {
            book(log, i, place, counted);
        }
    }
    log->count = kept;
}

/* The log is full. */
static void book_older_half(struct call_log *log)
{
    const uint32_t half = log->count / 2;
    const enum call_place place = !log->loop              ? CALLED_NOWHERE
                                  : log->loop->steps == 0 ? CALLED_BEFORE
                                                          : CALLED_IN_STEP;
    for (uint32_t i = 0; place != CALLED_NOWHERE && i < half; i++)
        book(log, i, place, true);
    log->count -= half;
    memmove(log->call, log->call + half, log->count * sizeof *log->call);
}

static ATTR_NOINLINE bool make_room(struct call_log *log)
{
    if (log->capacity == CALLS_WAITING_MOST) {
        book_older_half(log);
        return true;
    }
    const uint32_t capacity = log->capacity ? log->capacity * 2 : 64;
    struct waiting_call *grown = realloc(log->call, capacity * sizeof *grown);
    if (!grown) {
        log->thread->model->error = SS_E_NOMEM;
        return false;
    }
    log->call = grown;
    log->capacity = capacity;
    return true;
}

void calls_note(struct call_log *log, uint32_t name, const struct ss_record *record)
{
    if (UNLIKELY(log->count == log->capacity) && !make_room(log))
        return;
    keep_earliest(log, record->start_ns);
    log->call[log->count++] =
        (struct waiting_call){.start_ns = record->start_ns,
                              .end_ns = record->end_ns,
                              .name = name,
                              .cut = -1,
                              .is_whole = !(record->flags & SS_FLAG_UNFINISHED),
                              .is_inner = record->nest & SS_NEST_CLOSED};
}

void calls_cut(struct call_log *log, int64_t start_ns, int64_t end_ns, int cut)
{
    layers_cut(&log->layers, start_ns, end_ns);
    if (log->thread->hot)
        hot_cut(&log->thread->model->hot, log->thread->hot, start_ns, end_ns, cut);
    for (uint32_t i = log->count; i-- > 0 && log->call[i].end_ns > start_ns;)
        if (log->call[i].start_ns >= start_ns && log->call[i].end_ns <= end_ns)
            log->call[i].cut = (int16_t)cut;
}

void calls_beside(struct call_log *log, uint32_t name, int64_t ns)
{
    struct name_calls *row = log->loop ? row_of(log, name) : NULL;
    if (row)
        row->chunk_ns[log->loop->series.chunks] += ns;
}

uint64_t *calls_looks(struct call_log *log, uint32_t name)
{
    const bool is_callback = log->thread->model->names.name[name].stage == SS_STAGE_CALLBACK;
    struct name_calls *row = is_callback && log->loop ? row_of(log, name) : NULL;
    return row ? row->callback->looks : NULL;
}
