/* What the trainings of a sweep have done so far, by the wall clock and by the quiet one, and what
 * follows from it. */
#ifndef EXPERIMENT_SWEEP_SUM_H
#define EXPERIMENT_SWEEP_SUM_H

#include "experiment/sweep.h"
#include "experiment/trial.h"

enum sweep_clock { SWEEP_WALL, SWEEP_QUIET, SWEEP_CLOCKS };
enum sweep_unit { SWEEP_STEPS, SWEEP_SAMPLES, SWEEP_UNITS };

struct sweep_sum {
    size_t count;
    struct rounds rounds[SWEEP_CLOCKS][SWEEP_UNITS];
    struct sweep_arm {
        double size; /* of the batch; 0: not known */
        double steps, wall_ns, quiet_ns, group_cpu_ns, thread_cpu_ns;
        uint64_t rss_bytes;
        bool lacks_samples, lacks_quiet;
    } arm[VARIANTS_MOST];
};

/* 0 or SS_E_NOMEM. */
int sweep_sum_init(struct sweep_sum *sum, const struct sweep_wish *wish);
void sweep_sum_release(struct sweep_sum *sum);

/* Adds what is new of a training that stands still or has ended. */
void sweep_sum_take(struct sweep_sum *sum, size_t arm, struct trial *trial);

/* By the clock and in the units that hold for all. */
const struct rounds *sweep_sum_rounds(const struct sweep_sum *sum);

/* With the highest rate; SIZE_MAX: none is known. */
size_t sweep_sum_best(const struct sweep_sum *sum);

void sweep_sum_up(const struct sweep_sum *sum, const struct sweep_wish *wish,
                  struct sweep_result *result);

#endif
