/* A part of the training: recorded by Stepscope, and timed once more by the demo's own clock, so
 * that a test can compare the two (truth.h). In a trainer of your own ss_begin() and ss_end() are
 * enough. */
#ifndef DEMO_PART_H
#define DEMO_PART_H

#include "stepscope/recorder.h"
#include <time.h>

struct part {
    const char *text;
    const char *object; /* to whom it belongs; may be NULL */
    enum ss_stage stage;
    enum ss_role role;
    enum ss_scope scope;
    unsigned flags;

    ss_name name;
    int64_t begin_ns, total_ns, count;
    int64_t
        unsure_ns; /* passed between our clock reads and Stepscope's: it may count that, too */
    int64_t *stage_ns, *stage_unsure_ns; /* the sums that it adds to; may be NULL */
};

/* CLOCK_MONOTONIC_RAW: no other clock may correct it. */
static inline int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void part_unsure(struct part *part, int64_t ns)
{
    part->unsure_ns += ns;
    if (part->stage_unsure_ns)
        *part->stage_unsure_ns += ns;
}

static inline void part_begin(struct part *part)
{
    int64_t before_ns = clock_ns();
    ss_begin(part->name, part->flags);
    part->begin_ns = clock_ns();
    part_unsure(part, part->begin_ns - before_ns);
}

static inline void part_end(struct part *part)
{
    int64_t end_ns = clock_ns();
    int64_t took = end_ns - part->begin_ns;
    ss_end(0, 0);
    part_unsure(part, clock_ns() - end_ns);
    part->total_ns += took;
    part->count++;
    if (part->stage_ns)
        *part->stage_ns += took;
}

#endif
