/* A lane, as all threads of the process see it: a block of the file, its segments, its owner. The
 * owner writes it with its pen (pen.h). */
#ifndef RECORD_LANE_H
#define RECORD_LANE_H

#include "store.h"

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

#endif
