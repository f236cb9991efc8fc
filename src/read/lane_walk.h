/* Walks over the good records of one lane, in the order of the file (format 8.5).
 *
 * It sees a part of the file at a time, copied into the caller's buffer (for a run in
 * memory the whole segment, in place). At the end of a lane it stays where it is:
 * after the next refresh of its process it looks at that place again and goes on with
 * what has been written since. */
#ifndef READ_LANE_WALK_H
#define READ_LANE_WALK_H

#include "read/record_decode.h"

struct run_lane;

struct lane_walk {
    const uint8_t *at, *end; /* units in view that are still to come */
    struct tick_range range;
    const uint8_t *view;
    uint64_t view_offset; /* of `view` in the file */
    uint64_t next_offset; /* what comes into view next; counts when at == end */

    /* The segment, or the records of the lane block, that it is in. */
    uint64_t region_end;
    int64_t place; /* seq; 0: the block; -1: before it */
    uint64_t segment;
    uint64_t lease;
    uint32_t gaps;       /* that it went over: segments given up, records that make no sense */
    uint32_t generation; /* refresh of the file after which the view was taken */

    struct run_lane *lane;
    uint8_t *buffer; /* borrowed; unused if the run is in memory */
    size_t buffer_bytes;
};

/* Large enough for any record. */
enum { LANE_WALK_SCRATCH = SS_MAX_UNITS * SS_UNIT };

/* `buffer_bytes` is a multiple of SS_UNIT. */
void lane_walk_init(struct lane_walk *walk, struct run_lane *lane, uint8_t *buffer,
                    size_t buffer_bytes);

/* Leaves its buffer, so that the next call may come with another. */
void lane_walk_forget_view(struct lane_walk *walk);

const uint8_t *lane_walk_next_slow(struct lane_walk *walk);

/* The first unit of the next record, which is good; NULL: no more for now. */
static inline const uint8_t *lane_walk_next(struct lane_walk *walk)
{
    const uint8_t *const unit = walk->at;

    if (unit == walk->end || !record_is_plain_span(unit, &walk->range))
        return lane_walk_next_slow(walk);
    walk->at = unit + SS_UNIT;
    return unit;
}

/* Makes the record that lane_walk_next() gave last the next one again. */
void lane_walk_back(struct lane_walk *walk, const uint8_t *unit);

/* All units of the record that lane_walk_next() gave last, in view or copied to
 * `scratch`. NULL: it has been given away or cut off since. */
const uint8_t *lane_walk_whole(struct lane_walk *walk, const uint8_t *unit,
                               uint8_t scratch[LANE_WALK_SCRATCH]);

#endif
