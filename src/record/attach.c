#include "attach.h"

#include "session.h"
#include "system.h"

static unsigned char *next_directory(struct session *session, uint32_t first_lane)
{
    struct segment *segment = store_take(&session->store);
    if (!segment) {
        return NULL;
    }
    struct ss_segment_header *header = (struct ss_segment_header *)(void *)segment->base;
    header->magic = SS_SEGMENT_MAGIC;
    header->kind = SS_SEGMENT_DIRECTORY;
    header->lane = first_lane;
    header->first_ticks = session_now(session);
    __atomic_store_n(&header->lease, segment->lease, __ATOMIC_RELEASE);
    return segment->base;
}

struct lane *attach_new_lane(struct session *session)
{
    uint32_t number = atomic_load(&session->lanes);
    if (number >= LANES_PER_CHUNK * LANE_CHUNKS) {
        return NULL;
    }
    struct lane **chunk = &session->chunks[number / LANES_PER_CHUNK];
    if (!*chunk && !(*chunk = system_map_wiped(LANES_PER_CHUNK * sizeof **chunk))) {
        return NULL;
    }
    if (number % SS_BLOCKS_PER_SEGMENT == 0) {
        unsigned char *directory = number ? next_directory(session, number)
                                          : (unsigned char *)session->store.header;
        if (!directory) {
            return NULL;
        }
        session->directory = directory;
    }
    size_t place = 1 + number % SS_BLOCKS_PER_SEGMENT;
    struct lane *lane = session_lane_at(session, number);
    lane->session = session;
    lane->number = number;
    lane->block =
        (struct ss_lane_block *)(void *)(session->directory + place * SS_BLOCK_BYTES);
    lane->block->lane = number;
    __atomic_store_n(&lane->block->magic, SS_LANE_MAGIC, __ATOMIC_RELEASE);
    atomic_store(&session->lanes, number + 1);
    return lane;
}

struct lane *attach_take(struct session *session)
{
    struct lane *lane = session->free_lanes;
    if (lane) {
        session->free_lanes = lane->next_free;
    } else {
        lane = attach_new_lane(session);
    }
    if (!lane) {
        session->store.header->lost_threads++;
        return NULL;
    }
    session->users++;
    lane_attach(lane, system_tid(), session_now(session));
    return lane;
}

void attach_drop_user(struct session *session)
{
    if (--session->users > 0) {
        return;
    }
    store_release(&session->store);
    for (int i = 0; i < LANE_CHUNKS && session->chunks[i]; i++) {
        system_unmap(session->chunks[i], LANES_PER_CHUNK * sizeof(struct lane));
    }
    system_unmap((void *)session->alive, sizeof *session->alive);
    system_unmap(session, sizeof *session);
}

void attach_give_back(struct lane *lane)
{
    struct session *session = lane->session;
    if (!session_is_over(session)) {
        lane_detach(lane, session_now(session));
        lane->next_free = session->free_lanes;
        session->free_lanes = lane;
    }
    attach_drop_user(session);
}

void attach_reclaim_dead(struct session *session)
{
    uint32_t lanes = atomic_load(&session->lanes);
    for (uint32_t i = 1; i < lanes; i++) {
        struct lane *lane = session_lane_at(session, i);
        if (lane->tid && !system_thread_exists(lane->tid)) {
            attach_give_back(lane);
        }
    }
}
