#include "model/hot.h"

#include <stdlib.h>
#include <string.h>

#include "base/code_place.h"

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
        free(thread->waiting.sample);
        free(thread->loose.sample);
        free(thread->past.sample);
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
        if (frame->process == process && frame->id == id)
            break;
        at = (at + 1) & (hot->slot_count - 1);
    }
    return at;
}

static bool make_slots(struct hot *hot, size_t count)
{
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
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
    if (hot->frame_count < hot->frame_capacity)
        return true;
    const size_t capacity = hot->frame_capacity ? hot->frame_capacity * 2 : 256;
    struct hot_frame *grown =
        capacity > HOT_FRAMES_MOST ? NULL : realloc(hot->frames, capacity * sizeof *hot->frames);
    if (!grown)
        return false;
    hot->frames = grown;
    if (!make_slots(hot, capacity * 2))
        return false;
    hot->frame_capacity = capacity;
    return true;
}

static bool add_frame(struct hot *hot, const struct hot_frame *frame)
{
    if (!make_room(hot))
        return false;
    const size_t at = slot_of(hot, frame->process, frame->id);
    if (hot->frame_slots[at])
        return false;
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
        .body = record->u.text.body,
        .traits = record->u.text.traits,
        .function =
            strndup(record->u.text.a.data ? record->u.text.a.data : "", record->u.text.a.size),
        .file = strndup(record->u.text.b.data ? record->u.text.b.data : "", record->u.text.b.size)};
    const bool has_texts = frame.function && frame.file;
    frame.is_script = has_texts && python_file_is_script(frame.file);
    frame.makes_batches = has_texts && python_file_makes_batches(frame.file, frame.function);
    if (!has_texts || !add_frame(hot, &frame)) {
        free(frame.function);
        free(frame.file);
    }
}

struct hot_thread *hot_find(const struct hot *hot, uint32_t process, uint32_t tid)
{
    struct hot_thread *thread = hot->threads;
    while (thread && (thread->process != process || thread->tid != tid))
        thread = thread->next;
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

static uint64_t hash_stack(const struct hot_stack *stack)
{
    uint64_t hash = mix((uint64_t)stack->script << 32 | stack->leaf) + stack->generators;
    hash = mix(hash + ((uint64_t)stack->made_by << 1 | stack->makes_batches));
    for (size_t i = 0; i < HOT_OUTER; i++)
        hash = mix(hash + stack->outer[i]);
    return hash;
}

static size_t row_of(const struct hot_thread *thread, const struct hot_row *row)
{
    size_t at = mix(hash_stack(&row->stack) + row->place) & (thread->row_slots - 1);
    for (; thread->rows[at].count; at = (at + 1) & (thread->row_slots - 1)) {
        const struct hot_row *other = &thread->rows[at];
        if (other->place == row->place &&
            memcmp(&other->stack, &row->stack, sizeof row->stack) == 0)
            break;
    }
    return at;
}

static bool make_rows(struct hot_thread *thread)
{
    if (thread->row_count < thread->row_slots / 2)
        return true;
    struct hot_thread grown = *thread;
    grown.row_slots = thread->row_slots ? thread->row_slots * 2 : 64;
    grown.rows =
        grown.row_slots > 2 * HOT_ROWS_MOST ? NULL : calloc(grown.row_slots, sizeof *grown.rows);
    if (!grown.rows)
        return false;
    for (size_t i = 0; i < thread->row_slots; i++)
        if (thread->rows[i].count)
            grown.rows[row_of(&grown, &thread->rows[i])] = thread->rows[i];
    free(thread->rows);
    *thread = grown;
    return true;
}

static void count_stack(struct hot *hot, struct hot_thread *thread, const struct hot_stack *stack,
                        uint32_t where)
{
    const struct hot_row row = {where, *stack, 0};
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

static void place(struct hot *hot, struct hot_thread *thread, const struct hot_waiting *sample,
                  uint32_t where, uint64_t *looks)
{
    if (!sample->state) {
        count_stack(hot, thread, &sample->stack, where);
        return;
    }
    thread->states[where][sample->state - 1]++;
    if (looks)
        looks[sample->state - 1]++;
}

uint64_t hot_count(const struct hot_thread *thread, uint32_t place, const struct hot_stack *stack)
{
    const struct hot_row row = {place, *stack, 0};
    return thread->row_slots > 0 ? thread->rows[row_of(thread, &row)].count : 0;
}

/* False: there is no room. */
static bool push(struct hot_queue *queue, const struct hot_waiting *sample)
{
    if (queue->count == queue->capacity) {
        const size_t capacity = queue->capacity ? queue->capacity * 2 : 64;
        struct hot_waiting *grown =
            capacity > HOT_WAITING_MOST ? NULL : realloc(queue->sample, capacity * sizeof *grown);
        if (!grown)
            return false;
        queue->sample = grown;
        queue->capacity = capacity;
    }
    queue->sample[queue->count++] = *sample;
    return true;
}

static bool wait(struct hot *hot, struct hot_thread *thread, const struct hot_waiting *sample)
{
    if (!thread->is_recorder && thread->waiting.count >= HOT_SILENT_MOST)
        hot_settle(hot, thread, INT64_MAX, false);
    return push(&thread->waiting, sample);
}

/* What a generator expression is for is unknown: sum(x for x in y) is no input. */
static bool is_generator(const struct hot_frame *frame)
{
    return frame->is_script && (frame->traits & SS_FRAME_GENERATOR) &&
           !strstr(frame->function, "<genexpr>");
}

static struct hot_stack stack_of(const struct hot *hot, uint32_t process,
                                 const struct ss_record *record)
{
    struct hot_stack stack = {0};
    uint32_t caller = 0, outer = 0; /* the frame before, if it is kept: its place + 1 */
    for (uint32_t i = record->u.sample.frames; hot->slot_count && i > 0; i--) {
        const uint32_t number =
            hot->frame_slots[slot_of(hot, process, record->u.sample.frame[i - 1])];
        const struct hot_frame *frame = number ? &hot->frames[number - 1] : NULL;
        if (frame && caller && is_generator(frame))
            stack.generators |= 1u << (caller - 1);
        caller = 0;
        if (frame && frame->makes_batches)
            stack.makes_batches = 1;
        if (frame && frame->is_script) {
            stack.script = number;
            stack.made_by = stack.makes_batches ? number : 0;
            if (outer < HOT_OUTER) {
                stack.outer[outer++] = number;
                caller = outer;
            }
        }
        stack.leaf = number;
    }
    return stack;
}

void hot_sample(struct hot *hot, uint32_t process, bool is_main, const struct ss_record *record)
{
    const struct hot_waiting sample = {.time_ns = record->time_ns,
                                       .stack = stack_of(hot, process, record)};
    struct hot_thread *thread = thread_of(hot, process, record->tid);
    hot->samples++;
    if (!sample.stack.leaf || !thread || !wait(hot, thread, &sample))
        hot->unplaced++;
    else
        thread->is_main = is_main;
}

void hot_state(struct hot *hot, uint32_t process, uint32_t tid, bool is_main, int64_t time_ns,
               unsigned state)
{
    const struct hot_waiting sample = {.time_ns = time_ns, .state = state + 1};
    struct hot_thread *thread = state < HOT_STATES ? thread_of(hot, process, tid) : NULL;
    if (thread && wait(hot, thread, &sample))
        thread->is_main = is_main;
}

/* Gives what waits from `start_ns` on, up to before `end_ns`, its place. Later samples are few. */
static void settle(struct hot *hot, struct hot_thread *thread, int64_t start_ns, int64_t end_ns,
                   uint32_t where, uint64_t *looks)
{
    struct hot_queue *queue = &thread->waiting;
    size_t first = queue->count, kept;
    while (first > 0 && queue->sample[first - 1].time_ns >= start_ns)
        first--;
    kept = first;
    for (size_t i = first; i < queue->count; i++) {
        const struct hot_waiting sample = queue->sample[i];
        if (sample.time_ns >= end_ns) {
            queue->sample[kept++] = sample;
            continue;
        }
        place(hot, thread, &sample, where, looks);
        if (thread->has_books && !sample.state)
            (void)push(&thread->past, &sample);
    }
    queue->count = kept;
}

static void cut_queue(struct hot *hot, struct hot_thread *thread, const struct hot_queue *queue,
                      int64_t start_ns, int64_t end_ns, uint32_t where)
{
    for (size_t i = 0; i < queue->count; i++) {
        const struct hot_waiting *sample = &queue->sample[i];
        if (!sample->state && sample->time_ns >= start_ns && sample->time_ns < end_ns)
            count_stack(hot, thread, &sample->stack, where);
    }
}

void hot_cut(struct hot *hot, struct hot_thread *thread, int64_t start_ns, int64_t end_ns, int cut)
{
    const uint32_t where = HOT_IN_CUT + (uint32_t)cut;
    cut_queue(hot, thread, &thread->past, start_ns, end_ns, where);
    cut_queue(hot, thread, &thread->loose, start_ns, end_ns, where);
    cut_queue(hot, thread, &thread->waiting, start_ns, end_ns, where);
}

/* They are in the order of the spans that had them. */
static void forget_past(struct hot_queue *past, int64_t time_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < past->count; i++)
        if (past->sample[i].time_ns >= time_ns)
            past->sample[kept++] = past->sample[i];
    past->count = kept;
}

/* How many of a queue are before this time. */
static size_t count_before(const struct hot_queue *queue, int64_t time_ns)
{
    size_t count = queue->count;
    while (count > 0 && queue->sample[count - 1].time_ns >= time_ns)
        count--;
    return count;
}

static void drop_first(struct hot_queue *queue, size_t count)
{
    queue->count -= count;
    if (queue->count > 0 && count > 0)
        memmove(queue->sample, queue->sample + count, queue->count * sizeof *queue->sample);
}

void hot_book(struct hot *hot, struct hot_thread *thread, int64_t time_ns, bool in_step)
{
    const size_t count = count_before(&thread->loose, time_ns);
    for (size_t i = 0; i < count; i++)
        place(hot, thread, &thread->loose.sample[i], in_step ? SS_STAGE_OTHER : HOT_OUTSIDE, NULL);
    drop_first(&thread->loose, count);
    forget_past(&thread->past, time_ns);
}

void hot_settle(struct hot *hot, struct hot_thread *thread, int64_t time_ns, bool has_books)
{
    struct hot_queue *queue = &thread->waiting;
    const size_t count = count_before(queue, time_ns);
    thread->has_books = has_books;
    for (size_t i = 0; i < count; i++)
        if (!has_books || !push(&thread->loose, &queue->sample[i]))
            place(hot, thread, &queue->sample[i], HOT_OUTSIDE, NULL);
    drop_first(queue, count);
}

void hot_finish(struct hot *hot)
{
    for (struct hot_thread *thread = hot->threads; thread; thread = thread->next) {
        hot_settle(hot, thread, INT64_MAX, false);
        hot_book(hot, thread, INT64_MAX, false);
    }
}

/* Whether the time of a span is its stage's: not beside the loop, not a name of the user, not
 * inside a closed span or a wait for data. */
static bool counts(const struct model_name *name, const struct ss_record *record)
{
    const unsigned around = record->nest & (SS_NEST_OPEN | SS_NEST_STAGE);
    const bool is_closed =
        (record->nest & SS_NEST_CLOSED) || around == (SS_NEST_OPEN | SS_STAGE_DATA);
    return !(record->flags & (SS_FLAG_OVERLAY | SS_FLAG_PRODUCER | SS_FLAG_SAMPLED)) &&
           name->stage != SS_STAGE_PRODUCE && name->stage != SS_STAGE_USER &&
           (!is_closed || name->stage == SS_STAGE_GC);
}

/* `sync` and `transfer` directly inside an optimizer are a detail of it. */
static uint32_t stage_of(const struct model_name *name, const struct ss_record *record)
{
    const bool is_detail = (name->stage == SS_STAGE_SYNC || name->stage == SS_STAGE_TRANSFER) &&
                           (record->nest & SS_NEST_OPEN) &&
                           (record->nest & SS_NEST_STAGE) == SS_STAGE_OPTIMIZER;
    return is_detail ? SS_STAGE_OPTIMIZER : name->stage;
}

void hot_span(struct hot *hot, struct hot_thread *thread, const struct model_name *name,
              const struct ss_record *record, uint64_t looks[HOT_STATES])
{
    if (thread->waiting.count > 0 && counts(name, record))
        settle(hot, thread, record->start_ns, record->end_ns, stage_of(name, record), looks);
}

static void move_frames(struct hot *to, struct hot *from, uint32_t processes, uint32_t *number)
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

static struct hot_stack renumber(const struct hot_stack *stack, const uint32_t *number)
{
    struct hot_stack own = {.leaf = number[stack->leaf],
                            .script = number[stack->script],
                            .made_by = number[stack->made_by],
                            .makes_batches = stack->makes_batches,
                            .generators = stack->generators};
    for (size_t i = 0; i < HOT_OUTER; i++)
        own.outer[i] = number[stack->outer[i]];
    return own;
}

static void move_rows(struct hot *to, struct hot_thread *thread, const uint32_t *number)
{
    struct hot_thread moved = {.process = thread->process, .tid = thread->tid};
    for (size_t i = 0; i < thread->row_slots; i++) {
        const struct hot_row *row = &thread->rows[i];
        struct hot_row own = {row->place, renumber(&row->stack, number), 0};
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
