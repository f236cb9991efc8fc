#include "lane.h"

#include "session.h"
#include <string.h>

enum { TEXT_OFFSET = LANE_TEXT_FIXED + 4, TEXT_MAX = SS_MAX_UNITS * SS_UNIT - TEXT_OFFSET };

static unsigned char *area_end(const struct lane *lane)
{
    return lane->segment ? lane->segment->base + SS_SEGMENT_BYTES
                         : (unsigned char *)(lane->block + 1);
}

void lane_poison(struct lane *lane)
{
    atomic_store(&lane->depth_limit, 0);
    atomic_store(&lane->limit, NULL);
}

/* Opens the lane for its owner, unless the session ended meanwhile: ss_stop() first says so and
 * then poisons, we first open and then look, so one of the two sees the other. */
static void arm(struct lane *lane)
{
    atomic_store(&lane->limit, area_end(lane));
    atomic_store(&lane->depth_limit, LANE_DEPTH_MAX);
    if (session_is_over(lane->session)) {
        lane_poison(lane);
    }
}

static bool next_segment(struct lane *lane, bool may_wait)
{
    struct store *store = session_store(lane->session);
    struct segment *segment = may_wait ? store_take(store) : store_pop(store);
    if (!segment) {
        __atomic_fetch_add(&store->header->pool_empty, 1, __ATOMIC_RELAXED);
        return false;
    }
    if (lane->segment) {
        atomic_store_explicit(&lane->segment->state, SEGMENT_SEALED, memory_order_release);
    }
    struct ss_segment_header *header = (struct ss_segment_header *)(void *)segment->base;
    header->magic = SS_SEGMENT_MAGIC;
    header->kind = SS_SEGMENT_RECORDS;
    header->lane = lane->number;
    header->seq = ++lane->seq;
    header->first_ticks = session_now(lane->session);
    __atomic_store_n(&header->lease, segment->lease, __ATOMIC_RELEASE);
    lane->segment = segment;
    atomic_store(&lane->cursor, segment->base + SS_SEGMENT_HEADER_BYTES);
    arm(lane);
    return true;
}

static bool has_room(struct lane *lane, unsigned units)
{
    unsigned char *limit = atomic_load_explicit(&lane->limit, memory_order_relaxed);
    unsigned char *at = atomic_load_explicit(&lane->cursor, memory_order_relaxed);
    return limit && (size_t)(limit - at) >= (size_t)units * SS_UNIT;
}

static void write_lost(struct lane *lane)
{
    unsigned char *at = atomic_load_explicit(&lane->cursor, memory_order_relaxed);
    struct ss_rec_span *lost = (struct ss_rec_span *)(void *)at;
    lost->start_ticks = lane->lost_from;
    lost->end_ticks = lane->lost_to;
    lost->arg = (int64_t)lane->lost_count;
    lane_commit(at, lane_head(SS_KIND_LOST, 1, 0, 0, 0, 0));
    lane_advance(lane, at, 1);
    lane->lost_count = 0;
}

unsigned char *lane_room(struct lane *lane, unsigned units, bool may_wait)
{
    if (!atomic_load_explicit(&lane->limit, memory_order_relaxed)) {
        return NULL; /* poisoned: nothing may be written any more */
    }
    if (!has_room(lane, units + (lane->lost_count > 0)) && !next_segment(lane, may_wait)) {
        return NULL;
    }
    if (lane->lost_count > 0 && has_room(lane, 1)) {
        write_lost(lane);
    }
    return has_room(lane, units) ? atomic_load(&lane->cursor) : NULL;
}

void lane_lose(struct lane *lane, int stage, uint64_t now)
{
    lane->block->lost_records++;
    if (stage >= 0) {
        lane->block->lost_by_stage[stage]++;
    }
    if (lane->lost_count++ == 0) {
        lane->lost_from = now;
    }
    lane->lost_to = now;
}

void lane_begin_slow(struct lane *lane, uint32_t name, unsigned flags, enum ss_clock clock)
{
    if (lane->depth < LANE_DEPTH_MAX) {
        lane_begin(lane, name, flags, clock);
    } else {
        lane->depth++;
        lane->block->too_deep++;
    }
}

void lane_end_slow(struct lane *lane, uint64_t now, unsigned flags, int64_t arg)
{
    if (lane->depth == 0) {
        lane->block->unbalanced++;
    } else if (lane->depth > LANE_DEPTH_MAX) {
        lane->depth--;
    } else if (lane_room(lane, 1, false)) {
        lane_end(lane, now, flags, arg);
    } else {
        lane_lose(lane, lane->nest[lane->depth] & SS_NEST_STAGE, now);
        lane_set_depth(lane, lane->depth - 1);
    }
}

void lane_put_point(struct lane *lane, unsigned kind, uint32_t name, unsigned flags,
                    uint64_t now, uint64_t value, uint64_t subject)
{
    struct ss_rec_point point = {.ticks = now, .value = value, .subject = subject};
    point.head.kind = (uint8_t)kind;
    point.head.name = SS_NAME_ID(name);
    point.head.flags = (uint16_t)flags;
    if (!lane_put_units(lane, &point, 1, false)) {
        lane_lose(lane, -1, now);
    }
}

/* Where a record stands among the open spans. Those too deep to be recorded do not count. */
static void fill_place(const struct lane *lane, struct ss_head *head, unsigned units)
{
    uint32_t depth = lane->depth > LANE_DEPTH_MAX ? LANE_DEPTH_MAX : lane->depth;
    head->units = (uint8_t)units;
    head->depth = (uint8_t)depth;
    head->nest = lane->nest[depth];
}

bool lane_put_units(struct lane *lane, const void *record, unsigned units, bool may_wait)
{
    unsigned char *at = lane_room(lane, units, may_wait);
    if (!at) {
        return false;
    }
    struct ss_head head;
    memcpy(&head, record, sizeof head);
    fill_place(lane, &head, units);
    memcpy(at + sizeof head, (const char *)record + sizeof head,
           (size_t)units * SS_UNIT - sizeof head);
    lane_commit(at, lane_load_head(&head));
    lane_advance(lane, at, units);
    return true;
}

static size_t cut(const char *text, size_t max)
{
    size_t n = text ? strnlen(text, max + 1) : 0;
    if (n <= max) {
        return n;
    }
    for (n = max; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;) {
        n--; /* not inside a UTF-8 character */
    }
    return n;
}

bool lane_put_text(struct lane *lane, const void *fixed, const char *a, const char *b,
                   bool may_wait)
{
    uint16_t bytes[2];
    bytes[0] = (uint16_t)cut(a, b ? TEXT_MAX / 2 : TEXT_MAX);
    bytes[1] = (uint16_t)cut(b, (size_t)TEXT_MAX - bytes[0]);
    size_t size = TEXT_OFFSET + (size_t)bytes[0] + bytes[1];
    unsigned units = (unsigned)((size + SS_UNIT - 1) / SS_UNIT);
    unsigned char *at = lane_room(lane, units, may_wait);
    if (!at) {
        return false;
    }
    struct ss_head head;
    memcpy(&head, fixed, sizeof head);
    fill_place(lane, &head, units);
    memcpy(at + sizeof head, (const char *)fixed + sizeof head, LANE_TEXT_FIXED - sizeof head);
    memcpy(at + LANE_TEXT_FIXED, bytes, sizeof bytes);
    if (bytes[0]) {
        memcpy(at + TEXT_OFFSET, a, bytes[0]);
    }
    if (bytes[1]) {
        memcpy(at + TEXT_OFFSET + bytes[0], b, bytes[1]);
    }
    lane_commit(at, lane_load_head(&head));
    lane_advance(lane, at, units);
    return true;
}

void lane_attach(struct lane *lane, uint32_t tid, uint64_t now)
{
    if (!atomic_load(&lane->cursor)) {
        atomic_store(&lane->cursor, lane->block->records);
    }
    lane->tid = tid;
    lane->nest[0] = 0;
    lane_set_depth(lane, 0);
    arm(lane);
    if (tid) {
        lane->block->owners++;
        __atomic_store_n(&lane->block->tid, tid, __ATOMIC_RELEASE);
        char name[32];
        session_thread_name(name);
        struct ss_rec_text begin = {.ticks = now, .id = tid};
        begin.head.kind = SS_KIND_THREAD_BEGIN;
        if (!lane_put_text(lane, &begin, name, NULL, false)) {
            lane_lose(lane, -1, now);
        }
    }
}

void lane_detach(struct lane *lane, uint64_t now)
{
    if (lane->depth > LANE_DEPTH_MAX) {
        lane->depth = LANE_DEPTH_MAX;
    }
    while (lane->depth > 0) {
        lane_end_slow(lane, now, SS_FLAG_UNFINISHED, 0);
    }
    lane_put_point(lane, SS_KIND_THREAD_END, 0, 0, now, 0, 0);
    lane_poison(lane);
    lane->tid = 0;
    __atomic_store_n(&lane->block->tid, 0, __ATOMIC_RELEASE);
}
