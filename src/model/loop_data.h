/* A loop: what is known of it, and what a report is about. Loops belong to the last stage of the
 * thread that they ran on (loop.h), which alone changes them. */
#ifndef MODEL_LOOP_DATA_H
#define MODEL_LOOP_DATA_H

#include "model/calls.h"
#include "model/input_source.h"
#include "model/model.h"
#include "model/outside.h"
#include "model/recompiles.h"
#include "model/series.h"
#include "model/work.h"
#include "stats/sample.h"

enum { EPOCHS_KEPT = 512, PARTS_KEPT = 64 };

/* From one begin of its trainer to the end of that. */
struct loop_part {
    int64_t start_ns, end_ns, steps, step_ns; /* end 0: not ended */
};

struct epoch_row {
    int64_t number, start_ns, end_ns, steps, step_ns, eval_ns;
};

struct loop {
    struct loop *next;
    uint32_t process, lane, tid;
    uint32_t name; /* of loop_begin, 0: none */
    bool explicit_begin, ended;
    bool resumed;                          /* a further part has begun, and had no update yet */
    int64_t parts;                         /* how often it was begun */
    struct loop_part part[PARTS_KEPT];     /* the last ones */
    int64_t earlier_steps, earlier_epochs; /* of the parts before the last one */
    enum step_source source;
    int64_t begin_ns, first_step_ns, end_ns;

    struct series series;
    struct shared_steps shared; /* of a rank: to be compared with those of the others */
    int64_t steps, updates, batches, samples;
    int64_t usual_samples, usual_votes; /* what most steps had, if any has that many */
    int64_t flagged_steps;              /* in the books, in no quantile */
    int64_t step_ns;                    /* all steps */
    int64_t compile_ns, between_ns, cut_ns[CUT_COUNT]; /* from its begin on */
    int64_t negative_ns; /* stages that were more than their step: an error of ours */
    struct work between; /* what was seen between epochs */

    bool async, synced; /* windows reach from sync to sync; there was one */
    bool queued;        /* since then, windows have ended without one */
    struct series_window window;
    bool window_flagged;
    int64_t window_steps_max;
    uint64_t plan[4]; /* steps, epochs, steps per epoch, batch; 0: not known */
    struct epoch_row epochs[EPOCHS_KEPT];
    int64_t epoch_count; /* all; the last ones are kept, and the first */
    bool epoch_open;
    unsigned input; /* enum item_input */

    struct loop_calls calls;
    struct loop_layers *layers; /* NULL: none were sampled */
    struct recompiles recompiles;
    struct input_source batches_from; /* the last one before its first step ended */
};

static inline struct loop_part *loop_last_part(struct loop *loop)
{
    return &loop->part[(loop->parts - 1) % PARTS_KEPT];
}

/* Where its own books begin. */
static inline int64_t loop_first_ns(const struct loop *loop)
{
    return loop->explicit_begin ? loop->begin_ns : loop->first_step_ns;
}

/* Boyer and Moore: what most have is left over, whatever the others are. */
static inline void loop_vote(struct loop *loop, int64_t samples)
{
    if (loop->usual_votes == 0)
        loop->usual_samples = samples;
    loop->usual_votes += samples == loop->usual_samples ? 1 : -1;
}

/* Frees it, with all that it has. */
void loop_free(struct loop *loop);

/* Adds to the open epoch, if there is one. */
void loop_count_epoch(struct loop *loop, int64_t steps, int64_t time_ns, int64_t eval_ns);

/* What the loop itself has of time that lies inside it, and in no step. */
void loop_add_outside(struct loop *loop, const struct work *work, const struct outside *outside,
                      enum model_segment kind);

/* All steps so far were none: what tables have of them. */
void loop_forget_tables(struct loop *loop);

#endif
