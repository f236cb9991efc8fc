/* One training loop for TensorBoard: what its steps, pauses and epochs were since the last time that it
 * was written. */
#ifndef EXPORT_TENSORBOARD_LOOP_H
#define EXPORT_TENSORBOARD_LOOP_H

#include "export/event_file.h"
#include "model/observe.h"

struct board_loop {
    struct model_loop_key key;
    struct event_file own;           /* of a loop with a directory of its own */
    struct event_file *file;         /* that one, or the one of the run */
    unsigned file_made;              /* which one it was that was told: */
    uint32_t tags_told, stages_told; /* bits: what these are */

    int64_t steps;               /* so far: where it is on TensorBoard's axis */
    int64_t end_ns;              /* of the last of them */
    uint32_t stages;             /* bits: seen so far */
    int64_t epochs, epoch_steps; /* that were written */
    struct loop_totals totals;   /* when it was last written */
    int64_t written_ns;          /* end of the last step that was */

    /* Since then: */
    int64_t new_steps, counted, time_ns, samples;
    int64_t stage_ns[SS_STAGE_COUNT];
    struct sketch sketch;
};

/* From the clock of the records to that on the wall. The times of a damaged run may be anything. */
static inline int64_t board_wall_ns(int64_t time_ns, int64_t offset_ns)
{
    return (int64_t)((uint64_t)time_ns + (uint64_t)offset_ns);
}

void board_loop_release(struct board_loop *loop);

/* Takes the steps of a window. */
void board_loop_take(struct board_loop *loop, const struct model_window *window);

/* Adds what was new to `event`, and begins anew. */
void board_loop_write(struct board_loop *loop, const struct model *model,
                      struct event *event);

/* Adds the next epoch that has ended, in an event of its own, at its own time; false: there is none. */
bool board_loop_epoch(struct board_loop *loop, const struct model *model,
                      int64_t wall_offset_ns, struct event *event);

#endif
