/* Work: what a stretch of a loop thread held, by stage. Stretches are added up in the order of
 * time: spans into items, items into phases, phases into steps. */
#ifndef MODEL_WORK_H
#define MODEL_WORK_H

#include <stdbool.h>

#include "stepscope/format.h"

enum { CUT_EVAL, CUT_INFER, CUT_CHECKPOINT, CUT_COUNT };

enum work_marks {
    WORK_LEADS = 1 << 0, /* holds a leading span (step model 2.1) */
    WORK_DATA = 1 << 1,  /* waited for a batch */
    WORK_BACKWARD = 1 << 2,
    WORK_TRAIN_COMPUTE = 1 << 3,
    WORK_EVAL_FORWARD = 1 << 4, /* a forward, or a compute, with gradients off */
    WORK_TRAIN_FORWARD = 1 << 5,
    WORK_UPDATE = 1 << 6, /* of any source; which: the next two, a gradient, else a jitted call */
    WORK_TRAIN_CALL = 1 << 7,
    WORK_OPTIMIZER = 1 << 8,
    WORK_EVAL_CALL = 1 << 9, /* of a jitted function that does not train */
    WORK_SYNC = 1 << 10,
    WORK_PERTURBED = 1 << 11, /* in the books, in no quantile */
    WORK_UNFINISHED = 1 << 12,
    WORK_CUTS = 1 << 13,      /* some of cut_ns may not be 0 */
    WORK_GRADIENT = 1 << 14,  /* which stands for an update by hand */
    WORK_COLLECTIVE = 1 << 15 /* the same */
};

/* A span has one stage, a step some: only those in `stages` are looked at, the others are 0. */
struct work {
    int64_t cut_ns[CUT_COUNT]; /* evaluation, prediction, checkpoint outside callbacks */
    int64_t late_compile_ns;   /* of stage compile: after the first update in here */
    int64_t samples, bytes;    /* of the batches below; 0: not known */
    int32_t batches;           /* waits for data that gave one */
    int32_t batches_inside;    /* the same, of other threads inside calls that train */
    int32_t updates;
    uint32_t update_owner;            /* whose the first update was; 0: none */
    unsigned marks;                   /* enum work_marks */
    int64_t train_steps;              /* that train calls made */
    uint32_t stages;                  /* bits: stages that it has */
    int64_t stage_ns[SS_STAGE_COUNT]; /* exclusive: they add up, cuts included, to covered time */
};

/* Adds to a stage. */
static inline void work_put(struct work *work, unsigned stage, int64_t ns)
{
    work->stage_ns[stage] += ns;
    work->stages |= 1u << stage;
}

static inline void work_set_cut(struct work *work, int cut, int64_t ns)
{
    work->cut_ns[cut] = ns;
    work->marks |= WORK_CUTS;
}

/* The thread that asks for batches gets them; threads beside it get parts of them, for replicas, or
 * later ones. */
static inline int32_t work_batches(const struct work *work)
{
    return work->batches > 0 ? work->batches : work->batches_inside;
}

/* `from` comes after `to`. */
void work_add(struct work *to, const struct work *from);
void work_clear(struct work *work);
void work_clear_times(struct work *work);

/* Of stages and cuts. */
int64_t work_total(const struct work *work);

/* Takes time off, from this stage first, then from what has most. */
void work_shorten(struct work *work, unsigned stage, int64_t ns);

/* Whether it shows that a loop was still running. A pool of workers is stopped, garbage collected
 * and a model saved or evaluated long after its loop, too (step model 4.4). */
static inline bool work_shows_loop(const struct work *work)
{
    const uint32_t others = 1u << SS_STAGE_GC | 1u << SS_STAGE_SETUP;
    return (work->marks & (WORK_LEADS | WORK_UPDATE)) || (work->stages & ~others);
}

/* CUT_* of a stage, -1: it is not cut out of steps. */
int work_cut_of_stage(unsigned stage);

#endif
