#include "model/loop_data.h"

#include <stdlib.h>

void loop_free(struct loop *loop)
{
    series_release(&loop->series);
    shared_steps_release(&loop->shared);
    calls_release(&loop->calls);
    layers_free(loop->layers);
    free(loop);
}

void loop_count_epoch(struct loop *loop, int64_t steps, int64_t time_ns, int64_t eval_ns)
{
    if (loop->epoch_open) {
        struct epoch_row *row = &loop->epochs[(loop->epoch_count - 1) % EPOCHS_KEPT];
        row->steps += steps;
        row->step_ns += time_ns;
        row->eval_ns += eval_ns;
    }
}

void loop_add_outside(struct loop *loop, const struct work *work, const struct outside *outside,
                      enum model_segment kind)
{
    for (int i = 0; i < CUT_COUNT; i++)
        loop->cut_ns[i] += outside->cut_ns[i];
    loop->compile_ns += outside->compile_ns;
    loop->between_ns += kind == SEGMENT_BETWEEN_NS ? outside->rest_ns : 0;
    if (loop->steps > 0)
        work_add(&loop->between, work);
}

void loop_forget_tables(struct loop *loop)
{
    for (int i = 0; i < PARTS_KEPT; i++)
        loop->part[i].steps = loop->part[i].step_ns = 0;
    for (int i = 0; i < EPOCHS_KEPT; i++)
        loop->epochs[i].steps = loop->epochs[i].step_ns = 0;
    calls_release(&loop->calls);
    layers_free(loop->layers);
    loop->layers = NULL;
    loop->recompiles = (struct recompiles){0};
}
