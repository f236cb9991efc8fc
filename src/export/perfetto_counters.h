/* The counters of a run as tracks of a Perfetto trace: what the program recorded, and what the
 * supervisor saw of the machine. What is counted up becomes what was gained a second, from one
 * sample to the next. */
#ifndef EXPORT_PERFETTO_COUNTERS_H
#define EXPORT_PERFETTO_COUNTERS_H

#include "base/sink.h"
#include "stepscope/reader.h"

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
int counter_tracks_init(struct counter_tracks *tracks, struct sink *out,
                        struct ss_run *run, uint64_t *next_track);
void counter_tracks_release(struct counter_tracks *tracks);

/* Takes a COUNTER or SYSTEM record; `parent` is the track of its process. */
void counter_tracks_add(struct counter_tracks *tracks, uint32_t process, uint64_t parent,
                        const struct ss_record *record);

#endif
