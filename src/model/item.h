/* What the stages of the model share. A thread that may hold loops has a pipe of five stages:
 *
 *   tree ─► jit ─► phase ─► step ─► loop
 *
 * Each stage is a struct with state of its own and one function, such as phase_item(), which the
 * stage before it calls with one item after the other. Data flows forward only: a stage passes
 * items on to the next one, and may ask that one questions that change nothing; it knows no other.
 * An item that means nothing to a stage goes on at once, ahead of what the stage holds back. */
#ifndef MODEL_ITEM_H
#define MODEL_ITEM_H

#include "model/work.h"
#include "stepscope/reader.h"

enum item_kind {
    /* Stretches of time, with their work. */
    ITEM_SPAN,  /* by tree, for phase: a span that only user spans surround, with all in it */
    ITEM_PHASE, /* by phase, for step: from one batch to the next; before: the set-up for it */
    ITEM_LOOSE, /* by phase, for step: what has no phase */
    ITEM_ITERATION_END, /* by phase, for step: a failed wait for data, which ends the step */
    ITEM_STEP_BEGIN,    /* by step, for loop; before: what was in no step */
    ITEM_STEP,          /* by step, for loop; end_ns 0: where the next one starts */
    /* Boundaries, for all stages. */
    ITEM_MARK, /* by tree: ss_step() */
    ITEM_EPOCH_BEGIN,
    ITEM_EPOCH_END,
    ITEM_LOOP_BEGIN, /* by tree: announced ones, the outermost only */
    ITEM_LOOP_END,
    ITEM_LOOP_SPLIT, /* by jit and step: what follows is of another loop */
    ITEM_SOURCE,     /* by step: what makes steps from here on; begins a loop if there is none */
    ITEM_FLUSH,      /* by tree: nothing more comes; start_ns: recording was stopped then, or 0 */
    /* Facts on what is going on, for loop: these wait for nothing. */
    ITEM_PLAN,
    ITEM_MISSING,   /* records of this time are missing */
    ITEM_RECOMPILE, /* a function is compiled again */
    ITEM_INPUT,     /* how the loop gets its data: enum item_input */
    ITEM_BATCHES,   /* what gives it batches from here on */
    ITEM_EARLIER    /* the thread began before its first record did */
};

enum item_input {
    INPUT_SHARED = 1 << 0, /* two loops computed at once: whose are the waits of others? */
    INPUT_HIDDEN = 1 << 1, /* the loop waits inside its own calls, and that is not seen */
    INPUT_BESIDE = 1 << 2  /* it gets several batches in a call, which may compute as well */
};

struct item {
    uint8_t kind, stage, role; /* stage and role: of a span */
    uint16_t flags;            /* of a span; INPUT: enum item_input */
    uint32_t owner;            /* of a span: as model_name's; LOOP_BEGIN: name; SOURCE: which one */
    int64_t start_ns, end_ns;
    struct work *work,
        *before;     /* may be changed, and are gone afterwards; NULL: the kind has none */
    int64_t eval_ns; /* in `before`, or outside steps: in no epoch yet */
    union {
        struct {
            int64_t start_ns, end_ns; /* of the set-up, else where the phase starts */
        } lead;                       /* PHASE */
        struct {
            int64_t last_ns; /* end of its last span */
            int64_t samples; /* by its mark; 0: that of its batches counts */
            bool has_end;
        } step;
        uint64_t epoch;
        const uint64_t *plan;
        struct ss_text text; /* RECOMPILE: what and why; BATCHES: input_source.h */
    } of;
};

/* An item with room for its work. It points into itself: copy it with held_set(). */
struct held {
    struct item item;
    struct work work, before;
};

/* What a stage holds back until later items tell what it is: in the order of time, bounded. */
struct hold {
    struct held *entry;
    uint32_t count, most;
};

/* False: no memory. */
bool hold_init(struct hold *hold, uint32_t most);
void hold_release(struct hold *hold);

void held_set(struct held *held, const struct item *item);

/* There must be room. */
struct held *hold_add(struct hold *hold, const struct item *item);
static inline struct held *hold_last(const struct hold *hold)
{
    return &hold->entry[hold->count - 1];
}

/* The newest item lasts longer. */
void hold_extend(struct hold *hold, const struct work *work, int64_t end_ns);

/* Gives the first `count` items away, in order. Until it is done the hold looks empty, and nothing
 * may be added to it. */
void hold_pass(struct hold *hold, uint32_t count, void (*pass)(void *to, struct item *item),
               void *to);
static inline void hold_pass_all(struct hold *hold, void (*pass)(void *to, struct item *item),
                                 void *to)
{
    if (hold->count > 0)
        hold_pass(hold, hold->count, pass, to);
}

#endif
