/* A pen: what one thread writes its lane with. The functions here are the path of an event: no
 * lock, no system call, no allocation; what does not fit goes to the slow path in pen.c.
 *
 * Pens live in thread-local storage, so that finding one is a single load; other threads see of a
 * lane only what is in struct lane. */
#ifndef RECORD_PEN_H
#define RECORD_PEN_H

#include <stdbool.h>

#include "gate.h"
#include "stepscope/format.h"
#include "store.h"
#include "ticks.h"

/* A lane, as all threads of the process see it: a block of the file, its segments, its owner. The
 * owner writes it with its pen. */

struct session;

struct lane {
    struct session *session;
    struct ss_lane_block *block;
    struct segment *segment; /* NULL: still inside the lane block */
    uint32_t number;
    uint32_t seq;
    uint32_t tid;        /* owner, 0: none; recorder lock */
    uint64_t lost_count; /* since the last record that found room */
    uint64_t lost_from, lost_to;
    struct lane *next_free;

    /* For the helper thread, which keeps the pages ahead of the cursor writable. */
    _Atomic(unsigned char *) cursor;
    _Atomic(unsigned char *) limit;
    unsigned char *seen_cursor;
    uint32_t idle_rounds;
};

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the recorder writes its structs in place: little-endian machines only"
#endif

enum {
    PEN_DEPTH_MAX = SS_STACK_DEPTH - 1,
    PEN_PREFETCH = 512 /* bytes ahead: the next lines were last written by the helper's core */
};

struct pen {
    int32_t gate;      /* the recording that it belongs to */
    int32_t fast_gate; /* the same, or GATE_NONE if the clock is too slow for a fast path */
    uint32_t too_deep; /* open spans beyond PEN_DEPTH_MAX: counted, not recorded */
    unsigned char *cursor;
    unsigned char *limit;     /* end of the page: there, the helper learns where the lane is */
    struct ss_open_span *top; /* the next entry of the block's stack of open spans */
    struct ss_lane_block *block;
    uint64_t place; /* head of a span begun now, without its name and flags */
    struct lane *lane;
};

/* Bits of a head as one word (struct ss_head). */
enum { HEAD_NAME_SHIFT = 16, HEAD_FLAGS_SHIFT = 32, HEAD_DEPTH_SHIFT = 48, HEAD_NEST_SHIFT = 56 };
#define HEAD_PLACE_MASK 0xffff00000000ffffu
#define HEAD_OF(kind) ((uint64_t)(kind) | 1u << 8) /* of one unit */
#define HEAD_SPAN HEAD_OF(SS_KIND_SPAN)

static inline bool pen_can_begin(const struct pen *pen)
{
    return pen->top < &pen->block->open[SS_STACK_DEPTH];
}

/* Not with a full stack: there, spans that are too deep may have to end first. */
static inline bool pen_can_end(const struct pen *pen)
{
    return (uintptr_t)pen->top - (uintptr_t)&pen->block->open[2] <
               (PEN_DEPTH_MAX - 1) * sizeof *pen->top &&
           pen->cursor < pen->limit;
}

static inline uint64_t pen_load_head(const struct ss_head *head)
{
    uint64_t word;
    __builtin_memcpy(&word, head, sizeof word);
    return word;
}

static inline void pen_store_head(struct ss_head *head, uint64_t word)
{
    __builtin_memcpy(head, &word, sizeof word);
}

static inline uint64_t pen_flag_bits(unsigned flags)
{
    return (uint64_t)(uint16_t)flags << HEAD_FLAGS_SHIFT;
}

static inline uint32_t pen_depth_of(uint64_t place)
{
    return (uint8_t)(place >> HEAD_DEPTH_SHIFT);
}

/* The head is stored last: a record is there as a whole or not at all, also after kill -9. */
static inline void pen_commit(struct pen *pen, uint64_t head, unsigned units)
{
    __builtin_prefetch(pen->cursor + PEN_PREFETCH, 1);
    __atomic_store_n((uint64_t *)(void *)pen->cursor, head, __ATOMIC_RELEASE);
    pen->cursor += (size_t)units * SS_UNIT;
}

/* What a span begun inside this one inherits: one level more, the stage of this one, and whether
 * this one or anything around it is closed, or opaque. A name says whether it is transparent, so
 * that 0, which was never interned, is not. */
static inline uint64_t pen_place_inside(uint64_t place, uint32_t name)
{
    const uint64_t kept = (uint64_t)(SS_NEST_CLOSED | SS_NEST_OPAQUE) << HEAD_NEST_SHIFT |
                          (uint64_t)0xff << HEAD_DEPTH_SHIFT | HEAD_SPAN;
    return ((place & kept) + ((uint64_t)1 << HEAD_DEPTH_SHIFT)) |
           (uint64_t)(name >> 16 ^ (SS_NEST_OPEN | SS_NEST_OPAQUE)) << HEAD_NEST_SHIFT;
}

static inline uint64_t pen_head(uint64_t place, uint32_t name, unsigned flags)
{
    return place | (uint64_t)SS_NAME_ID(name) << HEAD_NAME_SHIFT | pen_flag_bits(flags);
}

/* Needs pen_can_begin(). The clock is read late, so that our own work is not in the span. */
static inline void pen_begin(struct pen *pen, uint32_t name, unsigned flags, enum ss_clock clock)
{
    struct ss_open_span *open = pen->top;
    const uint64_t place = pen->place;
    pen_store_head(&open->head, pen_head(place, name, flags));
    pen->place = pen_place_inside(place, name);
    pen->top = open + 1;
    open->start_ticks = ticks_now(clock);
    __atomic_store_n(&pen->block->depth, pen_depth_of(place) + 1, __ATOMIC_RELEASE);
}

/* Writes a span that began at `start` as ended at `end`; needs room at the cursor. */
static inline void pen_write_span(struct pen *pen, uint64_t head, uint64_t start, uint64_t end,
                                  int64_t arg)
{
    struct ss_rec_span *span = (struct ss_rec_span *)(void *)pen->cursor;
    span->start_ticks = start;
    span->end_ticks = end;
    span->arg = arg;
    pen_commit(pen, head, 1);
}

/* Writes what happened at `now`, inside the spans that are open; needs room at the cursor. */
static inline void pen_write_point(struct pen *pen, enum ss_kind kind, uint32_t name,
                                   unsigned flags, uint64_t now, uint64_t value)
{
    struct ss_rec_point *point = (struct ss_rec_point *)(void *)pen->cursor;
    const uint64_t place = pen->place >> HEAD_DEPTH_SHIFT << HEAD_DEPTH_SHIFT | HEAD_OF(kind);
    point->ticks = now;
    point->value = value;
    point->subject = 0;
    pen_commit(pen, pen_head(place, name, flags), 1);
}

/* Takes the innermost span, with this head, off the stack. */
static inline void pen_pop(struct pen *pen, uint64_t head)
{
    pen->top--;
    pen->place = head & HEAD_PLACE_MASK;
    __atomic_store_n(&pen->block->depth, pen_depth_of(head), __ATOMIC_RELEASE);
}

/* Needs pen_can_end(). */
static inline void pen_end(struct pen *pen, uint64_t now, unsigned flags, int64_t arg)
{
    const struct ss_open_span *open = pen->top - 1;
    const uint64_t head = pen_load_head(&open->head);
    pen_write_span(pen, head | pen_flag_bits(flags), open->start_ticks, now, arg);
    pen_pop(pen, head);
}

/* Ends the innermost span and begins the next one in its place. The start is stored last: an entry
 * that still has the start of the span just written does not count as open (format 8.8). Needs
 * pen_can_end(). */
static inline void pen_switch(struct pen *pen, uint32_t name, unsigned flags, enum ss_clock clock)
{
    struct ss_open_span *open = pen->top - 1;
    const uint64_t head = pen_load_head(&open->head);
    const uint64_t start = open->start_ticks;
    const uint64_t place = head & HEAD_PLACE_MASK;
    const uint64_t now = ticks_now(clock);
    pen_write_span(pen, head, start, now, 0);
    pen->place = pen_place_inside(place, name);
    pen_store_head(&open->head, pen_head(place, name, flags));
    __atomic_store_n(&open->start_ticks, now, __ATOMIC_RELEASE);
}

/* Lets a pen write where the lane's last owner stopped, even if that one died without a word. */
void pen_take_up(struct pen *pen, struct lane *lane);

/* The same as begin, end and switch, for what the fast path leaves: a stack that is full or empty,
 * no room in the segment. */
void pen_begin_slow(struct pen *pen, uint32_t name, unsigned flags, enum ss_clock clock);
void pen_end_slow(struct pen *pen, uint64_t now, unsigned flags, int64_t arg);
void pen_switch_slow(struct pen *pen, uint32_t name, unsigned flags, enum ss_clock clock);

/* A record of any other kind; false if there is no room for it. Its place is filled in here. */
bool pen_put(struct pen *pen, const void *record, unsigned units);

/* Kinds with texts: all have their first 20 bytes, then two lengths, then the texts (NULL: none),
 * which are cut to what a record can hold. Units and lengths are filled in here. */
enum { PEN_TEXT_FIXED = 20 };
bool pen_put_text(struct pen *pen, const void *fixed, const char *a, const char *b);

/* Counts a record that was dropped at `now`; `stage` < 0: not a span. */
void pen_lose(struct pen *pen, int stage, uint64_t now);

#endif
