#include "diagnose/causes.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/code_place.h"
#include "diagnose/hardware.h"
#include "diagnose/hot_function.h"
#include "read/run.h"
#include "render/units.h"
#include "stepscope/counters.h"
#include "summary/snapshot.h"

/* A cut that was seen n times may have been cut off, or just begun: a quarter of one more or less
 * on average (ours). */
static const double cut_unsure = 0.25;

/* Warm-up and evaluation belong to a loop, but a step has no part in the latter. */
static double part_of_loop(const struct snap_loop *loop, enum finding_of of)
{
    if (!loop || loop->wall_ns <= 0 || of != OF_STEP)
        return 1;
    return fmin(1, (double)(loop->warmup_ns + loop->steady_ns) / (double)loop->wall_ns);
}

/* A part of the time is no more than all of it, whatever a crafted run claims; an end that is not
 * known stays so. */
static double part_of_all(double share)
{
    return isfinite(share) && share > 1 ? 1 : share;
}

static void advise_case(struct finding *finding, const struct diagnosis_input *input)
{
    const struct finding_case *cases = finding_kind_of(finding->id)->cases;

    for (int i = 0; i < FINDING_CASES_MOST && cases[i].when; i++)
        if (cases[i].holds && cases[i].holds(input)) {
            cause_advise(finding, i);
            return;
        }
}

struct finding *cause_add(struct diagnosis_input *input, enum finding_id id,
                          enum finding_severity severity, struct interval share, enum finding_of of)
{
    struct diagnosis *out = input->out;

    if (out->count == FINDINGS_MOST)
        return NULL;
    struct finding *finding = &out->finding[out->count++];
    *finding = (struct finding){
        .id = id,
        .severity = severity,
        .share = {part_of_all(share.low), part_of_all(share.mid), part_of_all(share.high)},
        .of = of,
        .of_loop = part_of_loop(input->loop, of),
        .predicted = {NAN, NAN, NAN},
        .kind = input->has_few_steps ? SHARE_ESTIMATE : SHARE_INTERVAL};
    cause_text(finding->advice, "%s",
               finding_advice(id, id == FINDING_INPUT_BOUND ? input->loader : input->framework));
    advise_case(finding, input);
    return finding;
}

struct finding *cause_add_share(struct diagnosis_input *input, enum finding_id id,
                                struct interval share, struct bands bands, enum finding_of of)
{
    /* Without an interval (too few steps) nothing is claimed. */
    if (!isfinite(share.low) || share.low < bands.info)
        return NULL;
    return cause_add(input, id,
                     share.low >= bands.high   ? FINDING_HIGH
                     : share.low >= bands.warn ? FINDING_WARN
                                               : FINDING_INFO,
                     share, of);
}

struct interval cause_estimate(const struct diagnosis_input *input, struct interval share)
{
    const bool is_known = !input->has_few_steps && isfinite(share.high);

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

bool cause_has_variable(const struct diagnosis_input *input, const char *variable)
{
    char key[64];

    if (!input->loop)
        return false;
    snprintf(key, sizeof key, "env.%s", variable);
    return ss_run_info(input->run, input->loop->process, key).size > 0;
}

void cause_advise(struct finding *finding, int which)
{
    cause_text(finding->advice, "%s", finding_kind_of(finding->id)->cases[which].advice);
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

void cause_unobservable(struct diagnosis_input *input, enum finding_id id, const char *reason,
                        const char *needs)
{
    struct diagnosis *out = input->out;

    for (size_t i = 0; i < out->unobservable_count; i++)
        if (out->unobservable[i].id == id)
            return;
    if (out->unobservable_count < UNOBSERVABLE_MOST)
        out->unobservable[out->unobservable_count++] = (struct unobservable){id, reason, needs};
}

bool cause_can_see(struct diagnosis_input *input, enum finding_id id, unsigned stage)
{
    const struct snap_stage *found = &input->loop->stage[stage];

    if (found->measured)
        return true;
    if (found->reason)
        cause_unobservable(
            input, id, found->reason,
            input->framework == FRAMEWORK_KERAS
                ? "train once with batches fetched outside the compiled step: train_on_batch(), or compile(run_eagerly=True)"
                : "train with one loop at a time");
    else
        cause_unobservable(
            input, id, "nothing of that kind was recorded: it did not happen, or no hook saw it",
            "if the script does it, name it with stepscope.stage() in Python or ss_begin() in C");
    return false;
}

/* Why the counter has no value here, and what would give it one. */
void cause_without(struct diagnosis_input *input, enum finding_id id, unsigned counter)
{
    const struct snapshot *snapshot = input->snapshot;
    const struct snap_resource *row = snapshot_resource(snapshot, counter, SNAP_ANY);

    if (snapshot->resources.count == 0)
        cause_unobservable(input, id, "system metrics were not collected",
                           "start the training with `stepscope run`");
    else if (!row || row->state == SS_SYSTEM_ABSENT)
        cause_unobservable(input, id, "this machine has no such counter",
                           "`stepscope doctor` shows what this machine has");
    else if (row->state == SS_SYSTEM_DENIED)
        cause_unobservable(input, id, "permission denied",
                           "`stepscope doctor` shows how to allow it");
    else
        cause_unobservable(input, id, "the loop ended before the first sample", "a longer run");
}

const struct snap_resource *cause_counter(struct diagnosis_input *input, enum finding_id id,
                                          unsigned counter)
{
    const struct snap_resource *row = snapshot_value(input->snapshot, counter, SNAP_ANY);

    if (!row)
        cause_without(input, id, counter);
    return row;
}

double cause_cores(const struct diagnosis_input *input)
{
    const double cores = (double)run_cores_of(input->snapshot).count;
    const struct snap_resource *limit =
        snapshot_value(input->snapshot, SS_COUNTER_ID_CGROUP_CPU_LIMIT, SNAP_ANY);

    return limit && limit->last > 0 && limit->last < cores ? limit->last : cores;
}

struct finding *cause_find(const struct diagnosis_input *input, enum finding_id id)
{
    struct diagnosis *out = input->out;

    for (size_t i = 0; i < out->count; i++)
        if (out->finding[i].id == id)
            return &out->finding[i];
    return NULL;
}

struct interval cause_busy(const struct diagnosis_input *input, unsigned stage)
{
    const uint64_t *seen = input->snapshot->resources.states[stage];
    const uint64_t all = seen[0] + seen[1] + seen[2];

    return all >= LOOKS_NEEDED ? snapshot_share(seen[SS_THREAD_RUNS], all)
                               : (struct interval){NAN, NAN, NAN};
}

double cause_works(const struct diagnosis_input *input, unsigned stage)
{
    const struct snap_loop *loop = input->loop;
    const uint64_t thread = (uint64_t)run_pid(input->run, loop->process) << 32 | loop->tid;
    const struct snap_resource *wait =
        snapshot_value(input->snapshot, SS_COUNTER_ID_THREAD_WAIT, thread);
    const double ready = cause_busy(input, stage).mid, waits = wait ? wait->mean / 1e9 : 0;

    return isfinite(ready) && waits < 1 ? fmax(0, (ready - waits) / (1 - waits)) : NAN;
}

bool cause_may_wait(const struct diagnosis_input *input, unsigned stage)
{
    return !(cause_busy(input, stage).mid >= mostly_busy);
}

const struct snap_hot_line *cause_hot_line(const struct diagnosis_input *input, unsigned stage)
{
    const struct snap_hot *hot = &input->snapshot->hot;

    for (size_t i = 0; i < hot->line_count; i++) {
        const struct snap_hot_line *line = &hot->lines[i];
        if (line->place == stage && line->at.line > 0)
            return line->share.low >= line_share ? line : NULL;
    }
    return NULL;
}

double cause_device_busy(const struct diagnosis_input *input)
{
    const struct snapshot *snapshot = input->snapshot;
    const struct run_gpus gpus = run_gpus_of(snapshot, input->run);
    double least = NAN;

    for (size_t i = 0; i < snapshot->resources.count; i++) {
        const struct snap_resource *row = &snapshot->resources.rows[i];
        if (row->counter == SS_COUNTER_ID_GPU_BUSY && run_gpus_has(&gpus, row->subject) &&
            snapshot_value(snapshot, row->counter, row->subject))
            least = fmin(least, row->mean);
    }
    return least;
}

void cause_weigh_host(struct finding *finding, const struct diagnosis_input *input)
{
    if (!snapshot_overlaps(input->loop))
        return;
    const double busy = cause_device_busy(input);
    if (isfinite(busy)) {
        finding->share.high = fmin(finding->share.high, fmax(1 - busy, 0));
        finding->share.mid = fmin(finding->share.mid, finding->share.high);
        cause_more(finding->evidence, "; the device was busy %.0f %% of the time", 100 * busy);
    }
    if (busy >= gpu_working)
        finding->severity = FINDING_INFO;
    finding->share.low = 0;
    finding->kind = SHARE_BOUND;
    cause_text(finding->unknown,
               "how much the device computes during that time, which is then no loss");
}

struct interval cause_of_other(const struct diagnosis_input *input, uint64_t samples)
{
    const struct interval other = input->loop->stage[SS_STAGE_OTHER].share,
                          part = snapshot_share(samples,
                                                input->snapshot->hot.place_samples[SS_STAGE_OTHER]);

    return (struct interval){other.low * part.low, other.mid * part.mid, other.high * part.high};
}

bool cause_is_disturbed(const struct diagnosis_input *input, enum validity_level level)
{
    static const enum validity_id ids[] = {VALIDITY_PREEMPTED, VALIDITY_STEAL,     VALIDITY_CGROUP,
                                           VALIDITY_SWAP,      VALIDITY_FREQUENCY, VALIDITY_MEMORY,
                                           VALIDITY_OTHERS,    VALIDITY_HEAT};
    const struct validity *validity = &input->out->validity;

    for (size_t i = 0; i < validity->count; i++)
        for (size_t k = 0; k < sizeof ids / sizeof ids[0]; k++)
            if (validity->item[i].level >= level && validity->item[i].id == ids[k])
                return true;
    return false;
}

static void say_slow(struct finding *finding, const struct attributed *item, bool with_words)
{
    char text[ATTRIBUTION_TEXT_SIZE];

    if (item)
        cause_more(finding->evidence, "; slow steps %s", attribution_text(text, item, with_words));
}

void cause_say_slow(struct finding *finding, const struct diagnosis_input *input)
{
    say_slow(finding, attribution_of(&input->out->attribution, finding->id), false);
}

void cause_say_any_slow(struct finding *finding, const struct diagnosis_input *input)
{
    say_slow(finding, attribution_best(&input->out->attribution), true);
}

const char *cause_name(char out[CAUSE_NAME_SIZE], const struct snap_span *span)
{
    struct buf name = {0};

    snapshot_span_name(&name, span);
    snprintf(out, CAUSE_NAME_SIZE, "%s", buf_text(&name));
    buf_release(&name);
    return out;
}

struct interval cause_cut_share(const struct diagnosis_input *input, int64_t ns, double times)
{
    const int64_t wall_ns = input->loop->wall_ns;
    const double share = wall_ns > 0 ? (double)ns / (double)wall_ns : 0;
    const double unsure = share * cut_unsure / fmax(times, 1);

    return (struct interval){share - unsure, share, fmin(1, share + unsure)};
}

void cause_say_stage(struct finding *finding, const struct diagnosis_input *input, unsigned stage,
                     const char *what)
{
    const struct snap_stage *found = &input->loop->stage[stage];
    char mean[UNITS_SIZE], step[UNITS_SIZE], p99[UNITS_SIZE];

    cause_text(finding->claim, "%s %.1f %% of the step", what, 100 * found->share.mid);
    cause_text(finding->evidence, "%s of %s per step",
               units_duration(mean, (int64_t)found->mean_ns),
               units_duration(step, (int64_t)input->loop->step_ns.mid));
    if (isfinite(found->quantiles.p99_ns) && input->loop->steady_steps >= SNAP_LEAST_FOR_P99)
        cause_more(finding->evidence, ", p99 %s",
                   units_duration(p99, (int64_t)found->quantiles.p99_ns));
}

/* Programs that name their own parts have no stack samples, but names that say what a stage is. */
static void say_call(struct finding *finding, const struct diagnosis_input *input, unsigned stage)
{
    static const double call_least = 0.5; /* of the stage (ours) */
    const struct snapshot *snapshot = input->snapshot;
    const double whole = input->loop->stage[stage].share.mid;
    const struct snap_span *most = NULL;
    char name[CAUSE_NAME_SIZE];

    for (size_t i = 0; i < snapshot->span_count; i++) {
        const struct snap_span *span = &snapshot->spans[i];
        if (span->stage == stage && span->share.mid >= call_least * whole &&
            (!most || span->share.mid > most->share.mid))
            most = span;
    }
    if (most)
        cause_more(finding->evidence, "; %.0f %% of it in %s",
                   100 * fmin(1, most->share.mid / whole), cause_name(name, most));
}

void cause_say_line(struct finding *finding, const struct diagnosis_input *input, unsigned stage)
{
    const struct snap_hot_line *line = cause_hot_line(input, stage);
    const struct hot_function function = hot_function_most(input, stage, hot_count_all);

    if (hot_function_is_whole(&function)) {
        const struct interval share =
            snapshot_share(function.samples, input->snapshot->hot.place_samples[stage]);
        if (!(share.low >= line_share))
            return;
        cause_more(finding->evidence, "; %.0f %% of it in ", 100 * share.mid);
        hot_function_say(finding->evidence, input, &function, hot_count_all);
    } else if (line)
        cause_more(finding->evidence, "; %.0f %% of it at %s%s%" PRIu32 " (%s)",
                   100 * line->share.mid, line->at.file, code_line_mark(line->at.file, false),
                   line->at.line, line->at.function);
    else if (framework_below(input->framework) == FRAMEWORK_OTHER)
        say_call(finding, input, stage);
}

/* 20 samples a second, of which many are late on a busy machine (ours). */
static const double sampled_least_per_s = 5;

void cause_say_outside(struct finding *finding, const struct diagnosis_input *input, int64_t ns)
{
    const struct snap_thread *thread =
        input->snapshot->thread_count ? input->snapshot->threads : NULL;
    const size_t before = strlen(finding->evidence);
    const double samples = (double)input->snapshot->hot.place_samples[SNAP_HOT_OUTSIDE];

    if (!thread || samples < sampled_least_per_s * (double)ns / 1e9 ||
        (double)ns <
            own_line_least * (double)(thread->wall_ns - thread->segment_ns[SEGMENT_WARMUP_NS] -
                                      thread->segment_ns[SEGMENT_STEADY_NS]))
        return;
    cause_say_line(finding, input, SNAP_HOT_OUTSIDE);
    if (strlen(finding->evidence) > before)
        cause_more(finding->evidence, ", of all time outside steps");
}

struct finding *cause_add_stage(struct diagnosis_input *input, enum finding_id id, unsigned stage,
                                const char *what, const char *check)
{
    if (!cause_can_see(input, id, stage))
        return NULL;
    struct finding *finding =
        cause_add_share(input, id, input->loop->stage[stage].share, stage_bands, OF_STEP);
    if (!finding)
        return NULL;
    cause_say_stage(finding, input, stage, what);
    finding->leaves_cold = stage == SS_STAGE_GC || cause_may_wait(input, stage);
    cause_say_line(finding, input, stage);
    cause_text(finding->check, "%s", check);
    return finding;
}

double cause_major_faults(const struct diagnosis_input *input, double *all)
{
    const struct snap_resources *resources = &input->snapshot->resources;
    double per_s = 0;

    *all = 0;
    for (size_t i = 0; i < resources->count; i++) {
        const struct snap_resource *row = &resources->rows[i];
        if (row->counter == SS_COUNTER_ID_PROCESS_MAJOR_FAULTS && isfinite(row->mean)) {
            per_s += row->mean;
            *all += row->gained;
        }
    }
    return per_s;
}

static void add_disturbance(struct diagnosis_input *input, enum finding_id id,
                            const struct validity_item *item, bool is_share)
{
    const bool is_wait = id == FINDING_PREEMPTED;
    const double share = is_share ? fmin(item->value, 1) : NAN;
    /* How much of it the steps lost is not known: the share is of the time, not of the step. But
     * what the loop itself waited for is lost to it, at least where others had the core, and its
     * helpers waited too. */
    const struct interval range = {!is_share ? NAN
                                   : is_wait ? share * waited_least
                                             : 0,
                                   share, is_wait ? fmin(1, share * waited_most) : share};

    struct finding *finding = cause_find(input, id);
    if (finding) {
        cause_more(finding->evidence, "; %s", item->text);
        return;
    }
    finding = cause_add(input, id, FINDING_WARN, range, OF_LOOP);
    if (!finding)
        return;
    finding->kind = is_wait ? SHARE_ESTIMATE : SHARE_BOUND;
    cause_text(finding->claim, "%s", item->text);
    cause_text(finding->evidence, "counted by the kernel while the loop ran");
    cause_say_slow(finding, input);
    cause_text(finding->check, "the line 'valid' or 'caution' of the next summary");
    cause_text(finding->unknown, "how much time the steps lost to it");
}

void cause_disturbed(struct diagnosis_input *input, enum finding_id id,
                     const struct cause_disturbance *disturbance)
{
    const struct validity *validity = &input->out->validity;

    for (size_t i = 0; i < validity->count; i++) {
        const struct validity_item *item = &validity->item[i];
        if (item->id != disturbance->item)
            continue;
        if (item->level == VALIDITY_WARN)
            add_disturbance(input, id, item, disturbance->is_share);
        else if (item->level == VALIDITY_UNSEEN && !disturbance->is_second)
            cause_without(input, id, disturbance->counter);
    }
}
