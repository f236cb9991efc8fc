/* Which rank the others wait for (method 9). The ranks of a job take equally long for a step, so
 * what is compared is the own work of each: the step without communication. In each step the rank
 * with most of it is last, and to blame for the difference to the second: that is what the step
 * would gain if this rank alone were faster. No clocks are compared. */
#ifndef STATS_BLAME_H
#define STATS_BLAME_H

#include <stdbool.h>
#include <stddef.h>

#include "stats/interval.h"
#include "stats/sample.h"

struct blame_rank {
    const struct shared_step *steps; /* in the order of their numbers, each once */
    size_t count;

    /* What blame_find() adds: a step each, over the steps that all ranks have. */
    double own_ns;
    double wait_ns;        /* in communication, for the last one */
    double last_share;     /* of the steps: it was last */
    struct interval blame; /* share of the step that others wait for it; 0 to 0: it is never last */
    bool is_left_out;      /* it has fewer than half of the steps that another has */
};

struct blame {
    size_t ranks, steps; /* that were compared */
    double step_ns;      /* means over steps and ranks */
    double own_ns, own_max_ns;
    double own_p50_ns, own_p95_ns; /* over ranks */
    double wait_ns, exchange_ns;   /* the parts of communication */
    struct interval waiting;       /* share of the step that a rank waits */
    size_t most;                   /* the rank with most blame */
    double most_part;              /* of all blame */
};

/* False: memory is short. With fewer than two ranks, or no step that all have, `steps` is 0. */
bool blame_find(struct blame_rank *ranks, size_t count, struct blame *out);

#endif
