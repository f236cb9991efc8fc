/* The arms of an experiment (method 13.5): a training that runs by turns as it is and with changes,
 * in blocks of steps. Recorders say where a block begins; each step belongs to the block in which
 * its middle lies.
 *
 * Steps of a block that has not settled yet, and those of a change, are in the books but
 * excluded from statistics of the run, which are about the training as it is. That is the first
 * arm. */
#ifndef MODEL_ARMS_H
#define MODEL_ARMS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/item.h"
#include "stats/rounds.h"
#include "stepscope/reader.h"

struct thread;

enum arms_clock { ARMS_WALL, ARMS_QUIET, ARMS_CLOCKS };

/* Of a thread. */
struct arms {
    struct arms_sum {
        char *label;
        int64_t steps;
        double wall_ns, quiet_ns, others_ns; /* of all its blocks */
        bool lacks_quiet;                    /* of one of them the quiet clock is not known */
    } sum[ROUNDS_ARMS_MOST];
    size_t count;
    struct rounds rounds[ARMS_CLOCKS];
    unsigned halved; /* rounds were put together so often */
    struct arms_reading {
        int64_t time_ns;
        uint64_t waited_ns, others_ns;
        bool is_known;
    } last;                    /* clock */
    struct arms_block *blocks; /* the present one last */
    size_t block_count;
};

/* Records of a thread. Without memory they are ignored, and the model has an error. */
void arms_clock(struct thread *thread, const struct ss_record *record);
void arms_switch(struct thread *thread, const struct ss_record *record);
void arms_free(struct arms *arms);

/* A step, in the order of time. Returns whether it is in the statistics of the run. */
bool arms_step(struct arms *arms, const struct item *step, int64_t steps, int64_t time_ns,
               bool counted);

/* What the arm of a step is called; NULL: it has none. `arms` may be NULL. */
const char *arms_of_step(const struct arms *arms, const struct item *step);

/* Whether the quiet clock holds in an arm: it is known of each block, and the loop's own thread
 * does the work. */
bool arms_is_quiet(const struct arms *arms, size_t arm);

#endif
