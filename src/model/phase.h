/* Third stage: batches and evaluation (step model 2). A phase starts with a batch, or with
 * the first leading item after an update. Evaluation that has no name is found here and cut
 * out. What other threads do inside a call is moved to its own stage here too. */
#ifndef MODEL_PHASE_H
#define MODEL_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/item.h"

/* Forwards with gradients off that no batch of a loader led, and how many of them an update has
 * before it (quiet.c). A teacher's are before most updates, those of an evaluation that makes its
 * own batches before few, or are more; and what an update uses, the first one of its optimizer has
 * used as well, where an evaluation has nothing yet to look at (step model 2.4). */
enum { QUIET_LENGTHS = 24, QUIET_OWNERS = 16 };

struct quiet_runs { /* begins with {0} */
    uint32_t now;   /* since the last update */
    bool is_used;   /* the first update of some optimizer had one before it, or in its batch */
    uint32_t owner[QUIET_OWNERS]; /* whose updates there were, the first ones */
    int owners;
    uint64_t updates;
    uint64_t as_long[QUIET_LENGTHS]; /* updates that had 1, 2, 4, 8 ... before them, or more */
};

/* Whether those that there are now evaluate: no first update has used any, or at most one in eight
 * updates has had about as many. False as long as there were too few updates to know. */
bool quiet_evaluates(const struct quiet_runs *runs);

/* An update follows: by whom, and whether its own batch had a forward with gradients off. */
void quiet_note(struct quiet_runs *runs, uint32_t owner, bool inside);

struct call_log;
struct step_stage;
struct thread;

struct phase_stage {
    struct step_stage *next;
    struct thread *thread;
    struct call_log *calls;

    bool is_open;
    struct held open;
    /* One each at most, in the order of time: batches of which it is not yet known what they are;
     * set-up that waits for its first batch; an iterator that ended, while it is not yet known
     * whether the step did. */
    struct hold batches, setup, ended;
    bool eval_open; /* a run of evaluation batches */
    int64_t eval_start_ns, eval_end_ns;

    struct quiet_runs quiet;

    int64_t last_ns;  /* end of the last item, or time of the last boundary */
    int64_t point_ns; /* last mark, or end or begin of something */
};

/* False: no memory. Release it in either case. */
bool phase_init(struct phase_stage *stage, struct thread *thread, struct call_log *calls,
                struct step_stage *next);
void phase_release(struct phase_stage *stage);
void phase_item(struct phase_stage *stage, struct item *item);

#endif
