#include "model/hot.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return value ^ value >> 29;
}

void hot_release(struct hot *hot)
{
    for (size_t i = 0; i < hot->frame_count; i++) {
        free(hot->frames[i].function);
        free(hot->frames[i].file);
    }
    for (struct hot_thread *thread = hot->threads, *next; thread; thread = next) {
        next = thread->next;
        free(thread->waiting);
        free(thread->rows);
        free(thread);
    }
    free(hot->frames);
    free(hot->frame_slots);
    *hot = (struct hot){0};
}

/* The place of a frame in the table of slots: its own, or a free one. */
static size_t slot_of(const struct hot *hot, uint32_t process, uint32_t id)
{
    size_t at = mix((uint64_t)process << 32 | id) & (hot->slot_count - 1);
    while (hot->frame_slots[at]) {
        const struct hot_frame *frame = &hot->frames[hot->frame_slots[at] - 1];
        if (frame->process == process && frame->id == id) {
            break;
        }
        at = (at + 1) & (hot->slot_count - 1);
    }
    return at;
}

static bool make_slots(struct hot *hot, size_t count)
{
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots) {
        return false;
    }
    free(hot->frame_slots);
    hot->frame_slots = slots;
    hot->slot_count = count;
    for (size_t i = 0; i < hot->frame_count; i++) {
        const struct hot_frame *frame = &hot->frames[i];
        slots[slot_of(hot, frame->process, frame->id)] = (uint32_t)i + 1;
    }
    return true;
}

static bool make_room(struct hot *hot)
{
    if (hot->frame_count < hot->frame_capacity) {
        return true;
    }
    const size_t capacity = hot->frame_capacity ? hot->frame_capacity * 2 : 256;
    struct hot_frame *grown = capacity > HOT_FRAMES_MOST
                                  ? NULL
                                  : realloc(hot->frames, capacity * sizeof *hot->frames);
    if (!grown) {
        return false;
    }
    hot->frames = grown;
    if (!make_slots(hot, capacity * 2)) {
        return false;
    }
    hot->frame_capacity = capacity;
    return true;
}

/* What comes with Python or was installed is not what the user can change. */
static bool is_script(const char *file)
{
    return file[0] && strncmp(file, "<frozen", strlen("<frozen")) != 0 &&
           !strstr(file, "/site-packages/") && !strstr(file, "/dist-packages/") &&
           !strstr(file, "/lib/python3");
}

static bool add_frame(struct hot *hot, const struct hot_frame *frame)
{
    if (!make_room(hot)) {
        return false;
    }
    const size_t at = slot_of(hot, frame->process, frame->id);
    if (hot->frame_slots[at]) {
        return false;
    }
    hot->frames[hot->frame_count++] = *frame;
    hot->frame_slots[at] = (uint32_t)hot->frame_count;
    return true;
}

void hot_frame(struct hot *hot, uint32_t process, const struct ss_record *record)
{
    struct hot_frame frame = {
        .process = process,
        .id = record->u.text.id,
        .line = record->u.text.line,
        .function = strndup(record->u.text.a.data ? record->u.text.a.data : "",
                            record->u.text.a.size),
        .file = strndup(record->u.text.b.data ? record->u.text.b.data : "",
                        record->u.text.b.size)};
    frame.is_script = frame.file && is_script(frame.file);
    if (!frame.function || !frame.file || !add_frame(hot, &frame)) {
        free(frame.function);
        free(frame.file);
    }
}

struct hot_thread *hot_find(const struct hot *hot, uint32_t process, uint32_t tid)
{
    struct hot_thread *thread = hot->threads;
    while (thread && (thread->process != process || thread->tid != tid)) {
        thread = thread->next;
    }
    return thread;
}

static struct hot_thread *thread_of(struct hot *hot, uint32_t process, uint32_t tid)
{
    struct hot_thread *thread = hot_find(hot, process, tid);
    if (!thread && (thread = calloc(1, sizeof *thread))) {
        thread->process = process;
        thread->tid = tid;
        thread->next = hot->threads;
        hot->threads = thread;
        hot->thread_count++;
    }
    return thread;
}

static size_t row_of(const struct hot_thread *thread, const struct hot_row *row)
{
    size_t at = mix(mix((uint64_t)row->script << 32 | row->leaf) + row->place) &
                (thread->row_slots - 1);
    for (; thread->rows[at].count; at = (at + 1) & (thread->row_slots - 1)) {
        const struct hot_row *other = &thread->rows[at];
        if (other->place == row->place && other->script == row->script &&
            other->leaf == row->leaf) {
            break;
        }
    }
    return at;
}

static bool make_rows(struct hot_thread *thread)
{
    if (thread->row_count < thread->row_slots / 2) {
        return true;
    }
    struct hot_thread grown = *thread;
    grown.row_slots = thread->row_slots ? thread->row_slots * 2 : 64;
    grown.rows = grown.row_slots > 2 * HOT_ROWS_MOST
                     ? NULL
                     : calloc(grown.row_slots, sizeof *grown.rows);
    if (!grown.rows) {
        return false;
    }
    for (size_t i = 0; i < thread->row_slots; i++) {
        if (thread->rows[i].count) {
            grown.rows[row_of(&grown, &thread->rows[i])] = thread->rows[i];
        }
    }
    free(thread->rows);
    *thread = grown;
    return true;
}

static void place(struct hot *hot, struct hot_thread *thread,
                  const struct hot_waiting *sample, uint32_t where)
{
    struct hot_row row = {where, sample->script, sample->leaf, 0};
    if (sample->state) {
        thread->states[where][sample->state - 1]++;
        return;
    }
    if (!make_rows(thread)) {
        hot->unplaced++;
        return;
    }
    struct hot_row *own = &thread->rows[row_of(thread, &row)];
    if (own->count == 0) {
        *own = row;
        thread->row_count++;
    }
    own->count++;
}

static bool wait(struct hot *hot, struct hot_thread *thread,
                 const struct hot_waiting *sample)
{
    if (!thread->is_recorder && thread->waiting_count >= HOT_SILENT_MOST) {
        hot_settle(hot, thread, INT64_MAX, false);
    }
    if (thread->waiting_count == thread->waiting_capacity) {
        const size_t capacity =
            thread->waiting_capacity ? thread->waiting_capacity * 2 : 64;
        struct hot_waiting *grown =
            capacity > HOT_WAITING_MOST
                ? NULL
                : realloc(thread->waiting, capacity * sizeof *grown);
        if (!grown) {
            return false;
        }
        thread->waiting = grown;
        thread->waiting_capacity = capacity;
    }
    thread->waiting[thread->waiting_count++] = *sample;
    return true;
}

void hot_sample(struct hot *hot, uint32_t process, bool is_main,
                const struct ss_record *record)
{
    struct hot_waiting sample = {.time_ns = record->time_ns};
    struct hot_thread *thread = thread_of(hot, process, record->tid);
    for (uint32_t i = 0; hot->slot_count && i < record->u.sample.frames; i++) {
        const uint32_t number =
            hot->frame_slots[slot_of(hot, process, record->u.sample.frame[i])];
        sample.leaf = i == 0 ? number : sample.leaf;
        if (number && hot->frames[number - 1].is_script) {
            sample.script = number;
            break;
        }
    }
    hot->samples++;
    if (!sample.leaf || !thread || !wait(hot, thread, &sample)) {
        hot->unplaced++;
    } else {
        thread->is_main = is_main;
    }
}

void hot_state(struct hot *hot, uint32_t process, uint32_t tid, bool is_main,
               int64_t time_ns, unsigned state)
{
    const struct hot_waiting sample = {.time_ns = time_ns, .state = state + 1};
    struct hot_thread *thread = state < HOT_STATES ? thread_of(hot, process, tid) : NULL;
    if (thread && wait(hot, thread, &sample)) {
        thread->is_main = is_main;
    }
}

/* Gives what waits from `start_ns` on, up to before `end_ns`, its place. Later samples are few. */
static void settle(struct hot *hot, struct hot_thread *thread, int64_t start_ns,
                   int64_t end_ns, uint32_t where)
{
    size_t first = thread->waiting_count, kept;
    while (first > 0 && thread->waiting[first - 1].time_ns >= start_ns) {
        first--;
    }
    kept = first;
    for (size_t i = first; i < thread->waiting_count; i++) {
        if (thread->waiting[i].time_ns < end_ns) {
            place(hot, thread, &thread->waiting[i], where);
        } else {
            thread->waiting[kept++] = thread->waiting[i];
        }
    }
    thread->waiting_count = kept;
}

void hot_settle(struct hot *hot, struct hot_thread *thread, int64_t time_ns, bool in_loop)
{
    settle(hot, thread, INT64_MIN, time_ns, in_loop ? SS_STAGE_OTHER : HOT_OUTSIDE);
}

void hot_finish(struct hot *hot)
{
    for (struct hot_thread *thread = hot->threads; thread; thread = thread->next) {
        hot_settle(hot, thread, INT64_MAX, false);
    }
}

/* Whether the time of a span is its stage's: not beside the loop, not a name of the user, not inside
 * a closed span. */
static bool counts(const struct model_name *name, const struct ss_record *record)
{
    const bool is_closed = record->nest & SS_NEST_CLOSED;
    return !(record->flags & (SS_FLAG_OVERLAY | SS_FLAG_PRODUCER)) &&
           name->stage != SS_STAGE_PRODUCE && name->stage != SS_STAGE_USER &&
           (!is_closed || name->stage == SS_STAGE_GC);
}

/* `sync` and `transfer` directly inside an optimizer are a detail of it. */
static uint32_t stage_of(const struct model_name *name, const struct ss_record *record)
{
    const bool is_detail =
        (name->stage == SS_STAGE_SYNC || name->stage == SS_STAGE_TRANSFER) &&
        (record->nest & SS_NEST_OPEN) &&
        (record->nest & SS_NEST_STAGE) == SS_STAGE_OPTIMIZER;
    return is_detail ? SS_STAGE_OPTIMIZER : name->stage;
}

void hot_span(struct hot *hot, struct hot_thread *thread, const struct model_name *name,
              const struct ss_record *record)
{
    if (thread->waiting_count > 0 && counts(name, record)) {
        settle(hot, thread, record->start_ns, record->end_ns, stage_of(name, record));
    }
}

static void move_frames(struct hot *to, struct hot *from, uint32_t processes,
                        uint32_t *number)
{
    for (size_t i = 0; i < from->frame_count; i++) {
        struct hot_frame frame = from->frames[i];
        frame.process += processes;
        if (add_frame(to, &frame)) {
            number[i + 1] = (uint32_t)to->frame_count;
            from->frames[i].function = from->frames[i].file = NULL;
        }
    }
}

static void move_rows(struct hot *to, struct hot_thread *thread, const uint32_t *number)
{
    struct hot_thread moved = {.process = thread->process, .tid = thread->tid};
    for (size_t i = 0; i < thread->row_slots; i++) {
        const struct hot_row *row = &thread->rows[i];
        struct hot_row own = {row->place, number[row->script], number[row->leaf], 0};
        if (row->count && !make_rows(&moved)) {
            to->unplaced += row->count;
        } else if (row->count) {
            struct hot_row *at = &moved.rows[row_of(&moved, &own)];
            moved.row_count += at->count == 0;
            own.count = at->count + row->count;
            *at = own;
        }
    }
    free(thread->rows);
    thread->rows = moved.rows;
    thread->row_count = moved.row_count;
    thread->row_slots = moved.row_slots;
}

void hot_merge(struct hot *to, struct hot *from, uint32_t processes)
{
    uint32_t *number = calloc(from->frame_count + 1, sizeof *number);
    if (number) {
        move_frames(to, from, processes, number);
        while (from->threads) {
            struct hot_thread *thread = from->threads;
            from->threads = thread->next;
            thread->process += processes;
            move_rows(to, thread, number);
            thread->next = to->threads;
            to->threads = thread;
            to->thread_count++;
        }
        to->samples += from->samples;
        to->unplaced += from->unplaced;
    }
    free(number);
    hot_release(from);
}
