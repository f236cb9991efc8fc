#include "diagnose/causes.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/run_cores.h"
#include "diagnose/run_gpus.h"
#include "model/snapshot_hot.h"
#include "stepscope/counters.h"

/* Warm-up and evaluation belong to a loop, but a step has no part in the latter. */
static double part_of_loop(const struct snap_loop *loop, const char *of)
{
    if (!loop || loop->wall_ns <= 0 || strcmp(of, "the step") != 0)
        return 1;
    return fmin(1, (double)(loop->warmup_ns + loop->steady_ns) / (double)loop->wall_ns);
}

struct finding *cause_add(struct patient *patient, const char *id,
                          enum finding_severity severity, struct interval share,
                          const char *of)
{
    struct diagnosis *out = patient->out;

    if (out->count == FINDINGS_MOST)
        return NULL;
    struct finding *finding = &out->finding[out->count++];
    *finding = (struct finding){.id = id,
                                .severity = severity,
                                .share = share,
                                .of = of,
                                .of_loop = part_of_loop(patient->loop, of),
                                .kind = patient->has_few_steps ? SHARE_ESTIMATE
                                                               : SHARE_INTERVAL};
    cause_text(finding->advice, "%s", advice_for(id, patient->framework));
    return finding;
}

struct finding *cause_add_share(struct patient *patient, const char *id,
                                struct interval share, struct bands bands, const char *of)
{
    /* Without an interval (too few steps) nothing is claimed. */
    if (!isfinite(share.low) || share.low < bands.info)
        return NULL;
    return cause_add(patient, id,
                     share.low >= bands.high   ? FINDING_HIGH
                     : share.low >= bands.warn ? FINDING_WARN
                                               : FINDING_INFO,
                     share, of);
}

struct interval cause_estimate(const struct patient *patient, struct interval share)
{
    const bool is_known = !patient->has_few_steps && isfinite(share.high);

    if (is_known || !(share.mid >= few_least))
        return share;
    return (struct interval){share.mid * few_times_least, share.mid,
                             fmin(1, share.mid * few_times_most)};
}

static void add_text(char *out, size_t used, const char *format, va_list arguments)
    ATTR_PRINTF(3, 0);

static void add_text(char *out, size_t used, const char *format, va_list arguments)
{
    if (used < FINDING_TEXT_SIZE)
        vsnprintf(out + used, FINDING_TEXT_SIZE - used, format, arguments);
}

void cause_text(char out[FINDING_TEXT_SIZE], const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add_text(out, 0, format, arguments);
    va_end(arguments);
}

void cause_more(char out[FINDING_TEXT_SIZE], const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add_text(out, strlen(out), format, arguments);
    va_end(arguments);
}

void cause_unobservable(struct patient *patient, const char *id, const char *reason,
                        const char *needs)
{
    struct diagnosis *out = patient->out;

    for (size_t i = 0; i < out->unobservable_count; i++)
        if (strcmp(out->unobservable[i].id, id) == 0)
            return;
    if (out->unobservable_count < UNOBSERVABLE_MOST)
        out->unobservable[out->unobservable_count++] =
            (struct unobservable){id, reason, needs};
}

bool cause_can_see(struct patient *patient, const char *id, unsigned stage)
{
    const struct snap_stage *found = &patient->loop->stage[stage];

    if (found->measured)
        return true;
    if (found->reason)
        cause_unobservable(patient, id, found->reason,
                           patient->framework == FRAMEWORK_KERAS
                               ? "train once with batches from outside of the compiled "
                                 "step: train_on_batch(), or compile(run_eagerly=True)"
                               : "train with one loop at a time");
    else
        cause_unobservable(
            patient, id,
            "nothing of that kind was recorded: it did not happen, or no hook saw it",
            "if the script does it, name it: with stepscope.stage() in Python, "
            "ss_begin() in C");
    return false;
}

/* Why the counter has no value here, and what would give it one. */
void cause_without(struct patient *patient, const char *id, unsigned counter)
{
    const struct snapshot *snapshot = patient->snapshot;
    const struct snap_resource *row = snapshot_resource(snapshot, counter, SNAP_ANY);

    if (snapshot->resources.count == 0)
        cause_unobservable(patient, id, "nobody watched the machine",
                           "start the training with `stepscope run`");
    else if (!row || row->state == SS_SYSTEM_ABSENT)
        cause_unobservable(patient, id, "this machine does not count it",
                           "`stepscope doctor` says what this machine has");
    else if (row->state == SS_SYSTEM_DENIED)
        cause_unobservable(patient, id, "we may not read the counter",
                           "`stepscope doctor` says who may");
    else
        cause_unobservable(patient, id, "the loop ended before it was looked at",
                           "a longer run");
}

const struct snap_resource *cause_counter(struct patient *patient, const char *id,
                                          unsigned counter)
{
    const struct snap_resource *row =
        snapshot_value(patient->snapshot, counter, SNAP_ANY);

    if (!row)
        cause_without(patient, id, counter);
    return row;
}

double cause_cores(const struct patient *patient)
{
    const double cores = (double)run_cores_of(patient->snapshot).count;
    const struct snap_resource *limit =
        snapshot_value(patient->snapshot, SS_COUNTER_ID_CGROUP_CPU_LIMIT, SNAP_ANY);

    return limit && limit->last > 0 && limit->last < cores ? limit->last : cores;
}

struct finding *cause_find(const struct patient *patient, const char *id)
{
    struct diagnosis *out = patient->out;

    for (size_t i = 0; i < out->count; i++)
        if (strcmp(out->finding[i].id, id) == 0)
            return &out->finding[i];
    return NULL;
}

struct interval cause_busy(const struct patient *patient, unsigned stage)
{
    const uint64_t *seen = patient->snapshot->resources.states[stage];
    const uint64_t all = seen[0] + seen[1] + seen[2];

    return all >= LOOKS_NEEDED ? snapshot_share(seen[SS_THREAD_RUNS], all)
                               : (struct interval){NAN, NAN, NAN};
}

bool cause_may_wait(const struct patient *patient, unsigned stage)
{
    return !(cause_busy(patient, stage).mid >= mostly_busy);
}

const struct snap_hot_line *cause_hot_line(const struct patient *patient, unsigned stage)
{
    const struct snap_hot *hot = &patient->snapshot->hot;

    for (size_t i = 0; i < hot->line_count; i++) {
        const struct snap_hot_line *line = &hot->lines[i];
        if (line->place == stage && line->at.line > 0)
            return line->share.low >= line_share ? line : NULL;
    }
    return NULL;
}

double cause_device_busy(const struct patient *patient)
{
    const struct snapshot *snapshot = patient->snapshot;
    const struct run_gpus gpus = run_gpus_of(snapshot, patient->run);
    double least = NAN;

    for (size_t i = 0; i < snapshot->resources.count; i++) {
        const struct snap_resource *row = &snapshot->resources.rows[i];
        if (row->counter == SS_COUNTER_ID_GPU_BUSY && run_gpus_has(&gpus, row->subject) &&
            snapshot_value(snapshot, row->counter, row->subject))
            least = fmin(least, row->mean);
    }
    return least;
}

void cause_weigh_host(struct finding *finding, const struct patient *patient)
{
    if (!patient->loop->is_asynchronous)
        return;
    const double busy = cause_device_busy(patient);
    if (isfinite(busy)) {
        finding->share.high = fmin(finding->share.high, fmax(1 - busy, 0));
        finding->share.mid = fmin(finding->share.mid, finding->share.high);
        cause_more(finding->evidence, "; the device was busy %.0f %% of the time",
                   100 * busy);
    }
    if (busy >= gpu_working)
        finding->severity = FINDING_INFO;
    finding->share.low = 0;
    finding->kind = SHARE_BOUND;
    cause_text(finding->unknown,
               "how much of that the device computes meanwhile: then it is no loss");
}

struct interval cause_of_other(const struct patient *patient, uint64_t samples)
{
    const struct interval other = patient->loop->stage[SS_STAGE_OTHER].share,
                          part = snapshot_share(
                              samples,
                              patient->snapshot->hot.place_samples[SS_STAGE_OTHER]);

    return (struct interval){other.low * part.low, other.mid * part.mid,
                             other.high * part.high};
}

bool cause_is_disturbed(const struct patient *patient, enum validity_level level)
{
    static const char *const ids[] = {"preempted", "steal",  "cgroup", "swap",
                                      "frequency", "memory", "others", "heat"};
    const struct validity *validity = &patient->out->validity;

    for (size_t i = 0; i < validity->count; i++)
        for (size_t k = 0; k < sizeof ids / sizeof ids[0]; k++)
            if (validity->item[i].level >= level &&
                strcmp(validity->item[i].id, ids[k]) == 0)
                return true;
    return false;
}

static void say_slow(struct finding *finding, const struct attributed *item,
                     bool with_words)
{
    char text[ATTRIBUTION_TEXT_SIZE];

    if (item)
        cause_more(finding->evidence, "; slow steps %s",
                   attribution_text(text, item, with_words));
}

void cause_say_slow(struct finding *finding, const struct patient *patient)
{
    say_slow(finding, attribution_of(&patient->out->attribution, finding->id), false);
}

void cause_say_any_slow(struct finding *finding, const struct patient *patient)
{
    say_slow(finding, attribution_best(&patient->out->attribution), true);
}
