/* A lane: where one thread writes. The functions here are the path of an event: no lock, no
 * system call, no allocation; what does not fit takes lane_room().
 *
 * Owner: the thread that attached, alone. Others may only read `cursor`, and poison a lane
 * (lane_poison) so that its owner's next event goes to the slow path. Lanes live in memory that
 * is zeroed in a forked child; a zeroed lane is poisoned. */
#ifndef RECORD_LANE_H
#define RECORD_LANE_H

#include "base/compiler.h"
#include "stepscope/format.h"
#include "store.h"
#include "ticks.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the recorder writes its structs in place: little-endian machines only"
#endif

struct session;

enum { LANE_DEPTH_MAX = SS_STACK_DEPTH - 1 };

struct lane {
    _Atomic(unsigned char *) cursor;
    _Atomic(unsigned char *) limit; /* NULL: poisoned */
    struct ss_lane_block *block;
    uint32_t depth; /* may exceed LANE_DEPTH_MAX: those spans are counted, not recorded */
    _Atomic uint32_t depth_limit;
    uint8_t nest[SS_STACK_DEPTH]; /* what a child of the span at that depth inherits */

    struct session *session;
    struct segment *segment; /* NULL: still inside the lane block */
    uint32_t number;
    uint32_t seq;
    uint32_t tid;
    uint64_t lost_count; /* since the last record that found room */
    uint64_t lost_from, lost_to;
    struct lane *next_free;

    unsigned char *seen_cursor; /* helper thread only: to tell idle lanes */
    uint32_t idle_rounds;
};

static inline uint64_t lane_head(unsigned kind, unsigned units, uint32_t name,
                                 unsigned flags, unsigned depth, unsigned nest)
{
    return (uint64_t)kind | (uint64_t)units << 8 | (uint64_t)(name & 0xffffu) << 16 |
           (uint64_t)(flags & 0xffffu) << 32 | (uint64_t)depth << 48 | (uint64_t)nest << 56;
}

static inline bool lane_can_begin(const struct lane *lane)
{
    return lane->depth < atomic_load_explicit(&lane->depth_limit, memory_order_relaxed);
}

static inline bool lane_can_end(const struct lane *lane)
{
    return lane->depth - 1u < LANE_DEPTH_MAX &&
           atomic_load_explicit(&lane->cursor, memory_order_relaxed) <
               atomic_load_explicit(&lane->limit, memory_order_relaxed);
}

static inline uint64_t lane_load_head(const struct ss_head *head)
{
    uint64_t word;
    __builtin_memcpy(&word, head, sizeof word);
    return word;
}

/* The head is stored last: a record is there as a whole or not at all, also after kill -9. */
static inline void lane_commit(unsigned char *at, uint64_t head)
{
    __atomic_store_n((uint64_t *)(void *)at, head, __ATOMIC_RELEASE);
}

static inline void lane_advance(struct lane *lane, unsigned char *at, unsigned units)
{
    atomic_store_explicit(&lane->cursor, at + (size_t)units * SS_UNIT, memory_order_relaxed);
}

static inline void lane_set_depth(struct lane *lane, uint32_t depth)
{
    lane->depth = depth;
    __atomic_store_n(&lane->block->depth, depth, __ATOMIC_RELEASE);
}

static inline uint64_t lane_open_head(struct lane *lane, uint32_t depth, uint32_t name,
                                      unsigned flags)
{
    unsigned nest = lane->nest[depth - 1];
    lane->nest[depth] =
        (uint8_t)(SS_NAME_NEST(name) | SS_NEST_OPEN | (nest & SS_NEST_CLOSED));
    return lane_head(SS_KIND_SPAN, 1, name, flags, depth - 1, nest);
}

/* Needs lane_can_begin(). The clock is read last, so that our own work is not in the span. */
static inline void lane_begin(struct lane *lane, uint32_t name, unsigned flags,
                              enum ss_clock clock)
{
    const uint32_t depth = lane->depth + 1;
    struct ss_open_span *open = &lane->block->open[depth];
    const uint64_t head = lane_open_head(lane, depth, name, flags);
    __builtin_memcpy(&open->head, &head, sizeof head);
    open->start_ticks = ticks_now(clock);
    lane_set_depth(lane, depth);
}

/* Writes the innermost open span as ended at `now`; needs room at the cursor. */
static inline void lane_write_span(struct lane *lane, uint64_t now, unsigned flags, int64_t arg)
{
    const struct ss_open_span *open = &lane->block->open[lane->depth];
    unsigned char *at = atomic_load_explicit(&lane->cursor, memory_order_relaxed);
    struct ss_rec_span *span = (struct ss_rec_span *)(void *)at;
    span->start_ticks = open->start_ticks;
    span->end_ticks = now;
    span->arg = arg;
    lane_commit(at, lane_load_head(&open->head) | (uint64_t)(flags & 0xffffu) << 32);
    lane_advance(lane, at, 1);
}

/* Needs lane_can_end(). */
static inline void lane_end(struct lane *lane, uint64_t now, unsigned flags, int64_t arg)
{
    lane_write_span(lane, now, flags, arg);
    lane_set_depth(lane, lane->depth - 1);
}

/* Replaces the innermost open span. It is off the stack meanwhile: a reader never sees half. */
static inline void lane_reopen(struct lane *lane, uint64_t now, uint32_t name, unsigned flags)
{
    const uint32_t depth = lane->depth;
    struct ss_open_span *open = &lane->block->open[depth];
    __atomic_store_n(&lane->block->depth, depth - 1, __ATOMIC_RELEASE);
    const uint64_t head = lane_open_head(lane, depth, name, flags);
    __builtin_memcpy(&open->head, &head, sizeof head);
    open->start_ticks = now;
    __atomic_store_n(&lane->block->depth, depth, __ATOMIC_RELEASE);
}

/* Slow path. Room for a record of so many units, in the next segment if need be; NULL if there is
 * none. `may_wait`: make a segment now instead of failing (control lane only). */
unsigned char *lane_room(struct lane *lane, unsigned units, bool may_wait);

/* Counts a record that found no room; `stage` < 0: not a span. */
void lane_lose(struct lane *lane, int stage, uint64_t now);

/* Prepares a lane for a new owner (`tid` 0: the control lane), and ends its use. */
void lane_attach(struct lane *lane, uint32_t tid, uint64_t now);
void lane_detach(struct lane *lane, uint64_t now);
void lane_poison(struct lane *lane);

/* Ends the innermost span without the limits of the fast path: too deep, unbalanced, full. */
void lane_end_slow(struct lane *lane, uint64_t now, unsigned flags, int64_t arg);
/* The same for lane_begin(): counts a span that is too deep. */
void lane_begin_slow(struct lane *lane, uint32_t name, unsigned flags, enum ss_clock clock);

/* Records of other kinds; they keep no time of their own but what is passed in. */
void lane_put_point(struct lane *lane, unsigned kind, uint32_t name, unsigned flags,
                    uint64_t now, uint64_t value, uint64_t subject);
bool lane_put_units(struct lane *lane, const void *record, unsigned units, bool may_wait);

/* Kinds with texts: all have their first 20 bytes, then two lengths, then the texts (NULL: none),
 * which are cut to what a record can hold. Units and lengths are filled in here. */
enum { LANE_TEXT_FIXED = 20 };
bool lane_put_text(struct lane *lane, const void *fixed, const char *a, const char *b,
                   bool may_wait);

#endif
