/* Between the files of this folder: each fills its part of a snapshot. */
#ifndef SUMMARY_SNAPSHOT_PARTS_H
#define SUMMARY_SNAPSHOT_PARTS_H

#include "model/hot.h"
#include "model/loop_data.h"
#include "model/model_state.h"
#include "model/thread.h"
#include "summary/snapshot.h"

/* Which stacks are the loop's getting of its next batch, though no span says so.
 *
 * The training is where samples of stages are that compute, or wait for what computes: a function
 * that has a tenth of them is one in which the loop is, or below it. Of a stack, the innermost such
 * function tells: if it gets the next item of a `for` in whose body the training is, or has called
 * a generator of the script otherwise (next()), the batch is made. Inner loops that train nothing,
 * and generators that something else asks, do not count. */

struct batches {
    const struct hot *hot;
    uint64_t *computing; /* of each frame: samples of computing stages that have it */
    uint64_t all;        /* samples of computing stages */
    uint8_t *roles;      /* of each frame */
};

/* False: memory is short. Release it in either case. */
bool batches_init(struct batches *batches, const struct hot *hot);
void batches_release(struct batches *batches);

/* First each row of the threads that hold loops; then batches_judge() once; then it may be
 * asked. */
void batches_add(struct batches *batches, const struct hot_row *row);
bool batches_judge(struct batches *batches);
bool batches_has(const struct batches *batches, const struct hot_stack *stack);

/* snapshot_loop.c: the statistics of one loop. */

bool snapshot_fill_loop(const struct model *model, const struct thread *thread,
                        const struct loop *loop, struct snap_loop *out);
void snapshot_quantiles(const struct sketch *sketch, struct snap_quantiles *out);

/* Share of the steady time, from the window `start` on, of something that is known by chunk of the
 * series. */
struct interval snapshot_chunk_share(const struct loop *loop, int64_t start,
                                     const int64_t chunk_ns[SERIES_CHUNKS]);

/* snapshot_ranks.c: ranks beside each other. Takes the shared steps of the loops, which stay where
 * they are from then on. False: memory is short. */
bool snapshot_fill_job(const struct model *model, struct snapshot *snapshot);
void snapshot_release_job(struct snapshot *snapshot);

/* snapshot_windows.c: the steady steps of a loop as stretches of time, and system counters in each
 * of them. */

/* As many neighbouring cells each as make SNAP_WINDOWS of them or fewer; `start` is a cut. */
void snapshot_fill_windows(const struct cells *cells, int64_t start, struct snap_windows *out);

/* The mean of a value in each, or what a total gained a second. */
void snapshot_fill_row_windows(const struct resource_set *set, const struct resource_row *row,
                               const struct snap_windows *windows, struct snap_resource *out);

/* snapshot_calls.c: what is known of a name in the primary loop. */

/* From the window `start` on: the steady steps. False: memory is short. */
bool snapshot_fill_calls(const struct loop *loop, int64_t start, uint32_t name,
                         struct snap_span *out);

/* snapshot_layers.c: how the stages of a loop divide by layers of the model. */

/* After the stages. Why there are none, and why not in the backward pass, if an adapter said so.
 * False: memory is short. */
bool snapshot_fill_layers(const struct loop_layers *layers, const char *reason,
                          const char *reason_backward, struct snap_loop *out);
void snapshot_release_layers(struct snap_layers *layers);

/* snapshot_arms.c: what the arms of an experiment gained. */

struct arms;

/* False: memory is short. Release it in either case. `arms` may be NULL. */
bool snapshot_fill_arms(const struct arms *arms, struct snap_arms *out);

/* snapshot_input.c: how the batches of the primary loop were made and waited for. */

/* False if memory is short. */
bool snapshot_fill_input(const struct model *model, const struct snap_loop *loop,
                         struct snap_input *out);

/* snapshot_hot.c: the lines that samples found, by stage. */

/* `is_loop` says which threads hold loops. False: memory is short. */
bool snapshot_fill_hot(const struct hot *hot,
                       bool (*is_loop)(const void *context, const struct hot_thread *),
                       const void *context, struct snap_hot *out);
void snapshot_release_hot(struct snap_hot *hot);
bool snapshot_copy_place(const struct hot_frame *frame, struct snap_hot_place *out);

/* By file and function: for qsort() over pointers to frames. */
int snapshot_compare_functions(const void *a, const void *b);

/* snapshot_cutters.c: who evaluates and saves. False: memory is short. */
bool snapshot_fill_cutters(const struct hot *hot,
                           bool (*is_loop)(const void *context, const struct hot_thread *),
                           const void *context, struct snap_hot *out);

/* snapshot_resources.c: system counters while the primary loop ran, and what its threads did by
 * stage. */

/* `is_loop` says which threads hold loops. False: memory is short. */
bool snapshot_fill_resources(const struct model *model,
                             bool (*is_loop)(const void *context, const struct hot_thread *),
                             struct snapshot *snapshot);

#endif
