#include "model/observe.h"

#include <string.h>

#include "model/arms.h"
#include "model/item.h"
#include "model/loop_data.h"
#include "model/model_state.h"
#include "model/thread.h"

void model_observe(struct model *model, void (*seen)(void *context, const struct model_step *step),
                   void *context)
{
    model->seen = seen;
    model->seen_context = context;
}

void model_observe_windows(struct model *model,
                           void (*seen)(void *context, const struct model_window *window),
                           void *context)
{
    model->seen_window = seen;
    model->window_context = context;
}

static int64_t present_epoch(const struct loop *loop)
{
    return loop->epoch_open ? loop->epochs[(loop->epoch_count - 1) % EPOCHS_KEPT].number : -1;
}

void observe_step(const struct thread *thread, const struct loop *loop, const struct item *step,
                  int64_t steps, int64_t time_ns, bool counted)
{
    const struct model *const model = thread->model;
    const struct model_step seen = {.process = loop->process,
                                    .lane = loop->lane,
                                    .tid = loop->tid,
                                    .loop_begin_ns = loop_first_ns(loop),
                                    .number = loop->steps,
                                    .steps = steps,
                                    .start_ns = step->start_ns,
                                    .time_ns = time_ns,
                                    .end_ns = step->end_ns,
                                    .stage_ns = step->work->stage_ns,
                                    .epoch = present_epoch(loop),
                                    .samples = step->of.step.samples,
                                    .source = loop->source,
                                    .counted = counted,
                                    .arm = arms_of_step(thread->arms, step)};
    model->seen(model->seen_context, &seen);
}

void observe_window(const struct model *model, const struct loop *loop, int64_t end_ns,
                    bool counted)
{
    const struct model_window seen = {.loop = {loop->process, loop->lane, loop_first_ns(loop)},
                                      .steps_done = loop->steps,
                                      .end_ns = end_ns,
                                      .window = &loop->window,
                                      .counted = counted};
    model->seen_window(model->window_context, &seen);
}

static const struct loop *find_in(const struct thread *thread, const struct model_loop_key *key)
{
    const struct loop *loop = thread ? thread_loops(thread) : NULL;
    while (loop && (loop->process != key->process || loop->lane != key->lane ||
                    loop_first_ns(loop) != key->begin_ns))
        loop = loop->next;
    return loop;
}

const struct loop *observe_find(const struct model *model, const struct model_loop_key *key)
{
    const struct loop *loop =
        key->lane < model->lane_count ? find_in(model->lanes[key->lane], key) : NULL;
    for (const struct thread *thread = model->ended; !loop && thread; thread = thread->next)
        loop = find_in(thread, key);
    return loop;
}

bool model_loop_totals(const struct model *model, const struct model_loop_key *key,
                       struct loop_totals *out)
{
    const struct loop *loop = observe_find(model, key);
    if (!loop)
        return false;
    *out = (struct loop_totals){.eval_ns = loop->cut_ns[CUT_EVAL],
                                .infer_ns = loop->cut_ns[CUT_INFER],
                                .checkpoint_ns = loop->cut_ns[CUT_CHECKPOINT],
                                .between_ns = loop->between_ns,
                                .epochs = loop->epoch_count};
    memcpy(out->planned, loop->plan, sizeof out->planned);
    return true;
}

bool model_loop_epoch(const struct model *model, const struct model_loop_key *key, int64_t index,
                      struct loop_epoch *out)
{
    const struct loop *loop = observe_find(model, key);
    if (!loop || index < 0 || index >= loop->epoch_count || index < loop->epoch_count - EPOCHS_KEPT)
        return false;
    const struct epoch_row *row = &loop->epochs[index % EPOCHS_KEPT];
    *out = (struct loop_epoch){row->number, row->start_ns, row->end_ns, row->steps, row->eval_ns};
    return row->end_ns > 0;
}
