/* Callbacks, each by its name (rule book 3.1): in steps as a share of the step, outside of them as a share of the
 * loop. What a callback saves or evaluates has a better name (cause_cuts.c), and so has garbage collection. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "diagnose/causes.h"
#include "model/snapshot_hot.h"
#include "stepscope/counters.h"

const char *cause_name(char out[CAUSE_NAME_SIZE], const struct snap_span *span)
{
    snprintf(out, CAUSE_NAME_SIZE, "%s%s%s", span->object, *span->object ? "." : "",
             span->text);
    return out;
}

struct interval cause_cut_share(const struct patient *patient, int64_t ns, double times)
{
    const int64_t wall_ns = patient->loop->wall_ns;
    const double share = wall_ns > 0 ? (double)ns / (double)wall_ns : 0;
    const double unsure = share * cut_unsure / fmax(times, 1);

    return (struct interval){share - unsure, share, fmin(1, share + unsure)};
}

/* Of a name it may not be known yet, where that of all callbacks is: then it is as wide as that one. */
static struct interval share_of(const struct patient *patient, struct interval share)
{
    const struct interval all = patient->loop->stage[SS_STAGE_CALLBACK].share;

    if (patient->has_few_steps || isfinite(share.high) || !isfinite(all.high) ||
        !(all.mid > 0))
        return cause_estimate(patient, share);
    return (struct interval){share.mid * all.low / all.mid, share.mid,
                             share.mid * all.high / all.mid};
}

static void say_calls(struct finding *finding, const struct patient *patient,
                      const struct snap_span *span)
{
    const struct snap_callback *callback = span->callback;
    const uint64_t in_steps = callback->at[CALLED_IN_STEP].count;
    const double every =
        in_steps > 0 ? (double)patient->loop->steps / (double)in_steps : 0;
    char text[UNITS_SIZE];

    cause_text(finding->evidence, "%" PRIu64 " call%s of %s", callback->count,
               callback->count == 1 ? "" : "s",
               units_duration(text, (int64_t)callback->mean_ns));
    if (callback->count >= P95_CALLS)
        cause_more(finding->evidence, ", p95 %s",
                   units_duration(text, (int64_t)callback->quantiles.p95_ns));
    if (callback->count >= P99_CALLS)
        cause_more(finding->evidence, ", p99 %s",
                   units_duration(text, (int64_t)callback->quantiles.p99_ns));
    if (callback->period.steps > 0)
        cause_more(finding->evidence, ", every %" PRId64 " steps one of %s",
                   callback->period.steps,
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
        cause_more(finding->evidence, "; blocked: its thread ran %.0f %% of that time",
                   100 * busy.mid);
    else if (busy.low >= callback_busy)
        cause_more(finding->evidence, "; busy: its thread ran %.0f %% of that time",
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
    const char *between = "; not counted as its own:";
    char text[UNITS_SIZE];

    for (int part = 0; part < CALL_PARTS; part++) {
        int64_t ns = 0;
        for (int place = (int)first; place <= (int)last; place++)
            ns += callback->part_ns[place][part];
        if (ns <= 0 ||
            (double)ns < callback_part_said * callback->mean_ns * (double)callback->count)
            continue;
        cause_more(finding->evidence, "%s %s %s", between, units_duration(text, ns),
                   what[part]);
        between = ",";
    }
}

/* Without hooks that see it, the first read of a result looks like a callback that waits. */
static void say_unknown(struct finding *finding, const struct patient *patient,
                        const struct snap_callback *callback)
{
    const struct snap_loop *loop = patient->loop;
    const bool is_late = loop->is_asynchronous || loop->source == SOURCE_JIT;

    if (callback->part_ns[CALLED_IN_STEP][PART_WAIT] > 0)
        cause_text(finding->unknown,
                   "the wait for the device may be for work that has to be done anyway: "
                   "then it would move to whoever reads a result next");
    else if (is_late && is_blocked(callback))
        cause_text(finding->unknown,
                   "whoever reads a result first waits for the device: that time would "
                   "move to whoever reads next");
}

static void find_in_steps(struct patient *patient, const struct snap_span *span)
{
    const struct snap_callback *callback = span->callback;
    const struct interval own = share_of(patient, callback->own);
    const struct interval all = share_of(patient, callback->with_waits);
    const struct interval share = {own.low, own.mid, fmax(own.high, all.high)};
    const bool waits = callback->part_ns[CALLED_IN_STEP][PART_WAIT] > 0;
    struct finding *finding =
        cause_add_share(patient, "callback-bound", share, callback_bands, "the step");
    const bool is_own = finding != NULL;
    char name[CAUSE_NAME_SIZE];

    if (!is_own && waits && isfinite(all.low) && all.low >= callback_bands.info)
        finding = cause_add(patient, "callback-bound", FINDING_INFO, share, "the step");
    if (!finding)
        return;
    cause_text(finding->claim, "%s takes %.1f %% of the step", cause_name(name, span),
               100 * own.mid);
    if (!isfinite(callback->own.high) &&
        own.mid < callback_alone * patient->loop->stage[SS_STAGE_CALLBACK].share.mid)
        finding->kind = SHARE_ESTIMATE;
    if (waits) {
        finding->kind = is_own ? SHARE_ESTIMATE : SHARE_BOUND;
        cause_more(finding->claim, " itself, and waits for the device another %.1f %%",
                   100 * (all.mid - own.mid));
    }
    finding->leaves_cold = !(busy_part(callback).low >= callback_busy);
    say_calls(finding, patient, span);
    say_busy(finding, callback);
    say_parts(finding, callback, CALLED_IN_STEP, CALLED_IN_STEP);
    cause_weigh_host(finding, patient);
    say_unknown(finding, patient, callback);
    cause_text(finding->check, "train without it once");
}

/* However long the training is: short runs have much of it. */
static bool comes_once(const struct snap_span *span)
{
    return span->callback->at[CALLED_BETWEEN].count == 0 ||
           span->scope == SS_SCOPE_TRAIN_BEGIN || span->scope == SS_SCOPE_TRAIN_END;
}

static void find_outside(struct patient *patient, const struct snap_span *span)
{
    const struct snap_callback *callback = span->callback;
    const struct call_sum *before = &callback->at[CALLED_BEFORE];
    const struct call_sum *between = &callback->at[CALLED_BETWEEN];
    const int64_t wait_ns = callback->part_ns[CALLED_BEFORE][PART_WAIT] +
                            callback->part_ns[CALLED_BETWEEN][PART_WAIT];
    int64_t own_ns = before->total_ns + between->total_ns;

    for (int part = 0; part < CALL_PARTS; part++)
        own_ns -= callback->part_ns[CALLED_BEFORE][part] +
                  callback->part_ns[CALLED_BETWEEN][part];
    const double times = (double)(before->count + between->count);
    struct interval share = cause_cut_share(patient, own_ns, times);
    share.high = cause_cut_share(patient, own_ns + wait_ns, times).high;
    if (patient->has_few_steps && share.mid < few_least)
        return;
    struct finding *finding =
        cause_add_share(patient, "callback-bound", share, cut_bands, "the loop");
    char name[CAUSE_NAME_SIZE];
    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    if (comes_once(span))
        finding->severity = FINDING_INFO;
    cause_text(finding->claim,
               "%s takes %.1f %% of the loop's time, outside of its steps",
               cause_name(name, span), 100 * share.mid);
    say_calls(finding, patient, span);
    say_busy(finding, callback);
    say_parts(finding, callback, CALLED_BEFORE, CALLED_BETWEEN);
    cause_text(finding->advice,
               "do its work every few epochs instead of after each, on less data, or in "
               "another thread");
    cause_text(finding->check, "train without it once");
}

void causes_of_callbacks(struct patient *patient)
{
    const struct snapshot *snapshot = patient->snapshot;

    for (size_t i = 0; i < snapshot->span_count; i++) {
        const struct snap_span *span = &snapshot->spans[i];
        if (!span->callback)
            continue;
        if (span->callback->at[CALLED_IN_STEP].count > 0)
            find_in_steps(patient, span);
        find_outside(patient, span);
    }
}
