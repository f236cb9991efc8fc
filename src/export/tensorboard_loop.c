#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "export/tensorboard_parts.h"

static const double ns_per_ms = 1e6, ns_per_s = 1e9;

enum tag {
    TAG_MEAN,
    TAG_P50,
    TAG_P95,
    TAG_P99,
    TAG_MAX,
    TAG_BARS,
    TAG_STEPS_PER_S,
    TAG_SAMPLES_PER_S,
    TAG_EVALUATION,
    TAG_PREDICTION,
    TAG_CHECKPOINT,
    TAG_BETWEEN,
    TAG_EPOCH,
    TAG_EPOCH_TIME,
    TAG_EPOCH_EVALUATION
};

static const struct {
    const char *section, *name, *description;
} tags[] = {
    [TAG_MEAN] = {"1 step time", "mean ms", "Mean time of a step, without pauses."},
    [TAG_P50] = {"1 step time", "p50 ms", "Half of the steps took less."},
    [TAG_P95] = {"1 step time", "p95 ms", "19 of 20 steps took less."},
    [TAG_P99] = {"1 step time", "p99 ms", "99 of 100 steps took less."},
    [TAG_MAX] = {"1 step time", "max ms", "The slowest step."},
    [TAG_BARS] = {"1 step time", "distribution ms", "How long the steps took."},
    [TAG_STEPS_PER_S] = {"3 throughput", "steps per s", "Pauses included."},
    [TAG_SAMPLES_PER_S] = {"3 throughput", "samples per s", "Pauses included."},
    [TAG_EVALUATION] = {"pauses", "evaluation s", "Evaluation that ended here."},
    [TAG_PREDICTION] = {"pauses", "prediction s", "Prediction that ended here."},
    [TAG_CHECKPOINT] = {"pauses", "checkpoint s", "Saving and restoring that ended here."},
    [TAG_BETWEEN] = {"pauses", "between epochs s",
                     "Epoch callbacks, iterators made and torn down."},
    [TAG_EPOCH] = {"epochs", "number", "As the framework counts."},
    [TAG_EPOCH_TIME] = {"epochs", "duration s", "From begin to end."},
    [TAG_EPOCH_EVALUATION] = {"epochs", "evaluation s", "Part of the epoch."},
};

#define STAGE_MEANING(id, number, text, meaning) [number] = meaning,
static const char *const stage_meanings[] = {SS_STAGES(STAGE_MEANING)};

void board_loop_release(struct board_loop *loop)
{
    if (loop->file == &loop->own)
        event_file_release(&loop->own);
    sketch_release(&loop->sketch);
}

static void begin_anew(struct board_loop *loop)
{
    loop->new_steps = loop->counted = loop->time_ns = loop->samples = 0;
    memset(loop->stage_ns, 0, sizeof loop->stage_ns);
    sketch_release(&loop->sketch);
    loop->written_ns = loop->end_ns;
}

void board_loop_take(struct board_loop *loop, const struct model_window *seen)
{
    const struct series_window *window = seen->window;

    /* A better source of steps was found, and those before it were none (step model 3.1). */
    if (seen->steps_done < loop->steps)
        begin_anew(loop);
    if (loop->new_steps == 0 && seen->steps_done == window->steps)
        loop->written_ns = window->start_ns;
    loop->steps = seen->steps_done;
    loop->end_ns = seen->end_ns;
    loop->new_steps += window->steps;
    loop->samples += window->samples;
    if (!seen->counted)
        return;
    loop->counted += window->steps;
    loop->time_ns += window->time_ns;
    sketch_add_n(&loop->sketch, window->time_ns / window->steps, (uint64_t)window->steps);
    for (uint32_t left = window->stages; left; left &= left - 1) {
        const int stage = LOWEST_BIT(left);
        loop->stage_ns[stage] += window->stage_ns[stage];
        if (window->stage_ns[stage] != 0)
            loop->stages |= 1u << stage;
    }
}

/* Where a file has a tag for the first time, its description is written too. */
static void describe(struct event_value *value, uint32_t *told, unsigned bit,
                     const char *description)
{
    if (value && !(*told >> bit & 1)) {
        value->description = description;
        *told |= 1u << bit;
    }
}

static void put(struct board_loop *loop, struct event *event, enum tag tag, double number)
{
    if (!isfinite(number))
        return;
    describe(event_scalar(event, tags[tag].section, tags[tag].name, number), &loop->tags_told, tag,
             tags[tag].description);
}

static void put_steps(struct board_loop *loop, struct event *event)
{
    const struct sketch *sketch = &loop->sketch;

    put(loop, event, TAG_MEAN, (double)loop->time_ns / (double)loop->counted / ns_per_ms);
    put(loop, event, TAG_P50, sketch_quantile(sketch, 0.50) / ns_per_ms);
    put(loop, event, TAG_P95, sketch_quantile(sketch, 0.95) / ns_per_ms);
    put(loop, event, TAG_P99, sketch_quantile(sketch, 0.99) / ns_per_ms);
    put(loop, event, TAG_MAX, (double)sketch->max_ns / ns_per_ms);
    describe(event_bars(event, tags[TAG_BARS].section, tags[TAG_BARS].name, sketch, ns_per_ms),
             &loop->tags_told, TAG_BARS, tags[TAG_BARS].description);
}

static void put_stages(struct board_loop *loop, struct event *event)
{
    for (uint32_t left = loop->stages; left; left &= left - 1) {
        const unsigned stage = (unsigned)LOWEST_BIT(left);
        char name[64];
        snprintf(name, sizeof name, "%s ms", ss_stage_text(stage));
        const double mean_ns = (double)loop->stage_ns[stage] / (double)loop->counted;
        describe(event_scalar(event, "2 stages", name, mean_ns / ns_per_ms), &loop->stages_told,
                 stage, stage_meanings[stage]);
    }
}

static void put_throughput(struct board_loop *loop, const struct loop_totals *totals,
                           struct event *event)
{
    const double seconds = ((double)loop->end_ns - (double)loop->written_ns) / ns_per_s;
    const double batch = (double)totals->planned[3];

    if (seconds <= 0)
        return;
    put(loop, event, TAG_STEPS_PER_S, (double)loop->new_steps / seconds);
    if (loop->samples > 0)
        put(loop, event, TAG_SAMPLES_PER_S, (double)loop->samples / seconds);
    else if (batch > 0)
        put(loop, event, TAG_SAMPLES_PER_S, (double)loop->new_steps * batch / seconds);
}

static void put_pause(struct board_loop *loop, struct event *event, enum tag tag, int64_t before_ns,
                      int64_t now_ns)
{
    if (now_ns > before_ns)
        put(loop, event, tag, (double)(now_ns - before_ns) / ns_per_s);
}

/* A file that took the place of a removed one has to be told again what tags are. */
static void look_at_file(struct board_loop *loop)
{
    if (loop->file->made > 1 && loop->file_made != loop->file->made)
        loop->tags_told = loop->stages_told = 0;
    loop->file_made = loop->file->made;
}

void board_loop_write(struct board_loop *loop, const struct model *model, struct event *event)
{
    const struct loop_totals before = loop->totals;

    look_at_file(loop);
    if (!model_loop_totals(model, &loop->key, &loop->totals))
        loop->totals = before;
    if (loop->counted > 0) {
        put_steps(loop, event);
        put_stages(loop, event);
    }
    put_throughput(loop, &loop->totals, event);
    put_pause(loop, event, TAG_EVALUATION, before.eval_ns, loop->totals.eval_ns);
    put_pause(loop, event, TAG_PREDICTION, before.infer_ns, loop->totals.infer_ns);
    put_pause(loop, event, TAG_CHECKPOINT, before.checkpoint_ns, loop->totals.checkpoint_ns);
    put_pause(loop, event, TAG_BETWEEN, before.between_ns, loop->totals.between_ns);
    begin_anew(loop);
}

bool board_loop_epoch(struct board_loop *loop, const struct model *model, int64_t wall_offset_ns,
                      struct event *event)
{
    struct loop_totals totals;
    struct loop_epoch epoch;

    if (!model_loop_totals(model, &loop->key, &totals))
        return false;
    while (loop->epochs < totals.epochs - 1 && /* the last one may go on */
           !model_loop_epoch(model, &loop->key, loop->epochs, &epoch))
        loop->epochs++;
    if (!model_loop_epoch(model, &loop->key, loop->epochs, &epoch))
        return false;
    loop->epochs++;
    loop->epoch_steps += epoch.steps;
    event_begin(event, board_wall_ns(epoch.end_ns, wall_offset_ns), loop->epoch_steps);
    put(loop, event, TAG_EPOCH, (double)epoch.number);
    put(loop, event, TAG_EPOCH_TIME, ((double)epoch.end_ns - (double)epoch.start_ns) / ns_per_s);
    if (epoch.eval_ns > 0)
        put(loop, event, TAG_EPOCH_EVALUATION, (double)epoch.eval_ns / ns_per_s);
    return true;
}
