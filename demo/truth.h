/* What the demo's own clock says about the training, for tests of what Stepscope says about it. */
#ifndef DEMO_TRUTH_H
#define DEMO_TRUTH_H

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "stepscope/recorder.h"

/* A part of the training: recorded by Stepscope, and timed once more by the demo's own clock, so
 * that a test can compare the two. In a trainer of your own ss_begin() and ss_end() are
 * enough. */

struct part {
    const char *text;
    const char *object; /* to whom it belongs; may be NULL */
    enum ss_stage stage;
    enum ss_role role;
    enum ss_scope scope;
    unsigned flags;

    ss_name name;
    int64_t begin_ns, total_ns, count;
    int64_t unsure_ns; /* passed between our clock reads and Stepscope's: it may count that, too */
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

enum { TRUTH_PARTS = 32 };

struct truth_step {
    int64_t start_ns, wall_ns; /* wall: without what is cut out of a step */
    int64_t data_ns, forward_ns, backward_ns, optimizer_ns, callback_ns;
    int64_t unsure_ns; /* how much a recorder may differ, all its stages together */
};

struct truth {
    bool wanted;
    int64_t stage_ns[SS_STAGE_COUNT]; /* spent by the loop so far */
    int64_t unsure_ns;
    int64_t loop_begin_ns, loop_end_ns;
    int64_t waited_ns; /* of it: the thread was ready and had no core; -1: not known */
    struct part *parts[TRUTH_PARTS];
    int part_count;

    struct truth_step *steps; /* only if wanted */
    int64_t count, capacity;
    bool open; /* a step is */
    int64_t at_start_ns[SS_STAGE_COUNT], unsure_at_start_ns;
    bool out_of_memory;
};

/* Interns the name of the part, and lists it. The part must outlive the truth. */
void truth_watch(struct truth *truth, struct part *part);

/* Of the thread that calls them. */
void truth_loop_begin(struct truth *truth);
void truth_loop_end(struct truth *truth);

/* A step begins here, and one that is open ends; since `before_ns` it was recorded as well. */
void truth_step_begin(struct truth *truth, int64_t before_ns);
void truth_step_end(struct truth *truth);

/* The inside a JSON object: loop, steps, segments, parts. */
void truth_write(const struct truth *truth, FILE *file);
void truth_release(struct truth *truth);

#endif
