#include "frames.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "frames_layout.h"
#include "frames_memory.h"
#include "record/notes.h"
#include "record/system.h"

/* The threads of the interpreter, from its own list, without the GIL. */

struct thread_image { /* a copy of the part of a PyThreadState that the layout knows */
    unsigned char bytes[512];
    uintptr_t tid_place; /* 0, or where `tid` was copied from with it */
    uint32_t tid;
};

enum { PTHREAD_BYTES = 2048 }; /* of a pthread_t's memory, the id is in the first ones */

_Static_assert(sizeof((struct thread_image *)NULL)->bytes == LAYOUT_THREAD_MOST,
               "room for the layout");

/* The address in the image at an offset. */
static uintptr_t thread_pointer(const struct thread_image *image, size_t offset)
{
    uintptr_t value;
    memcpy(&value, image->bytes + offset, sizeof value);
    return value;
}

/* Where the kernel's id of the thread is, if not in the state itself: 0. */
static uintptr_t thread_tid_place(const struct frames *frames, const struct thread_image *image)
{
    return frames_layout->thread.id_is_native
               ? 0
               : thread_pointer(image, frames_layout->thread.id) + frames->tid_in_pthread;
}

static uint32_t tid_of(const struct frames *frames, const struct thread_image *image)
{
    const uintptr_t place = thread_tid_place(frames, image);
    uint32_t tid = 0;
    if (!place)
        return (uint32_t)thread_pointer(image, frames_layout->thread.id);
    if (place == image->tid_place)
        return image->tid;
    return memory_read(place, &tid, sizeof tid) ? tid : 0;
}

/* Whether the image is that of a thread of this interpreter, with this id of the kernel. */
static bool thread_is(const struct frames *frames, const struct thread_image *image, uint32_t tid)
{
    return thread_pointer(image, frames_layout->thread.interpreter) == frames->interpreter &&
           tid_of(frames, image) == tid;
}

void frames_find_threads(struct frames *frames)
{
    struct thread_image image;
    uintptr_t state;
    frames->thread_count = 0;
    image.tid_place = 0;
    if (!memory_read(frames->interpreter + frames_layout->first_thread, &state, sizeof state))
        return;
    while (state && frames->thread_count < FRAMES_THREADS &&
           memory_read(state, image.bytes, frames_layout->thread.bytes)) {
        const uint32_t tid = tid_of(frames, &image);
        if (!thread_is(frames, &image, tid))
            return;
        frames->thread[frames->thread_count++] = (struct frames_thread){tid, state};
        state = thread_pointer(&image, frames_layout->thread.next);
    }
}

static uintptr_t find_known(const struct frames *frames, uint32_t tid)
{
    for (size_t i = 0; i < frames->thread_count; i++)
        if (frames->thread[i].tid == tid)
            return frames->thread[i].state;
    return 0;
}

/* The state that a thread had when the list was read last, 0: there is none. */
static uintptr_t thread_find(struct frames *frames, uint32_t tid)
{
    uintptr_t state = find_known(frames, tid);
    if (!state) {
        frames_find_threads(frames);
        state = find_known(frames, tid);
    }
    return state;
}

/* Finds where the C library keeps the kernel's id of a thread; false: nowhere. With the GIL. */
static bool thread_learn_ids(struct frames *frames)
{
    unsigned char own[PTHREAD_BYTES];
    const uint32_t tid = system_tid();
    if (frames_layout->thread.id_is_native)
        return true;
    size_t readable = sizeof own;
    while (readable > 0 && !memory_read((uintptr_t)pthread_self(), own, readable))
        readable /= 2;
    for (size_t i = 0; i + sizeof tid <= readable; i += sizeof tid) {
        if (memcmp(own + i, &tid, sizeof tid) == 0) {
            frames->tid_in_pthread = i;
            return true;
        }
    }
    return false;
}

/* Stacks. */

enum {
    TRIES = 4,
    UNIT_BYTES = 2,
    NEAR = 512 /* bytes from a frame to the one that it called: read as one piece */
};
_Static_assert((int)LAYOUT_FRAME_MOST <= (int)NEAR, "room for each frame, however they lie");

static struct frame frame_of(uintptr_t address, const unsigned char *image)
{
    const struct frames_layout *at = frames_layout;
    struct frame frame = {.address = address};
    memcpy(&frame.previous, image + at->frame.previous, sizeof frame.previous);
    memcpy(&frame.code, image + at->frame.code, sizeof frame.code);
    frame.code &= ~at->frame.code_tag;
    if (at->frame.instruction_is_index) {
        int index;
        memcpy(&index, image + at->frame.instruction, sizeof index);
        frame.instruction = (uintptr_t)(intptr_t)index;
    } else {
        memcpy(&frame.instruction, image + at->frame.instruction, sizeof frame.instruction);
    }
    frame.owner = at->frame.has_owner ? image[at->frame.owner] : 0;
    if (at->frame.has_copy)
        memcpy(&frame.copy, image + at->frame.copy, sizeof frame.copy);
    frame.runs =
        !at->frame.has_state || (signed char)image[at->frame.state] == at->frame.state_runs;
    return frame;
}

/* What one system call is to read. */
struct gathering {
    struct memory_piece pieces[MEMORY_PIECES_MAX];
    size_t count;
};

static void add_piece(struct gathering *all, uintptr_t address, void *copy, size_t bytes)
{
    all->pieces[all->count++] = (struct memory_piece){address, copy, bytes};
}

/* The thread, where its innermost frame is, and the frames that it had before. */
struct look {
    struct thread_image thread;
    uintptr_t top;
    const unsigned char *image[FRAMES_DEPTH];
    unsigned char bytes[FRAMES_DEPTH * NEAR];
};

/* How many frames from this one on lie below each other in memory, as they do since 3.11. */
static size_t count_near(const struct frames_view *view, size_t first)
{
    size_t end = first + 1;
    while (end < view->count && view->frame[end].address < view->frame[end - 1].address &&
           view->frame[end - 1].address - view->frame[end].address <= NEAR)
        end++;
    return end - first;
}

static void add_frames(struct gathering *all, const struct frames_view *before, struct look *look)
{
    unsigned char *free_bytes = look->bytes;
    for (size_t i = 0; i < before->count;) {
        const size_t end = i + count_near(before, i);
        const uintptr_t low = before->frame[end - 1].address;
        const size_t bytes = before->frame[i].address - low + frames_layout->frame.bytes;
        add_piece(all, low, free_bytes, bytes);
        for (; i < end; i++)
            look->image[i] = free_bytes + (before->frame[i].address - low);
        free_bytes += bytes;
    }
}

static void add_look(struct gathering *all, const struct frames_view *before, struct look *look)
{
    add_piece(all, before->thread, look->thread.bytes, frames_layout->thread.bytes);
    look->thread.tid_place = before->tid_place;
    if (before->tid_place)
        add_piece(all, before->tid_place, &look->thread.tid, sizeof look->thread.tid);
    if (before->place)
        add_piece(all, before->place, &look->top, sizeof look->top);
    add_frames(all, before, look);
}

/* False: it is another thread. */
static bool see(const struct frames *frames, const struct frames_view *before, uint32_t tid,
                const struct look *look, struct frames_view *now)
{
    if (!thread_is(frames, &look->thread, tid))
        return false;
    now->thread = before->thread;
    now->tid_place = thread_tid_place(frames, &look->thread);
    now->place = 0;
    now->top = thread_pointer(&look->thread, frames_layout->thread.top);
    if (frames_layout->thread.top_is_indirect) {
        now->place = now->top + frames_layout->thread.top_there;
        now->top = now->place == before->place ? look->top : 0;
    }
    now->count = before->count;
    for (size_t i = 0; i < before->count; i++)
        now->frame[i] = frame_of(before->frame[i].address, look->image[i]);
    return true;
}

/* The thread alone, when what it had before is of no help. */
static bool look_at_thread(const struct frames *frames, uintptr_t state, uint32_t tid,
                           struct frames_view *now)
{
    const struct frames_view nothing = {.thread = state};
    struct gathering all;
    struct look look;
    all.count = 0;
    add_look(&all, &nothing, &look);
    if (!memory_gather(all.pieces, all.count) || !see(frames, &nothing, tid, &look, now))
        return false;
    return !now->place || memory_read(now->place, &now->top, sizeof now->top);
}

static const struct frame *find_frame(const struct frames_view *view, uintptr_t address)
{
    for (size_t i = 0; i < view->count; i++)
        if (view->frame[i].address == address)
            return &view->frame[i];
    return NULL;
}

/* From the innermost frame outwards; frames that the look at the last stack found again need no
 * call each. */
static bool follow(const struct frames_view *seen, struct frames_view *chain)
{
    unsigned char image[LAYOUT_FRAME_MOST];
    chain->thread = seen->thread;
    chain->tid_place = seen->tid_place;
    chain->place = seen->place;
    chain->top = seen->top;
    chain->count = 0;
    for (uintptr_t at = seen->top; at && chain->count < FRAMES_DEPTH;) {
        const struct frame *known = find_frame(seen, at);
        if (!known && !memory_read(at, image, frames_layout->frame.bytes))
            return false;
        struct frame *frame = &chain->frame[chain->count++];
        *frame = known ? *known : frame_of(at, image);
        at = frame->previous;
    }
    return true;
}

static bool is_python(const struct frame *frame)
{
    return frame->owner < frames_layout->frame.first_owner_in_c;
}

static bool know_codes(struct frames *frames, const struct frames_view *chain)
{
    for (size_t i = 0; i < chain->count; i++) {
        const struct frame *frame = &chain->frame[i];
        if (is_python(frame) && !code_find(&frames->codes, frame->code) &&
            !code_resolve(&frames->codes, frame->code))
            return false;
    }
    return true;
}

enum { NO_UNIT = INT_MIN };

static int unit_of(const struct frame *frame, struct code *code)
{
    if (frames_layout->frame.instruction_is_index)
        return (int)(intptr_t)frame->instruction;
    const uintptr_t first = code_instructions(code, frame->copy);
    return first ? (int)((intptr_t)(frame->instruction - first) / UNIT_BYTES) : NO_UNIT;
}

/* A frame of the interpreter's own, between a class and its __init__, has no line at all. */
static bool has_lines(const struct code *code)
{
    return !frames_layout->code.is_variable || code->fields.first_traceable < code->fields.units;
}

/* A frame that is still being made runs no line yet; that of a generator runs, or is not linked. */
static bool is_complete(const struct frame *frame, const struct code *code, int unit)
{
    return unit >= code->fields.first_traceable ||
           (frames_layout->frame.has_owner &&
            frame->owner == (unsigned char)frames_layout->frame.owner_generator);
}

/* From where on the frames of `now` are a stack: linked as they were before, and but for the
 * innermost of the same code. SIZE_MAX: they are none. */
static size_t first_of_stack(const struct frames_view *before, const struct frames_view *now)
{
    const struct frame *top = find_frame(now, now->top);
    if (!top || !top->runs) /* it may be on its way to be another one */
        return SIZE_MAX;
    const size_t first = (size_t)(top - now->frame);
    for (size_t i = first; i < now->count; i++)
        if (now->frame[i].previous != before->frame[i].previous ||
            (i > first && now->frame[i].code != before->frame[i].code))
            return SIZE_MAX;
    return first;
}

/* Code objects that are what they were before and after a stack was read. */
struct checked {
    struct code *code[FRAMES_DEPTH];
    struct code_look look[FRAMES_DEPTH];
    size_t count;
};

static bool is_checked(const struct checked *checked, const struct code *code)
{
    size_t at = 0;
    while (at < checked->count && checked->code[at] != code)
        at++;
    return at < checked->count;
}

/* A recursive function is checked once. */
static void add_code(struct gathering *all, struct checked *checked, struct code *code)
{
    if (code && !is_checked(checked, code)) {
        all->count += code_look(code, &checked->look[checked->count], all->pieces + all->count);
        checked->code[checked->count++] = code;
    }
}

static void add_codes(const struct frames *frames, const struct frames_view *view,
                      struct gathering *all, struct checked *checked)
{
    checked->count = 0;
    for (size_t i = 0; i < view->count; i++)
        if (is_python(&view->frame[i]))
            add_code(all, checked, code_find(&frames->codes, view->frame[i].code));
}

/* For the innermost frame, whose code may be another one than it was before. */
static bool check_late(struct frames *frames, struct code *code)
{
    struct gathering all;
    struct checked late;
    all.count = late.count = 0;
    add_code(&all, &late, code);
    return memory_gather(all.pieces, all.count) &&
           code_keep(&frames->codes, late.code, late.look, late.count) == 1;
}

/* A frame that is still being made and has called something: a profiler, say, or what the garbage
 * collector calls. If not even that is so any more, it is a new call at the place of one that has
 * ended, and what seems to be called by it was called by that one. */
static bool has_called_already(const struct frames_view *view, size_t first,
                               const struct frame *frame)
{
    struct gathering all;
    unsigned char image[LAYOUT_FRAME_MOST];
    uintptr_t before, after;
    const uintptr_t place = view->place ? view->place : view->thread + frames_layout->thread.top;
    all.count = 0;
    add_piece(&all, place, &before, sizeof before);
    add_piece(&all, frame->address, image, frames_layout->frame.bytes);
    add_piece(&all, place, &after, sizeof after);
    if (!memory_gather(all.pieces, all.count))
        return false;
    const struct frame now = frame_of(frame->address, image);
    return before == view->frame[first].address && after == before && now.code == frame->code &&
           now.instruction == frame->instruction;
}

static enum frames_result accept(struct frames *frames, const struct frames_view *view,
                                 size_t first, const struct checked *checked,
                                 struct frames_stack *stack)
{
    stack->count = 0;
    for (size_t i = first; i < view->count; i++) {
        const struct frame *frame = &view->frame[i];
        if (!is_python(frame))
            continue;
        struct code *code = code_find(&frames->codes, frame->code);
        const int unit = code ? unit_of(frame, code) : NO_UNIT;
        if (unit == NO_UNIT || (frames_layout->code.is_variable && unit >= code->fields.units))
            return FRAMES_DISCARDED; /* it is of the function that had this place before */
        if (!is_complete(frame, code, unit)) {
            if (stack->count > 0 && has_lines(code) && !has_called_already(view, first, frame))
                return FRAMES_DISCARDED;
            continue;
        }
        if (!is_checked(checked, code) && !check_late(frames, code))
            return FRAMES_DISCARDED;
        stack->frame[stack->count].code = code;
        stack->frame[stack->count++].place = code_place(code, unit);
    }
    return stack->count > 0 ? FRAMES_TAKEN : FRAMES_NONE;
}

static ss_ticks time_now(void)
{
    return notes_recording() ? ss_now() : 0; /* a trial starts no recording */
}

/* The usual case, with one system call for everything: the thread is where it was last time, but
 * for its innermost frames. What was found then is the first look; `seen` is the second one, its
 * top is 0 if there was none. */
static enum frames_result take_again(struct frames *frames, uint32_t tid, struct frames_view *seen,
                                     struct frames_stack *stack)
{
    struct gathering all;
    struct look look;
    struct checked checked;
    seen->top = 0;
    all.count = 0;
    add_look(&all, &frames->last, &look);
    add_codes(frames, &frames->last, &all, &checked);
    stack->when = time_now();
    if (!memory_gather(all.pieces, all.count))
        return FRAMES_DISCARDED;
    checked.count = code_keep(&frames->codes, checked.code, checked.look, checked.count);
    if (!see(frames, &frames->last, tid, &look, seen))
        return FRAMES_DISCARDED;
    const size_t first = first_of_stack(&frames->last, seen);
    return first == SIZE_MAX ? FRAMES_DISCARDED : accept(frames, seen, first, &checked, stack);
}

/* Frame by frame, from the innermost one that was seen; then all of them once more. */
static enum frames_result take_anew(struct frames *frames, uint32_t tid,
                                    const struct frames_view *seen, struct frames_stack *stack)
{
    struct gathering all;
    struct frames_view now, *chain = &frames->last;
    struct checked checked;
    struct look look;
    if (!follow(seen, chain) || !know_codes(frames, chain))
        return FRAMES_DISCARDED;
    all.count = 0;
    add_look(&all, chain, &look);
    add_codes(frames, chain, &all, &checked);
    stack->when = time_now();
    if (!memory_gather(all.pieces, all.count) || !see(frames, chain, tid, &look, &now))
        return FRAMES_DISCARDED;
    checked.count = code_keep(&frames->codes, checked.code, checked.look, checked.count);
    if (!chain->top && !now.top)
        return FRAMES_NONE;
    const size_t first = first_of_stack(chain, &now);
    return first == SIZE_MAX ? FRAMES_DISCARDED : accept(frames, &now, first, &checked, stack);
}

static enum frames_result take_once(struct frames *frames, uintptr_t state, uint32_t tid,
                                    struct frames_stack *stack)
{
    struct frames_view seen;
    seen.top = 0;
    const bool was_seen = frames->last.thread == state && frames->last.count > 0;
    const enum frames_result result =
        was_seen ? take_again(frames, tid, &seen, stack) : FRAMES_DISCARDED;
    if (result != FRAMES_DISCARDED)
        return result;
    return seen.top || look_at_thread(frames, state, tid, &seen)
               ? take_anew(frames, tid, &seen, stack)
               : FRAMES_DISCARDED;
}

enum frames_result frames_take(struct frames *frames, uint32_t tid, struct frames_stack *stack)
{
    enum frames_result result = FRAMES_DISCARDED;
    for (int i = 0; i < TRIES && result == FRAMES_DISCARDED; i++) {
        const uintptr_t state = thread_find(frames, tid);
        result = state ? take_once(frames, state, tid, stack) : FRAMES_NONE;
        if (i + 2 == TRIES)
            frames->thread_count = 0; /* it may have ended: before the last try, look */
    }
    return result;
}

/* Whether a stack taken of this thread begins where the interpreter says that it is. */
static bool fits(struct frames *frames)
{
    struct frames_stack stack;
    PyFrameObject *frame = PyEval_GetFrame();
    if (!frame)
        return true;
    PyCodeObject *code = PyFrame_GetCode(frame);
    const bool same = frames_take(frames, system_tid(), &stack) == FRAMES_TAKEN &&
                      stack.frame[0].code->address == (uintptr_t)code &&
                      stack.frame[0].place.line == (uint32_t)PyFrame_GetLineNumber(frame);
    Py_DECREF(code);
    return same;
}

const char *frames_init(struct frames *frames)
{
    *frames = (struct frames){.interpreter = (uintptr_t)PyInterpreterState_Get()};
    const char *reason = frames_layout_find();
    if (!reason)
        reason = memory_open();
    if (reason)
        return reason;
    if (!thread_learn_ids(frames))
        return "the C library does not say which thread is which";
    return fits(frames) ? NULL : "this release of Python keeps its frames elsewhere";
}

void frames_release(struct frames *frames)
{
    code_cache_release(&frames->codes);
    memory_close();
}
