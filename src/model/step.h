/* Fourth stage: which phases make a step (step model 3 and 4). The open step has its
 * update; what follows is the next one, if its own update is by the optimizer or function that
 * made the loop's first. Updates of which that is not yet known wait. */
#ifndef MODEL_STEP_H
#define MODEL_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "model/item.h"
#include "model/model.h"

/* Who makes the updates of a loop: its optimizers, or its functions that train, and whether these
 * take turns. While functions do, one round of them is a step (step model 3.4). Of several
 * optimizers the first one begins each step, whatever their turns (step model 3.3, step.c). The
 * functions are in owners.c. */
enum {
    OWNERS_MOST = 16,   /* that are separated */
    TURNS_DECIDE = 16,  /* updates by turns: they go on so */
    REPEATS_DECIDE = 4, /* of one of them in a row: they do not go on so */
};

struct owners { /* begins with {0} */
    uint32_t owner[OWNERS_MOST];
    int count;
    uint32_t last;    /* of the last update */
    bool out_of_turn; /* one of them had two updates in a row */
    int turns;        /* updates so far, TURNS_DECIDE at most */
    int repeats;      /* updates of the last owner in a row, after the first */
};

bool owners_have(const struct owners *owners, uint32_t owner);
void owners_add(struct owners *owners, uint32_t owner);

/* One of them has made an update. */
void owners_note(struct owners *owners, uint32_t owner);

/* So far by turns, strictly, but too few to know that it stays so. */
static inline bool owners_undecided(const struct owners *owners)
{
    return owners->count > 1 && !owners->out_of_turn && owners->turns < TURNS_DECIDE;
}

/* It is as it was so far: an epoch is over. */
static inline void owners_decide(struct owners *owners)
{
    owners->turns = TURNS_DECIDE;
}

/* Some updates that wait turned out to be out of turn. */
static inline void owners_break_turn(struct owners *owners)
{
    owners->out_of_turn = owners->out_of_turn || owners->turns < TURNS_DECIDE;
}

struct loop_stage;

struct step_stage {
    struct loop_stage *next;

    bool announced; /* the loop was */
    enum step_source source;
    struct owners owners;
    bool seen_setup; /* of the loop */

    bool has_open;  /* a step that has its update */
    bool has_begun; /* what has begun since the last update */
    struct held open, begun;
    struct hold waiting; /* updates; before: what was in no step */
    uint32_t foreign;    /* the last ones of them: by owners that the loop does not have */

    struct work tail;    /* of the open step, if anything of training follows it */
    struct work outside; /* seen since the last step, in none */
    int64_t told_ns;     /* of its evaluation: is in an epoch, or before one */
};

/* False: no memory. Release it in either case. */
bool step_init(struct step_stage *stage, struct loop_stage *next);
void step_release(struct step_stage *stage);
void step_item(struct step_stage *stage, struct item *item);

/* Whether the loop's first step is still looked for. */
static inline bool step_is_first(const struct step_stage *stage)
{
    return stage->source == SOURCE_NONE && !stage->announced;
}

/* Whether one has begun that has no update yet. */
static inline bool step_has_begun(const struct step_stage *stage)
{
    return stage->has_begun;
}

#endif
