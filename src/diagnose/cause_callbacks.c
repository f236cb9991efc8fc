/* Callbacks, each by its name (method 11.2): in steps as a share of the step, outside them as
 * a share of the loop. What a callback saves or evaluates has a better name (cause_cuts.c), and so
 * has garbage collection. */
#include <inttypes.h>
#include <math.h>

#include "diagnose/causes.h"
#include "render/units.h"
#include "stepscope/counters.h"
#include "summary/snapshot.h"

/* A callback is there by choice, so less of it is too much (method 11.2). */
static const struct bands callback_bands = {0.01, 0.03, 0.1};
/* Of a callback's time, what has another name is said from such a part on (ours). */
static const double callback_part_said = 0.05;
/* A callback is blocked if its thread ran less than half of the time, else busy, as far as the 95 %
 * interval of the looks at it is on one side: 4 of 4 are enough (method 11.2). */
static const double callback_blocked = 0.5, callback_busy = 0.5;
/* A callback that takes this part of the time of all callbacks gets their interval (ours). */
static const double callback_alone = 0.9;
/* A callback with this many steps per call is called now and then, not in each (ours). */
static const double now_and_then = 1.5;
/* The advice is to call it every 50 steps; one that is called half as often or less already, has
 * another advice (ours). */
static const double advised_every = 50, rare_every = 25;
enum { CASE_OUTSIDE, CASE_RARE };

/* Of a name it may not be known yet, where that of all callbacks is: then it is as wide as that
 * one. */
static struct interval share_of(const struct diagnosis_input *input, struct interval share)
{
    const struct interval all = input->loop->stage[SS_STAGE_CALLBACK].share;

    if (input->has_few_steps || isfinite(share.high) || !isfinite(all.high) || !(all.mid > 0))
        return cause_estimate(input, share);
    return (struct interval){share.mid * all.low / all.mid, share.mid,
                             share.mid * all.high / all.mid};
}

/* How many steps have one call of it; 0: none is in steps. */
static double steps_a_call(const struct diagnosis_input *input,
                           const struct snap_callback *callback)
{
    const uint64_t in_steps = callback->at[CALLED_IN_STEP].count;

    return in_steps > 0 ? (double)input->loop->steps / (double)in_steps : 0;
}

static void say_calls(struct finding *finding, const struct diagnosis_input *input,
                      const struct snap_span *span)
{
    const struct snap_callback *callback = span->callback;
    const double every = steps_a_call(input, callback);
    char text[UNITS_SIZE];

    cause_text(finding->evidence, "%" PRIu64 " call%s of %s", callback->count,
               callback->count == 1 ? "" : "s", units_duration(text, (int64_t)callback->mean_ns));
    if (callback->count >= SNAP_LEAST_FOR_P95)
        cause_more(finding->evidence, ", p95 %s",
                   units_duration(text, (int64_t)callback->quantiles.p95_ns));
    if (callback->count >= SNAP_LEAST_FOR_P99)
        cause_more(finding->evidence, ", p99 %s",
                   units_duration(text, (int64_t)callback->quantiles.p99_ns));
    if (callback->period.steps > 0)
        cause_more(finding->evidence, ", every %" PRId64 " steps one of %s", callback->period.steps,
                   units_duration(text, (int64_t)callback->peak_ns));
    else if (every >= now_and_then)
        cause_more(finding->evidence, ", every %.0f steps", every);
}

/* Part of the looks in which its thread ran. */
static struct interval busy_part(const struct snap_callback *callback)
{
    const uint64_t *looks = callback->looks;

    return snapshot_share(looks[SS_THREAD_RUNS], looks[0] + looks[1] + looks[2]);
}

static bool is_blocked(const struct snap_callback *callback)
{
    return busy_part(callback).high <= callback_blocked;
}

static void say_busy(struct finding *finding, const struct snap_callback *callback)
{
    const struct interval busy = busy_part(callback);

    if (is_blocked(callback))
        cause_more(finding->evidence, "; blocked: its thread was running %.0f %% of that time",
                   100 * busy.mid);
    else if (busy.low >= callback_busy)
        cause_more(finding->evidence, "; busy: its thread was running %.0f %% of that time",
                   100 * busy.mid);
}

/* What else was in the calls that the share is about. */
static void say_parts(struct finding *finding, const struct snap_callback *callback,
                      enum call_place first, enum call_place last)
{
    static const char *const what[CALL_PARTS] = {
        [PART_SAVE] = "saving",
        [PART_EVAL] = "evaluating",
        [PART_GC] = "garbage collection",
        [PART_WAIT] = "waiting for the device",
    };
    const char *between = "; not counted here:";
    char text[UNITS_SIZE];

    for (int part = 0; part < CALL_PARTS; part++) {
        int64_t ns = 0;
        for (int place = (int)first; place <= (int)last; place++)
            ns += callback->part_ns[place][part];
        if (ns <= 0 ||
            (double)ns < callback_part_said * callback->mean_ns * (double)callback->count)
            continue;
        cause_more(finding->evidence, "%s %s %s", between, units_duration(text, ns), what[part]);
        between = ",";
    }
}

/* Without hooks that see it, the first read of a result looks like a callback that waits. */
static void say_unknown(struct finding *finding, const struct diagnosis_input *input,
                        const struct snap_callback *callback)
{
    const struct snap_loop *loop = input->loop;
    const bool is_late = loop->is_asynchronous;

    if (callback->part_ns[CALLED_IN_STEP][PART_WAIT] > 0)
        cause_text(
            finding->unknown,
            "the device may be doing work that is needed anyway: then the wait would move to the next read of a result");
    else if (is_late && is_blocked(callback))
        cause_text(
            finding->unknown,
            "the first read of a result waits for the device: that time would move to the next read");
}

/* Calling it every 50 steps leaves a part of it: one of 50 calls, if each step has one. Where some
 * calls are much longer than others, which those are is not known. */
static void predict(struct finding *finding, const struct diagnosis_input *input,
                    const struct snap_callback *callback)
{
    const double every = steps_a_call(input, callback);
    const double goes = 1 - every / advised_every;

    if (every >= rare_every)
        cause_advise(finding, CASE_RARE);
    else if (every > 0 && callback->period.steps == 0)
        finding->predicted = (struct interval){goes * finding->share.low, goes * finding->share.mid,
                                               goes * finding->share.high};
}

static void find_in_steps(struct diagnosis_input *input, const struct snap_span *span)
{
    const struct snap_callback *callback = span->callback;
    const struct interval own = share_of(input, callback->own);
    const struct interval all = share_of(input, callback->with_waits);
    const struct interval share = {own.low, own.mid, fmax(own.high, all.high)};
    const bool waits = callback->part_ns[CALLED_IN_STEP][PART_WAIT] > 0;
    struct finding *finding =
        cause_add_share(input, FINDING_CALLBACK_BOUND, share, callback_bands, OF_STEP);
    const bool is_own = finding != NULL;
    char name[CAUSE_NAME_SIZE];

    if (!is_own && waits && isfinite(all.low) && all.low >= callback_bands.info)
        finding = cause_add(input, FINDING_CALLBACK_BOUND, FINDING_INFO, share, OF_STEP);
    if (!finding)
        return;
    cause_text(finding->claim, "%s takes %.1f %% of the step", cause_name(name, span),
               100 * own.mid);
    if (!isfinite(callback->own.high) &&
        own.mid < callback_alone * input->loop->stage[SS_STAGE_CALLBACK].share.mid)
        finding->kind = SHARE_ESTIMATE;
    if (waits) {
        finding->kind = is_own ? SHARE_ESTIMATE : SHARE_BOUND;
        cause_more(finding->claim, " itself, and waits for the device another %.1f %%",
                   100 * (all.mid - own.mid));
    }
    finding->leaves_cold = !(busy_part(callback).low >= callback_busy);
    say_calls(finding, input, span);
    say_busy(finding, callback);
    say_parts(finding, callback, CALLED_IN_STEP, CALLED_IN_STEP);
    cause_weigh_host(finding, input);
    predict(finding, input, callback);
    say_unknown(finding, input, callback);
    cause_text(finding->check, "train without it once");
}

/* However long the training is: short runs have much of it. */
static bool comes_once(const struct snap_span *span)
{
    return span->callback->at[CALLED_BETWEEN].count == 0 || span->scope == SS_SCOPE_TRAIN_BEGIN ||
           span->scope == SS_SCOPE_TRAIN_END;
}

static void find_outside(struct diagnosis_input *input, const struct snap_span *span)
{
    const struct snap_callback *callback = span->callback;
    const struct call_sum *before = &callback->at[CALLED_BEFORE];
    const struct call_sum *between = &callback->at[CALLED_BETWEEN];
    const int64_t wait_ns =
        callback->part_ns[CALLED_BEFORE][PART_WAIT] + callback->part_ns[CALLED_BETWEEN][PART_WAIT];
    int64_t own_ns = before->total_ns + between->total_ns;

    for (int part = 0; part < CALL_PARTS; part++)
        own_ns -= callback->part_ns[CALLED_BEFORE][part] + callback->part_ns[CALLED_BETWEEN][part];
    const double times = (double)(before->count + between->count);
    struct interval share = cause_cut_share(input, own_ns, times);
    share.high = cause_cut_share(input, own_ns + wait_ns, times).high;
    if (input->has_few_steps && share.mid < few_least)
        return;
    struct finding *finding =
        cause_add_share(input, FINDING_CALLBACK_BOUND, share, cut_bands, OF_LOOP);
    char name[CAUSE_NAME_SIZE];
    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    if (comes_once(span))
        finding->severity = FINDING_INFO;
    cause_text(finding->claim, "%s takes %.1f %% of the loop's time, outside the steps",
               cause_name(name, span), 100 * share.mid);
    say_calls(finding, input, span);
    say_busy(finding, callback);
    say_parts(finding, callback, CALLED_BEFORE, CALLED_BETWEEN);
    cause_advise(finding, CASE_OUTSIDE);
    cause_text(finding->check, "train without it once");
}

static void find_callbacks(struct diagnosis_input *input)
{
    const struct snapshot *snapshot = input->snapshot;

    for (size_t i = 0; i < snapshot->span_count; i++) {
        const struct snap_span *span = &snapshot->spans[i];
        if (!span->callback)
            continue;
        if (span->callback->at[CALLED_IN_STEP].count > 0)
            find_in_steps(input, span);
        find_outside(input, span);
    }
}

const struct finding_kind finding_callback_bound = {
    .name = "callback-bound",
    .gist = "a callback takes a noticeable part of the time",
    .needs = NEEDS_STEPS,
    .find = find_callbacks,
    .said = {{&callback_bands, OF_STEP, "in steps"}, {&cut_bands, OF_LOOP, "outside steps"}},
    .ends = {{"outside steps", ENDS_OF_CUT},
             {"one of several callbacks in a run of few steps",
              "estimate: as wide as that of all callbacks"},
             {"in steps, on a device", ENDS_ON_DEVICE}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] =
                "call it every 50 steps instead of every step, or do its work in another thread",
            [FRAMEWORK_TORCH] =
                "return early unless step % 50 == 0, or move its work to the end of the epoch",
            [FRAMEWORK_LIGHTNING] =
                "return early unless batch_idx % 50 == 0, or move its work to on_train_epoch_end; for loggers Trainer(log_every_n_steps=50)",
            [FRAMEWORK_TRANSFORMERS] =
                "return early unless state.global_step % 50 == 0, or move its work to on_epoch_end; for loggers TrainingArguments(logging_steps=50)",
            [FRAMEWORK_KERAS] =
                "return early unless batch % 50 == 0, or move its work to on_epoch_end; TensorBoard(update_freq=\"epoch\"); compile(steps_per_execution=50) calls it once per 50 batches",
            [FRAMEWORK_JAX] =
                "call it every 50 steps (if step % 50 == 0), with the results of the previous step, which are ready",
        },
    .given = "where the callback is called in steps",
    .cases = {{"the callback is called outside steps", NULL,
               "run it every few epochs, on less data, or in another thread"},
              {"the callback is called every 25 steps or less often", NULL,
               "do less in it, call it less often, or do its work in another thread"}},
    .meaning =
        "A callback takes a noticeable part of the steps, or of the time outside them: at the end of epochs, before the first step.",
    .computed =
        "The time inside one callback's method, super() counted once. "
        "In steps it is a share of the steady steps: reported at 1 % or more, a warning at 3 %, high at 10 %. "
        "Outside steps it is a share of the loop: 5, 10 and 30 %. "
        "Saving and evaluation inside it are reported by checkpoint-heavy and eval-heavy; "
        "callbacks that run during an evaluation belong to it. "
        "If it reads a result and so waits for the device, that wait is shown separately and is no warning: the device has to do its work anyway.",
    .fixes =
        "Call it every 50 steps, write in another thread, compute metrics at the end of the epoch. "
        "If it only waits, it may be the first to read a result from the device: then the wait moves elsewhere.",
};
