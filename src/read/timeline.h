/* Turns ticks of a process into nanoseconds of CLOCK_MONOTONIC_RAW (format 6).
 *
 * The points are 16 bytes each; what a conversion needs of the line between two of
 * them is kept by the caller in a struct timeline_line, so that the common case is one
 * multiplication. A result beyond the range of ss_ns counts as the nearest end of that
 * range. */
#ifndef READ_TIMELINE_H
#define READ_TIMELINE_H

#include "stepscope/reader.h"

struct timeline_point {
    uint64_t ticks;
    ss_ns raw_ns;
};

struct timeline {
    struct timeline_point *points; /* ticks and nanoseconds both rise */
    size_t count, capacity;
    bool nanoseconds; /* the clock is CLOCK_MONOTONIC_RAW itself */
    bool beat;        /* the last point is the beat */
    uint64_t ticks_per_s;

    ss_ns jump_ns;    /* largest distance of a calibration from the line so far */
    double drift_ppm; /* largest change of rate, over lines of 0.1 s and more */
    double last_rate; /* of the last such line, ns a tick; 0: none yet */
    struct timeline_point last_long;
};

/* Valid for `span` ticks from `from` on; with a span of 0, for none. */
struct timeline_line {
    uint64_t from, span;
    uint64_t slope; /* nanoseconds a tick, times 2^40 */
    ss_ns raw_ns;   /* at `from` */
};

/* The first point; 0 or SS_E_NOMEM. */
int timeline_init(struct timeline *timeline, const struct ss_file_header *header);
void timeline_release(struct timeline *timeline);

/* Calibrations in their order; then the beat, which the next point replaces. 0 or
 * SS_E_NOMEM. */
int timeline_add_calibration(struct timeline *timeline, uint64_t ticks, ss_ns raw_ns);
int timeline_set_beat(struct timeline *timeline, uint64_t ticks, ss_ns raw_ns);

double timeline_ticks_per_s(const struct timeline *timeline);
/* A calibration 1 ms off the line, or a rate that changed by 50 ppm. */
bool timeline_is_suspect(const struct timeline *timeline);

/* The slow way; also finds the line for the next calls. */
ss_ns timeline_find(const struct timeline *timeline, uint64_t ticks, struct timeline_line *line);

static inline ss_ns timeline_ns(const struct timeline *timeline, uint64_t ticks,
                                struct timeline_line *line)
{
    const uint64_t distance = ticks - line->from;

    if (distance >= line->span)
        return timeline_find(timeline, ticks, line);
    const uint64_t ns = (uint64_t)(((unsigned __int128)distance * line->slope) >> 40);
    return (ss_ns)((uint64_t)line->raw_ns + ns);
}

#endif
