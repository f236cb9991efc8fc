/* The track of a thread in a Perfetto trace: its spans, nested, its marks, and beside it what does not
 * nest. A lane has one thread after the other, each with a track of its own. */
#ifndef EXPORT_PERFETTO_LANE_H
#define EXPORT_PERFETTO_LANE_H

#include "base/sink.h"
#include "export/name_slots.h"
#include "export/slice_order.h"

/* Spans that were appended, or are of other threads, may overlap: so many at once have tracks; what
 * comes on top of them has one for itself. */
enum { LANE_BESIDES = 8 };

struct perfetto_lane {
    struct sink *out;
    bool in_use;
    uint32_t owner; /* which thread of the lane */
    uint64_t track; /* of the thread */
    struct slice_order order;
    struct lane_beside {
        uint64_t track;
        ss_ns end_ns;
    } beside[LANE_BESIDES];
    int besides;
};

/* What a lane needs to know of the trace. */
struct perfetto_names {
    struct sink *out;
    struct ss_run *run;
    uint64_t *next_track;
    struct name_slots slots; /* names that the trace has been told of */
};

void perfetto_lane_release(struct perfetto_lane *lane);

/* A thread takes the lane: `pid` and `tid` as the trace has them, `tid` 0 if it is not known. */
void perfetto_lane_begin(struct perfetto_lane *lane, struct perfetto_names *names,
                         const struct ss_record *record, uint64_t parent, int32_t pid,
                         int32_t tid);

/* A SPAN, MARK, PERTURBED or LOST record of that thread. */
void perfetto_lane_add(struct perfetto_lane *lane, struct perfetto_names *names,
                       uint32_t process, const struct ss_record *record);

#endif
