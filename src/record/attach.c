#include "attach.h"

#include <sys/prctl.h>

#include "session.h"
#include "system.h"

static unsigned char *next_directory(struct session *session, uint32_t first_lane)
{
    struct segment *segment = store_take(&session->store);
    if (!segment)
        return NULL;
    struct ss_segment_header *header = (struct ss_segment_header *)(void *)segment->base;
    header->magic = SS_SEGMENT_MAGIC;
    header->kind = SS_SEGMENT_DIRECTORY;
    header->lane = first_lane;
    header->first_ticks = ticks_now(session->clock);
    __atomic_store_n(&header->lease, segment->lease, __ATOMIC_RELEASE);
    return segment->base;
}

struct lane *attach_new_lane(struct session *session)
{
    uint32_t number = atomic_load(&session->lanes);
    if (number >= LANES_PER_CHUNK * LANE_CHUNKS)
        return NULL;
    struct lane **chunk = &session->chunks[number / LANES_PER_CHUNK];
    if (!*chunk && !(*chunk = system_map_private(LANES_PER_CHUNK * sizeof **chunk)))
        return NULL;
    if (number % SS_BLOCKS_PER_SEGMENT == 0) {
        unsigned char *directory =
            number ? next_directory(session, number) : (unsigned char *)session->store.header;
        if (!directory)
            return NULL;
        session->directory = directory;
    }
    size_t place = 1 + number % SS_BLOCKS_PER_SEGMENT;
    struct lane *lane = session_lane_at(session, number);
    lane->session = session;
    lane->number = number;
    lane->block = (struct ss_lane_block *)(void *)(session->directory + place * SS_BLOCK_BYTES);
    lane->block->lane = number;
    __atomic_store_n(&lane->block->magic, SS_LANE_MAGIC, __ATOMIC_RELEASE);
    atomic_store(&session->lanes, number + 1);
    return lane;
}

static void put_thread_begin(struct pen *pen, uint32_t tid, uint64_t now)
{
    char name[32] = "";
    prctl(PR_GET_NAME, name);
    struct ss_rec_text begin = {.head = {.kind = SS_KIND_THREAD_BEGIN}, .ticks = now, .id = tid};
    if (!pen_put_text(pen, &begin, name, NULL))
        pen_lose(pen, -1, now);
}

bool attach_pen(struct session *session, struct pen *pen)
{
    struct lane *lane = session->free_lanes;
    if (lane)
        session->free_lanes = lane->next_free;
    else
        lane = attach_new_lane(session);
    if (!lane) {
        session->store.header->lost_threads++;
        return false;
    }
    session->users++;
    lane->tid = system_tid();
    lane->block->owners++;
    __atomic_store_n(&lane->block->tid, lane->tid, __ATOMIC_RELEASE);
    pen_take_up(pen, lane);
    put_thread_begin(pen, lane->tid, ticks_now(session->clock));
    return true;
}

void attach_drop_user(struct session *session)
{
    if (--session->users > 0)
        return;
    store_release(&session->store);
    for (int i = 0; i < LANE_CHUNKS && session->chunks[i]; i++)
        system_unmap(session->chunks[i], LANES_PER_CHUNK * sizeof(struct lane));
    system_unmap(session, sizeof *session);
}

void attach_detach(struct pen *pen)
{
    struct lane *lane = pen->lane;
    struct session *session = lane->session;
    uint64_t now = ticks_now(session->clock);
    pen->too_deep = 0;
    while (pen->top > &pen->block->open[1])
        pen_end_slow(pen, now, SS_FLAG_UNFINISHED, 0);
    struct ss_rec_point end = {.head = {.kind = SS_KIND_THREAD_END}, .ticks = now};
    if (!pen_put(pen, &end, 1))
        pen_lose(pen, -1, now);
    lane->tid = 0;
    __atomic_store_n(&lane->block->tid, 0, __ATOMIC_RELEASE);
    lane->next_free = session->free_lanes;
    session->free_lanes = lane;
    attach_drop_user(session);
}

void attach_reclaim_dead(struct session *session)
{
    uint32_t lanes = atomic_load(&session->lanes);
    for (uint32_t i = 1; i < lanes; i++) {
        struct lane *lane = session_lane_at(session, i);
        if (lane->tid && !system_thread_exists(lane->tid)) {
            struct pen pen;
            pen_take_up(&pen, lane);
            attach_detach(&pen);
        }
    }
}
