#include "read/timeline.h"

#include <stdlib.h>

#include "read/array.h"

typedef unsigned __int128 wide;

enum { SLOPE_BITS = 40 };
static const uint64_t slope_one = (uint64_t)1 << SLOPE_BITS;
static const int64_t ns_per_s = 1000000000;
static const ss_ns suspect_jump_ns = 1000000;
static const double suspect_drift_ppm = 50;
/* A reading is some 20 ns off: 0.4 ppm of this. Over shorter lines the rate says
 * little. */
static const ss_ns shortest_rate_ns = 100000000;

static int add_point(struct timeline *timeline, struct timeline_point point)
{
    struct timeline_point *points =
        array_grow(timeline->points, &timeline->capacity, sizeof *points, timeline->count + 1);

    if (!points)
        return SS_E_NOMEM;
    timeline->points = points;
    points[timeline->count++] = point;
    return 0;
}

int timeline_init(struct timeline *timeline, const struct ss_file_header *header)
{
    const struct timeline_point start = {header->start_ticks, header->start_raw_ns};

    *timeline = (struct timeline){.nanoseconds = header->clock == SS_CLOCK_RAW,
                                  .ticks_per_s = header->ticks_per_s,
                                  .last_long = start};
    return add_point(timeline, start);
}

void timeline_release(struct timeline *timeline)
{
    free(timeline->points);
    *timeline = (struct timeline){0};
}

static wide slope_between(const struct timeline_point *a, const struct timeline_point *b)
{
    const uint64_t ns = (uint64_t)b->raw_ns - (uint64_t)a->raw_ns;

    return ((wide)ns << SLOPE_BITS) / (b->ticks - a->ticks);
}

/* Of the line from point `index` on; the last point goes on with the line that leads
 * to it. */
static wide slope_from(const struct timeline *timeline, size_t index)
{
    const struct timeline_point *const points = timeline->points;

    if (timeline->count > 1 && index + 1 == timeline->count)
        index--;
    if (timeline->count > 1)
        return slope_between(&points[index], &points[index + 1]);
    if (timeline->ticks_per_s > 0)
        return ((wide)ns_per_s << SLOPE_BITS) / timeline->ticks_per_s;
    return slope_one;
}

static ss_ns ns_after(ss_ns raw_ns, uint64_t distance, wide slope)
{
    const uint64_t room = (uint64_t)INT64_MAX - (uint64_t)raw_ns;
    wide product;

    if (__builtin_mul_overflow((wide)distance, slope, &product) || product >> SLOPE_BITS > room)
        return INT64_MAX;
    return (ss_ns)((uint64_t)raw_ns + (uint64_t)(product >> SLOPE_BITS));
}

static ss_ns ns_before(ss_ns raw_ns, uint64_t distance, wide slope)
{
    const uint64_t room = (uint64_t)raw_ns - (uint64_t)INT64_MIN;
    wide product;

    if (__builtin_mul_overflow((wide)distance, slope, &product) || product >> SLOPE_BITS > room)
        return INT64_MIN;
    return (ss_ns)((uint64_t)raw_ns - (uint64_t)(product >> SLOPE_BITS));
}

/* How many points are not after `ticks`. */
static size_t points_until(const struct timeline *timeline, uint64_t ticks)
{
    size_t low = 0, high = timeline->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (timeline->points[middle].ticks <= ticks)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Ticks after the last point for which the result stays within ss_ns. Not beyond the
 * largest number of ticks: else earlier ones, whose distance wraps round, would seem
 * to be later. */
static uint64_t span_of_last(const struct timeline_point *point, uint64_t slope)
{
    const uint64_t room = (uint64_t)INT64_MAX - (uint64_t)point->raw_ns;
    const uint64_t most = UINT64_MAX - point->ticks;
    const wide span = slope ? ((wide)room << SLOPE_BITS) / slope : most;

    return span < most ? (uint64_t)span : most;
}

static ss_ns find_nanoseconds(uint64_t ticks, struct timeline_line *line)
{
    *line = (struct timeline_line){.span = INT64_MAX, .slope = slope_one};
    return ticks < INT64_MAX ? (ss_ns)ticks : INT64_MAX;
}

ss_ns timeline_find(const struct timeline *timeline, uint64_t ticks, struct timeline_line *line)
{
    if (timeline->nanoseconds)
        return find_nanoseconds(ticks, line);

    const size_t until = points_until(timeline, ticks);
    const struct timeline_point *const point = &timeline->points[until ? until - 1 : 0];
    const wide slope = slope_from(timeline, until ? until - 1 : 0);

    *line = (struct timeline_line){0};
    if (until == 0)
        return ns_before(point->raw_ns, point->ticks - ticks, slope);
    if (slope <= UINT64_MAX) {
        line->from = point->ticks;
        line->raw_ns = point->raw_ns;
        line->slope = (uint64_t)slope;
        line->span = until < timeline->count ? point[1].ticks - point->ticks
                                             : span_of_last(point, line->slope);
    }
    return ns_after(point->raw_ns, ticks - point->ticks, slope);
}

static bool is_after_last(const struct timeline *timeline, uint64_t ticks, ss_ns raw_ns)
{
    const struct timeline_point *const last = &timeline->points[timeline->count - 1];

    return ticks > last->ticks && raw_ns > last->raw_ns;
}

static void drop_beat(struct timeline *timeline)
{
    if (timeline->beat)
        timeline->count--;
    timeline->beat = false;
}

static uint64_t magnitude(ss_ns ns)
{
    return ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
}

static void watch_jump(struct timeline *timeline, uint64_t ticks, ss_ns raw_ns)
{
    struct timeline_line line;
    ss_ns jump;

    if (__builtin_sub_overflow(raw_ns, timeline_find(timeline, ticks, &line), &jump))
        jump = INT64_MAX;
    if (magnitude(jump) > magnitude(timeline->jump_ns))
        timeline->jump_ns = jump;
}

static void watch_rate(struct timeline *timeline, uint64_t ticks, ss_ns raw_ns)
{
    const double ns = (double)raw_ns - (double)timeline->last_long.raw_ns;
    const double rate = ns / ((double)ticks - (double)timeline->last_long.ticks);

    if (!(ns >= (double)shortest_rate_ns))
        return;
    if (timeline->last_rate > 0) {
        const double change = (rate / timeline->last_rate - 1) * 1e6;
        const double ppm = change < 0 ? -change : change;
        if (ppm > timeline->drift_ppm)
            timeline->drift_ppm = ppm;
    }
    timeline->last_rate = rate;
    timeline->last_long = (struct timeline_point){ticks, raw_ns};
}

int timeline_add_calibration(struct timeline *timeline, uint64_t ticks, ss_ns raw_ns)
{
    drop_beat(timeline);
    watch_jump(timeline, ticks, raw_ns);
    if (!is_after_last(timeline, ticks, raw_ns))
        return 0;
    watch_rate(timeline, ticks, raw_ns);
    return add_point(timeline, (struct timeline_point){ticks, raw_ns});
}

int timeline_set_beat(struct timeline *timeline, uint64_t ticks, ss_ns raw_ns)
{
    drop_beat(timeline);
    if (!is_after_last(timeline, ticks, raw_ns))
        return 0;
    const int code = add_point(timeline, (struct timeline_point){ticks, raw_ns});
    timeline->beat = code == 0;
    return code;
}

double timeline_ticks_per_s(const struct timeline *timeline)
{
    const struct timeline_point *const first = &timeline->points[0];
    const struct timeline_point *const last = &timeline->points[timeline->count - 1];

    if (timeline->nanoseconds)
        return (double)ns_per_s;
    if (timeline->count < 2)
        return (double)timeline->ticks_per_s;
    return (double)(last->ticks - first->ticks) * (double)ns_per_s /
           (double)((uint64_t)last->raw_ns - (uint64_t)first->raw_ns);
}

bool timeline_is_suspect(const struct timeline *timeline)
{
    return magnitude(timeline->jump_ns) > (uint64_t)suspect_jump_ns ||
           timeline->drift_ppm > suspect_drift_ppm;
}
