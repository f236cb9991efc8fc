/* What perfetto.c writes of a trace through others: the tracks of threads (perfetto_lane.c) and of
 * counters (perfetto_counters.c). */
#ifndef EXPORT_PERFETTO_PARTS_H
#define EXPORT_PERFETTO_PARTS_H

#include "base/sink.h"
#include "export/run_walk.h"
#include "export/slice_order.h"
#include "stepscope/reader.h"

/* The track of a thread in a Perfetto trace: its spans, nested, its marks, and beside it what does
 * not nest. A lane has one thread after the other, each with a track of its own. */

/* Spans that were appended, or are of other threads, may overlap: at most this many at once have
 * tracks; what comes on top of them has one for itself. */
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
                         const struct ss_record *record, uint64_t parent, int32_t pid, int32_t tid);

/* A SPAN, MARK, PERTURBED or LOST record of that thread. */
void perfetto_lane_add(struct perfetto_lane *lane, struct perfetto_names *names, uint32_t process,
                       const struct ss_record *record);

/* The counters of a run as tracks of a Perfetto trace: what the program recorded, and what the
 * supervisor saw of the machine. What is counted up becomes what was gained a second, from one
 * sample to the next. */

enum { COUNTER_TRACKS = 4096 }; /* those after them are left out */

struct counter_track {
    bool used;
    uint32_t process, name;
    uint64_t subject;
    uint64_t track;
    double per_second; /* of a total: what 1 more in a nanosecond is; 0: it is none */
    bool has_last;
    ss_ns last_ns;
    double last;
};

struct counter_tracks {
    struct sink *out;
    struct ss_run *run;
    uint64_t *next_track; /* number of the next track of the trace */
    size_t count;
    struct counter_track *table;
};

/* 0 or SS_E_NOMEM. */
int counter_tracks_init(struct counter_tracks *tracks, struct sink *out, struct ss_run *run,
                        uint64_t *next_track);
void counter_tracks_release(struct counter_tracks *tracks);

/* Takes a COUNTER or SYSTEM record; `parent` is the track of its process. */
void counter_tracks_add(struct counter_tracks *tracks, uint32_t process, uint64_t parent,
                        const struct ss_record *record);

#endif
