/* Which stacks are the loop's getting of its next batch, though no span says so.
 *
 * The training is where samples of stages are that compute, or wait for what computes: a function that has a tenth
 * of them is one in which the loop is, or below it. Of a stack, the innermost such function tells: if it gets the
 * next item of a `for` in whose body the training is, or has called a generator of the script otherwise (next()), the
 * batch is made. Inner loops that train nothing, and generators that something else asks, do not count. */
#ifndef MODEL_SNAPSHOT_BATCHES_H
#define MODEL_SNAPSHOT_BATCHES_H

#include "model/hot.h"

struct batches {
    const struct hot *hot;
    uint64_t *computing; /* of each frame: samples of computing stages that have it */
    uint64_t all;        /* samples of computing stages */
    uint8_t *roles;      /* of each frame */
};

/* False: memory is short. Release it in either case. */
bool batches_init(struct batches *batches, const struct hot *hot);
void batches_release(struct batches *batches);

/* First each row of the threads that hold loops; then batches_judge() once; then it may be asked. */
void batches_add(struct batches *batches, const struct hot_row *row);
bool batches_judge(struct batches *batches);
bool batches_has(const struct batches *batches, const struct hot_stack *stack);

#endif
