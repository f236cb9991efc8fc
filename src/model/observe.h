/* For those who look at a model while it is fed: each window of steps as it ends, and exact sums of
 * a loop, of which the difference between two looks is what happened between. Without an observer
 * there is no cost. */
#ifndef MODEL_OBSERVE_H
#define MODEL_OBSERVE_H

#include "model/model.h"
#include "model/series.h"

struct thread;

struct model_loop_key {
    uint32_t process, lane;
    int64_t begin_ns; /* as snap_loop's */
};

/* The steps of a window (step model 7.1), as they go into the statistics. */
struct model_window {
    struct model_loop_key loop;
    int64_t steps_done; /* of the loop, with these */
    int64_t end_ns;     /* where the last of them ended */
    const struct series_window *window;
    bool counted; /* in the statistics, not only in the books */
};

/* Calls `seen` for each window from now on; NULL: no more. */
void model_observe_windows(struct model *model,
                           void (*seen)(void *context, const struct model_window *window),
                           void *context);

struct loop_totals {
    int64_t eval_ns, infer_ns, checkpoint_ns, between_ns;
    int64_t epochs;      /* begun so far */
    uint64_t planned[4]; /* steps, epochs, steps per epoch, batch; 0: not known */
};

struct loop_epoch {
    int64_t number, start_ns, end_ns, steps, eval_ns;
};

/* False if there is no such loop, or not any more. */
bool model_loop_totals(const struct model *model, const struct model_loop_key *key,
                       struct loop_totals *out);

/* The epoch with this index, from 0 on; false if it has not ended, or is not kept any more. */
bool model_loop_epoch(const struct model *model, const struct model_loop_key *key, int64_t index,
                      struct loop_epoch *out);

struct item;
struct loop;

/* What goes into a loop, shown to who asked for it. */
void observe_step(const struct thread *thread, const struct loop *loop, const struct item *step,
                  int64_t steps, int64_t time_ns, bool counted);
void observe_window(const struct model *model, const struct loop *loop, int64_t end_ns,
                    bool counted);

/* NULL: there is no such loop, or not any more. */
const struct loop *observe_find(const struct model *model, const struct model_loop_key *key);

#endif
