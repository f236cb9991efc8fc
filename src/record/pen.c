#include "pen.h"

#include <string.h>

#include "base/text.h"
#include "session.h"

enum { PAGE_BYTES = 4096 };
enum { TEXT_OFFSET = PEN_TEXT_FIXED + 4, TEXT_MAX = SS_MAX_UNITS * SS_UNIT - TEXT_OFFSET };

/* Lets the fast path go on to the end of the cursor's page, and tells the helper which one it
 * is. */
static void open_page(struct pen *pen)
{
    unsigned char *end = atomic_load_explicit(&pen->lane->limit, memory_order_relaxed);
    unsigned char *page_end = (unsigned char *)(((uintptr_t)pen->cursor | (PAGE_BYTES - 1)) + 1);
    pen->limit = page_end < end ? page_end : end;
    atomic_store_explicit(&pen->lane->cursor, pen->cursor, memory_order_relaxed);
}

static void write_in(struct pen *pen, unsigned char *cursor, unsigned char *end)
{
    pen->cursor = cursor;
    atomic_store_explicit(&pen->lane->limit, end, memory_order_relaxed);
    open_page(pen);
}

/* The stack as the file shows it; of a thread that died, there may be spans on it. */
static void take_up_stack(struct pen *pen)
{
    struct ss_lane_block *block = pen->block;
    pen->top = &block->open[block->depth + 1];
    pen->place = HEAD_SPAN;
    for (uint32_t i = 1; i <= block->depth; i++) {
        uint32_t nest = names_nest(names_stage(block->open[i].head.name));
        pen->place = pen_place_inside(pen->place, nest << 16);
    }
}

static unsigned char *end_of_records(unsigned char *at, const unsigned char *end)
{
    while (at < end) {
        const struct ss_head *head = (const struct ss_head *)(const void *)at;
        if (head->kind == 0)
            break;
        at += (size_t)head->units * SS_UNIT;
    }
    return at;
}

void pen_take_up(struct pen *pen, struct lane *lane)
{
    pen->lane = lane;
    pen->block = lane->block;
    pen->too_deep = 0;
    take_up_stack(pen);
    unsigned char *end =
        lane->segment ? lane->segment->base + SS_SEGMENT_BYTES : (unsigned char *)(lane->block + 1);
    unsigned char *cursor = atomic_load_explicit(&lane->cursor, memory_order_relaxed);
    write_in(pen, end_of_records(cursor ? cursor : lane->block->records, end), end);
}

static bool next_segment(struct pen *pen)
{
    struct lane *lane = pen->lane;
    struct store *store = &lane->session->store;
    /* The control lane is not on the path of an event: it may wait for space. */
    struct segment *segment =
        lane->number == SS_CONTROL_LANE ? store_take(store) : store_pop(store);
    if (!segment) {
        __atomic_fetch_add(&store->header->pool_empty, 1, __ATOMIC_RELAXED);
        return false;
    }
    struct segment *full = lane->segment;
    struct ss_segment_header *header = (struct ss_segment_header *)(void *)segment->base;
    segment->keep = lane->number == SS_CONTROL_LANE;
    header->magic = SS_SEGMENT_MAGIC;
    header->kind = SS_SEGMENT_RECORDS;
    header->lane = lane->number;
    header->seq = ++lane->seq;
    header->first_ticks = ticks_now(lane->session->clock);
    __atomic_store_n(&header->lease, segment->lease, __ATOMIC_RELEASE);
    lane->segment = segment;
    write_in(pen, segment->base + SS_SEGMENT_HEADER_BYTES, segment->base + SS_SEGMENT_BYTES);
    if (full) /* from here on the helper may unmap it: the cursor must have left it before */
        atomic_store_explicit(&full->state, SEGMENT_SEALED, memory_order_release);
    return true;
}

static bool has_room(const struct pen *pen, unsigned units)
{
    unsigned char *end = atomic_load_explicit(&pen->lane->limit, memory_order_relaxed);
    return (size_t)(end - pen->cursor) >= (size_t)units * SS_UNIT;
}

/* Records that were dropped before this place, and when. */
static void write_lost(struct pen *pen)
{
    struct lane *lane = pen->lane;
    struct ss_rec_span *lost = (struct ss_rec_span *)(void *)pen->cursor;
    lost->start_ticks = lane->lost_from;
    lost->end_ticks = lane->lost_to;
    lost->arg = (int64_t)lane->lost_count;
    pen_commit(pen, HEAD_SPAN - SS_KIND_SPAN + SS_KIND_LOST, 1);
    lane->lost_count = 0;
}

static bool make_room(struct pen *pen, unsigned units)
{
    unsigned lost_units = pen->lane->lost_count > 0;
    if (!has_room(pen, units + lost_units) && !next_segment(pen))
        return false;
    if (lost_units)
        write_lost(pen);
    open_page(pen);
    return true;
}

void pen_lose(struct pen *pen, int stage, uint64_t now)
{
    struct lane *lane = pen->lane;
    lane->block->lost_records++;
    if (stage >= 0)
        lane->block->lost_by_stage[stage]++;
    if (lane->lost_count++ == 0)
        lane->lost_from = now;
    lane->lost_to = now;
}

void pen_begin_slow(struct pen *pen, uint32_t name, unsigned flags, enum ss_clock clock)
{
    if (pen_can_begin(pen)) {
        pen_begin(pen, name, flags, clock);
    } else {
        pen->too_deep++;
        pen->block->too_deep++;
    }
}

/* For a span that ended and found no room. */
static void drop_innermost(struct pen *pen, uint64_t now)
{
    pen_lose(pen, (int)(pen->place >> HEAD_NEST_SHIFT & SS_NEST_STAGE), now);
    pen_pop(pen, pen_load_head(&pen->top[-1].head));
}

void pen_end_slow(struct pen *pen, uint64_t now, unsigned flags, int64_t arg)
{
    if (pen->too_deep > 0)
        pen->too_deep--;
    else if (pen->top == &pen->block->open[1])
        pen->block->unbalanced++;
    else if (make_room(pen, 1))
        pen_end(pen, now, flags, arg);
    else
        drop_innermost(pen, now);
}

void pen_switch_slow(struct pen *pen, uint32_t name, unsigned flags, enum ss_clock clock)
{
    if (pen->too_deep > 0 || pen->top == &pen->block->open[1]) {
        pen_end_slow(pen, 0, 0, 0);
        pen_begin_slow(pen, name, flags, clock);
    } else if (make_room(pen, 1)) {
        pen_switch(pen, name, flags, clock);
    } else {
        drop_innermost(pen, ticks_now(clock));
        pen_begin_slow(pen, name, flags, clock);
    }
}

/* The head of a record that is not on the stack: it stands inside the spans that are open. */
static uint64_t head_here(const struct pen *pen, const void *record, unsigned units)
{
    struct ss_head head;
    memcpy(&head, record, sizeof head);
    head.units = (uint8_t)units;
    head.depth = (uint8_t)pen_depth_of(pen->place);
    head.nest = (uint8_t)(pen->place >> HEAD_NEST_SHIFT);
    return pen_load_head(&head);
}

bool pen_put(struct pen *pen, const void *record, unsigned units)
{
    if (!make_room(pen, units))
        return false;
    memcpy(pen->cursor + sizeof(struct ss_head), (const char *)record + sizeof(struct ss_head),
           (size_t)units * SS_UNIT - sizeof(struct ss_head));
    pen_commit(pen, head_here(pen, record, units), units);
    return true;
}

static size_t cut(const char *text, size_t max)
{
    return text ? utf8_cut(text, max) : 0;
}

bool pen_put_text(struct pen *pen, const void *fixed, const char *a, const char *b)
{
    uint16_t bytes[2];
    bytes[0] = (uint16_t)cut(a, b ? TEXT_MAX / 2 : TEXT_MAX);
    bytes[1] = (uint16_t)cut(b, (size_t)TEXT_MAX - bytes[0]);
    size_t size = TEXT_OFFSET + (size_t)bytes[0] + bytes[1];
    unsigned units = (unsigned)((size + SS_UNIT - 1) / SS_UNIT);
    if (!make_room(pen, units))
        return false;
    unsigned char *at = pen->cursor;
    memcpy(at + sizeof(struct ss_head), (const char *)fixed + sizeof(struct ss_head),
           PEN_TEXT_FIXED - sizeof(struct ss_head));
    memcpy(at + PEN_TEXT_FIXED, bytes, sizeof bytes);
    if (bytes[0])
        memcpy(at + TEXT_OFFSET, a, bytes[0]);
    if (bytes[1])
        memcpy(at + TEXT_OFFSET + bytes[0], b, bytes[1]);
    pen_commit(pen, head_here(pen, fixed, units), units);
    return true;
}
