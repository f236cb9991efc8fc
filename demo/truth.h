/* What the demo's own clock says about the training, for tests of what Stepscope says about it. */
#ifndef DEMO_TRUTH_H
#define DEMO_TRUTH_H

#include "part.h"
#include <stdbool.h>
#include <stdio.h>

enum { TRUTH_PARTS = 32 };

struct truth_step {
    int64_t start_ns, wall_ns; /* wall: without what is cut out of a step */
    int64_t data_ns, forward_ns, backward_ns, optimizer_ns, callback_ns;
    int64_t unsure_ns; /* by so much a recorder may differ, all its stages together */
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

/* The inside of a JSON object: loop, steps, segments, parts. */
void truth_write(const struct truth *truth, FILE *file);
void truth_release(struct truth *truth);

#endif
