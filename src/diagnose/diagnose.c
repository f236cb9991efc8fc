#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/causes.h"
#include "diagnose/framework.h"

/* A share that may or may not warn is worth more steps if it may be as much as twice what does; one
 * of 4 to 6 % is not. How many steps is said where that is less than ten times as many as there
 * were; at least a tenth more (ours). */
static const double inconclusive_from = 0.1, inconclusive_more_most = 10,
                    inconclusive_more_least = 0.1;

/* The order in which they are looked for: straggler and
 * rank-jitter change comm-bound, cpu-oversubscribed and
 * cgroup-throttled change preempted, and the course of the steps is judged by what was found before
 * it; compute-bound is claimed last. Of findings with equal gains the first stays first. */
static const enum finding_id order[] = {
    FINDING_TOO_FEW_STEPS,
    FINDING_INPUT_BOUND,
    FINDING_TRANSFER_BOUND,
    FINDING_SYNC_BOUND,
    FINDING_COMM_BOUND,
    FINDING_GC_PAUSES,
    FINDING_SETUP_HEAVY,
    FINDING_STRAGGLER,
    FINDING_RANK_JITTER,
    FINDING_RETRACE_STORM,
    FINDING_COMPILE_HEAVY,
    FINDING_STARTUP_HEAVY,
    FINDING_CALLBACK_BOUND,
    FINDING_USER_CODE,
    FINDING_INSTRUMENT_MORE,
    FINDING_EVAL_HEAVY,
    FINDING_CHECKPOINT_HEAVY,
    FINDING_OVERHEAD_BOUND,
    FINDING_DRIFT,
    FINDING_PERIODIC_PAUSE,
    FINDING_BIMODAL,
    FINDING_PREEMPTED,
    FINDING_STEAL,
    FINDING_CGROUP_THROTTLED,
    FINDING_SWAP,
    FINDING_CLOCK_DROP,
    FINDING_PAGE_FAULTS,
    FINDING_MEMORY_LEAK,
    FINDING_CPU_OVERSUBSCRIBED,
    FINDING_FRESH_MEMORY,
    FINDING_GPU_IDLE,
    FINDING_GPU_MEMORY_FULL,
    FINDING_GPU_CLOCKS_HELD,
    FINDING_LATENCY_TAIL,
    FINDING_DISPATCH_BOUND,
    FINDING_COPIES_AND_CASTS,
    FINDING_COMPUTE_BOUND,
    FINDING_HOT_LAYER,
};
_Static_assert(sizeof order / sizeof order[0] == FINDING_COUNT, "");

/* A disturbance of the machine leads only if it took a tenth of the time or more (ours): below
 * that it is a word of caution, not what holds a training back. */
static const double disturbance_leads = 0.1;

static double part_of_loop(const struct finding *finding)
{
    return finding->share.mid * finding->of_loop;
}

/* The disturbances that explain less than a cause in the script, or too little to lead. */
static void order_disturbances(struct diagnosis *out)
{
    double largest = 0;

    for (size_t i = 0; i < out->count; i++) {
        const struct finding *finding = &out->finding[i];
        const struct finding_kind *kind = finding_kind_of(finding->id);
        if (finding->severity >= FINDING_WARN && !kind->is_disturbance && !kind->is_no_loss)
            largest = fmax(largest, part_of_loop(finding));
    }
    for (size_t i = 0; i < out->count; i++) {
        struct finding *finding = &out->finding[i];
        if (!finding_kind_of(finding->id)->is_disturbance)
            continue;
        if (part_of_loop(finding) < disturbance_leads)
            finding->severity = FINDING_INFO;
        finding->leads = part_of_loop(finding) > largest;
    }
}

/* What warns is before what does not; then the certain saving counts (method 10.6). */
static double rank_of(const struct finding *finding)
{
    const double low =
        finding->leads ? part_of_loop(finding) : finding_saving(finding).low * finding->of_loop;

    if (finding->leads && finding->severity >= FINDING_WARN)
        return 20 + low;
    return (finding->severity >= FINDING_WARN ? 10 : 0) + (isfinite(low) ? low : -1);
}

/* Of two that may gain nothing at all, the one that may gain more is first. */
static int compare(const void *a, const void *b)
{
    const double x = rank_of(a), y = rank_of(b);
    const double x_most = finding_gain_most(a), y_most = finding_gain_most(b);

    if (x != y)
        return (x < y) - (x > y);
    return (x_most < y_most) - (x_most > y_most);
}

/* What cannot be judged yet. A share decides by its interval (method 10.7): bound if the lower end
 * is above what warns, not bound if the upper end is below it, else more steps are needed.
 *
 * Those that are a wait or a loss as they are. But for COMM that is so only while nothing is
 * computed during that time. */
static const struct {
    unsigned stage;
    enum finding_id id;
} losses[] = {
    {SS_STAGE_DATA, FINDING_INPUT_BOUND},       {SS_STAGE_TRANSFER, FINDING_TRANSFER_BOUND},
    {SS_STAGE_SYNC, FINDING_SYNC_BOUND},        {SS_STAGE_COMM, FINDING_COMM_BOUND},
    {SS_STAGE_SETUP, FINDING_SETUP_HEAVY},      {SS_STAGE_GC, FINDING_GC_PAUSES},
    {SS_STAGE_CALLBACK, FINDING_CALLBACK_BOUND}};

/* How much of it is a loss no number of steps would show: a device computes in parallel, or waits
 * overlap. */
static bool is_bound(const struct snap_loop *loop, unsigned stage)
{
    return loop->stage[stage].at_most || (snapshot_overlaps(loop) && stage != SS_STAGE_COMM);
}

/* Steps until the nearer end of the interval passes what warns, as intervals shrink with the root
 * of the steps; 0: too many to say. */
static int64_t steps_missing(const struct snap_loop *loop, struct interval share, double warn)
{
    const double half = (share.high - share.low) / 2, apart = fabs(share.mid - warn);

    const double times = (half / apart) * (half / apart) - 1;

    if (!(times < inconclusive_more_most))
        return 0;
    return (int64_t)ceil((double)loop->steady_steps * fmax(times, inconclusive_more_least));
}

static void find_inconclusive(struct diagnosis_input *input)
{
    const struct snap_loop *loop = input->loop;
    struct inconclusive *out = &input->out->inconclusive;

    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        const struct snap_stage *found = &loop->stage[losses[i].stage];
        const double warn = finding_kind_of(losses[i].id)->said[0].bands->warn;
        if (!found->measured || is_bound(loop, losses[i].stage) || !isfinite(found->share.high) ||
            found->share.low >= warn || found->share.high < inconclusive_from ||
            found->share.high <= out->share.high)
            continue;
        *out = (struct inconclusive){.stage = losses[i].stage,
                                     .share = found->share,
                                     .more_steps = steps_missing(loop, found->share, warn)};
    }
}

/* One of two counters may be missing, and the other has shown it. */
static void forget_found(struct diagnosis_input *input)
{
    struct diagnosis *out = input->out;
    size_t kept = 0;

    for (size_t i = 0; i < out->unobservable_count; i++)
        if (!cause_find(input, out->unobservable[i].id))
            out->unobservable[kept++] = out->unobservable[i];
    out->unobservable_count = kept;
}

/* Also where a steady part was found in so few of them. */
static bool has_too_few(const struct snap_loop *loop)
{
    return loop->warmup.class == WARMUP_TOO_FEW || loop->steady_steps < WARMUP_MIN_STEADY;
}

/* Only the waits for results are few, not the steps: shares of the host's time are known, if not
 * how well (method 10.2). */
static bool has_few_waits(const struct snap_loop *loop)
{
    return snapshot_waits_seldom(loop) && loop->steady_steps >= WARMUP_MIN_STEADY;
}

static void estimate_shares(const struct diagnosis_input *input, struct snap_loop *loop)
{
    for (int i = 0; i < SS_STAGE_COUNT; i++)
        loop->stage[i].share = cause_estimate(input, loop->stage[i].share);
}

static void find_causes(struct diagnosis_input *input)
{
    const bool has_few = input->has_few_steps && !input->has_few_waits;
    const enum finding_needs given = !input->loop ? NEEDS_NOTHING
                                     : has_few    ? NEEDS_STEPS
                                                  : NEEDS_STEADY;

    for (size_t i = 0; i < FINDING_COUNT; i++) {
        const struct finding_kind *kind = finding_kind_of(order[i]);
        if (kind->needs >= given)
            kind->find(input);
    }
    if (given == NEEDS_STEADY)
        find_inconclusive(input);
}

void diagnose(struct diagnosis *out, const struct snapshot *snapshot, const struct ss_run *run,
              unsigned hooked, const struct operation_list *operations)
{
    struct snap_loop estimated;
    struct diagnosis_input input = {.snapshot = snapshot,
                                    .run = run,
                                    .operations = operations,
                                    .loop = snapshot->loop_count ? snapshot->loops : NULL,
                                    .out = out};

    input.framework = framework_find(snapshot, input.loop, hooked);
    input.loader = framework_of_batches(snapshot, input.framework);
    input.has_few_steps = input.loop && has_too_few(input.loop);
    input.has_few_waits = input.has_few_steps && has_few_waits(input.loop);
    if (input.has_few_waits) {
        estimated = *input.loop;
        estimate_shares(&input, &estimated);
        input.loop = &estimated;
    }
    *out = (struct diagnosis){0};
    validity_judge(&out->validity, snapshot, run);
    attribution_find(&out->attribution, snapshot, run);
    find_causes(&input);
    forget_found(&input);
    order_disturbances(out);
    qsort(out->finding, out->count, sizeof out->finding[0], compare);
}

void diagnose_job(struct diagnosis *out, const struct snapshot *snapshot)
{
    struct diagnosis_input input = {.snapshot = snapshot, .out = out};

    *out = (struct diagnosis){0};
    finding_kind_of(FINDING_STRAGGLER)->find(&input);
    finding_kind_of(FINDING_RANK_JITTER)->find(&input);
    qsort(out->finding, out->count, sizeof out->finding[0], compare);
}

const struct finding *diagnosis_worst(const struct diagnosis *diagnosis)
{
    return diagnosis->count > 0 && diagnosis->finding[0].severity >= FINDING_WARN
               ? &diagnosis->finding[0]
               : NULL;
}

const struct finding *diagnosis_first(const struct diagnosis *diagnosis)
{
    const struct finding *worst = diagnosis_worst(diagnosis);

    if (worst)
        return worst;
    for (size_t i = 0; i < diagnosis->count; i++)
        if (diagnosis->finding[i].id == FINDING_COMPUTE_BOUND)
            return &diagnosis->finding[i];
    return NULL;
}

const char *diagnosis_verdict(const struct diagnosis *diagnosis, const struct snapshot *snapshot)
{
    const struct finding *first = diagnosis_first(diagnosis);

    return first                                    ? finding_name(first->id)
           : snapshot->loop_count == 0              ? "no-steps"
           : diagnosis->inconclusive.share.high > 0 ? "inconclusive"
                                                    : "healthy";
}

bool diagnosis_is_healthy(const struct diagnosis *diagnosis, const struct snapshot *snapshot)
{
    return !diagnosis_first(diagnosis) && snapshot->loop_count > 0 &&
           !(diagnosis->inconclusive.share.high > 0);
}
