/* Waiting for data: how much, who makes it, and what another worker would gain (rule book 2). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "diagnose/causes.h"
#include "model/snapshot_hot.h"
#include "stats/replay.h"
#include "stepscope/counters.h"

/* The span of a stage that takes most; NULL: none was seen. */
static const struct snap_span *largest(const struct patient *patient, unsigned stage)
{
    for (size_t i = 0; i < patient->snapshot->span_count; i++)
        if (patient->snapshot->spans[i].stage == stage)
            return &patient->snapshot->spans[i];
    return NULL;
}

/* What makes batches beside the loop; NULL: not seen. */
static const struct snap_span *producer(const struct patient *patient)
{
    return largest(patient, SS_STAGE_PRODUCE);
}

/* The same, or the wait of a loop that makes its batches itself: of a DataLoader without workers. */
static const struct snap_span *maker(const struct patient *patient)
{
    const struct snap_span *made = producer(patient);

    return made || patient->framework != FRAMEWORK_TORCH
               ? made
               : largest(patient, SS_STAGE_DATA);
}

/* How many batches were being made on average. */
static double made_at_a_time(const struct patient *patient, const struct snap_span *made)
{
    return patient->loop->wall_ns > 0
               ? (double)made->total_ns / (double)patient->loop->wall_ns
               : 0;
}

/* What the wait is for, where batches are made beside the loop (rule book 2.4). */
enum waits_for {
    FOR_NOBODY, /* no producer was seen */
    FOR_MAKING,
    FOR_ITS_TURN, /* later batches were ready */
    FOR_HANDOVER  /* it was made already */
};

static enum waits_for find_reason(const struct patient *patient)
{
    const struct snap_input *input = &patient->snapshot->input;
    const double wait = (double)input->wait_ns;

    if (input->batches < REPLAY_CALLS || !(wait > 0))
        return FOR_NOBODY;
    if ((double)input->turn_ns >= input_part * wait)
        return FOR_ITS_TURN;
    return (double)input->making_ns >= input_part * wait ? FOR_MAKING : FOR_HANDOVER;
}

/* Parts of the wait of which those who make batches, or those who read, can tell. */
static void say_reason(struct finding *finding, const struct patient *patient)
{
    const struct snap_input *input = &patient->snapshot->input;
    const double wait = (double)input->wait_ns;
    char slow[UNITS_SIZE], usual[UNITS_SIZE];

    switch (find_reason(patient)) {
    case FOR_ITS_TURN:
        cause_more(
            finding->evidence,
            "; %.0f %% of it while later batches were ready and the next one was not",
            100 * (double)input->turn_ns / wait);
        break;
    case FOR_MAKING:
        cause_more(finding->evidence, "; %.0f %% of it until the batch was made",
                   100 * (double)input->making_ns / wait);
        break;
    case FOR_HANDOVER:
        cause_more(finding->evidence,
                   "; %.0f %% of it after the batch was made, to hand it over",
                   100 - 100 * (double)input->making_ns / wait);
        break;
    default:
        break;
    }
    if (input->slowest_ns > worker_slow * input->usual_ns && input->usual_ns > 0)
        cause_more(finding->evidence, "; one worker takes %s for a batch, the others %s",
                   units_duration(slow, (int64_t)input->slowest_ns),
                   units_duration(usual, (int64_t)input->usual_ns));
}

/* What says that it is the disk, or memory that has to be read in. */
static void say_reading(struct finding *finding, const struct patient *patient)
{
    const struct snap_resource *stalled = snapshot_value(patient->snapshot,
                                                         SS_COUNTER_ID_PSI_IO, SNAP_ANY),
                               *read = snapshot_value(patient->snapshot,
                                                      SS_COUNTER_ID_TREE_READ, SNAP_ANY);
    double all;
    const double faults = cause_major_faults(patient, &all);
    char rate[UNITS_SIZE];

    if (faults * fault_ns / 1e9 >= faults_share)
        cause_more(finding->evidence,
                   "; memory had to be read from the disk %.0f times a second", faults);
    if (!stalled || !(stalled->mean / 1e9 >= io_limits.warn))
        return;
    cause_more(finding->evidence, "; something waited for a disk %.0f %% of the time",
               100 * fmin(1, stalled->mean / 1e9));
    if (read && read->mean > 0)
        cause_more(finding->evidence, ", %s were read a second",
                   units_bytes(rate, (uint64_t)read->mean));
}

/* A worker that is forked has the line on its stack at which the loop asks for batches: it is there while it has
 * nothing to do. */
static bool is_at_the_loop(const struct patient *patient,
                           const struct snap_hot_line *line)
{
    const struct snap_hot *hot = &patient->snapshot->hot;

    for (size_t i = 0; i < hot->line_count; i++)
        if (hot->lines[i].place == SS_STAGE_DATA &&
            hot->lines[i].at.line == line->at.line &&
            strcmp(hot->lines[i].at.file, line->at.file) == 0)
            return true;
    return false;
}

/* The line of the script that those beside the loop are at most. */
static void say_producers_line(struct finding *finding, const struct patient *patient)
{
    const struct snap_hot *hot = &patient->snapshot->hot;

    for (size_t i = 0; i < hot->line_count; i++) {
        const struct snap_hot_line *line = &hot->lines[i];
        if (line->place != SNAP_HOT_BESIDE || line->at.line == 0 ||
            is_at_the_loop(patient, line))
            continue;
        if (line->share.low >= line_share)
            cause_more(finding->evidence,
                       "; beside the loop %.0f %% of the time is at %s:%" PRIu32 " (%s)",
                       100 * line->share.mid, line->at.file, line->at.line,
                       line->at.function);
        return;
    }
}

/* Samples of a batch are put together by a function of that name, in PyTorch as in most libraries. */
static void say_collating(struct finding *finding, const struct patient *patient,
                          uint32_t place)
{
    const struct snap_hot *hot = &patient->snapshot->hot;
    uint64_t count = 0;

    for (size_t i = 0; i < hot->line_count; i++)
        if (hot->lines[i].place == place &&
            strstr(hot->lines[i].leaf.function, "collate"))
            count += hot->lines[i].leaf_count;
    const struct interval share = snapshot_share(count, hot->place_samples[place]);
    if (share.low >= line_share)
        cause_more(finding->evidence,
                   "; %s%.0f %% of the time goes into putting samples together (collate)",
                   place == SNAP_HOT_BESIDE ? "beside the loop " : "", 100 * share.mid);
}

/* What comes after the wait, and has a finding of its own if it is much. */
static void say_transfer(struct finding *finding, const struct patient *patient)
{
    const struct snap_stage *transfer = &patient->loop->stage[SS_STAGE_TRANSFER];

    if (transfer->measured && transfer->share.low >= stage_bands.info)
        cause_more(finding->evidence,
                   "; to bring it to the device takes another %.1f %% of the step",
                   100 * transfer->share.mid);
}

static bool fits(struct replay *replay, int workers, double step_ns)
{
    replay->workers = workers;
    replay->ahead = AHEAD_EACH * workers;
    return fabs(replay_step_ns(replay).mid / step_ns - 1) <= replay_error;
}

/* With as many workers as there are; if none was seen, with none or as many as make batches at a time. Two batches
 * ahead for each. False: that does not reproduce the step that was seen. */
static bool calibrate(struct replay *replay, const struct patient *patient,
                      const struct snap_span *made)
{
    const double step_ns = patient->loop->step_ns.mid;
    const int seen = patient->snapshot->input.workers;

    return fits(replay, seen, step_ns) ||
           (!seen && fits(replay,
                          (int)fmin(REPLAY_WORKERS,
                                    ceil(made_at_a_time(patient, made) - workers_unsure)),
                          step_ns));
}

/* Workers are added, as far as there are cores for them, until a step takes no longer than without waiting. One, if
 * nobody knows how many cores there are. */
static struct interval add_workers(struct replay *replay, double cores, double step_ns)
{
    const double most = fmin(cores > 0 ? cores : replay->workers + 1, REPLAY_WORKERS);
    struct interval step = {step_ns, step_ns, step_ns};

    while (replay->workers + 1 <= most &&
           step.mid > (1 + replay_error) * replay->rest_ns) {
        replay->workers++;
        replay->ahead = AHEAD_EACH * replay->workers;
        step = replay_step_ns(replay);
    }
    return step;
}

/* More workers: what a step would take then. Not where there is no core for one. */
static void predict(struct finding *finding, const struct patient *patient)
{
    const struct snap_span *made = maker(patient);
    const enum waits_for reason = find_reason(patient);
    const struct snap_loop *loop = patient->loop;
    const double step_ns = loop->step_ns.mid,
                 rest_ns = step_ns - loop->stage[SS_STAGE_DATA].mean_ns;
    char now[UNITS_SIZE], low[UNITS_SIZE], high[UNITS_SIZE];

    if (!made || made->count < REPLAY_CALLS || !(rest_ns > 0) || reason == FOR_ITS_TURN ||
        reason == FOR_HANDOVER)
        return;
    struct replay replay = {.make_mean_ns = made->mean_ns,
                            .make_ns = {made->quantiles.p50_ns, made->quantiles.p90_ns,
                                        made->quantiles.p95_ns, made->quantiles.p99_ns,
                                        (double)made->quantiles.max_ns},
                            .count = (double)made->count,
                            .rest_ns = rest_ns,
                            .in_turn = patient->framework == FRAMEWORK_TORCH};
    if (!calibrate(&replay, patient, made))
        return;
    const struct interval step = add_workers(&replay, cause_cores(patient), step_ns);
    if (step.high < step_ns)
        cause_more(finding->advice,
                   "; with %d %s a step would take %s to %s instead of %s, as replayed "
                   "from what was seen",
                   replay.workers, replay.workers == 1 ? "worker" : "workers",
                   units_duration(low, (int64_t)step.low),
                   units_duration(high, (int64_t)step.high),
                   units_duration(now, (int64_t)step_ns));
}

/* Where workers make the batches, more of them is no advice if they have time, if they are not what is waited for, or if
 * each has a core and none is left. */
static void advise_workers(struct finding *finding, const struct patient *patient,
                           enum waits_for reason)
{
    const int workers = patient->snapshot->input.workers;
    const double cores = cause_cores(patient);
    const struct snap_span *made = producer(patient);

    if (reason == FOR_ITS_TURN)
        cause_text(finding->advice,
                   "batches that take equally long, or in_order=False for the DataLoader "
                   "(PyTorch 2.6), so that one that is late holds up no others");
    else if (reason == FOR_HANDOVER)
        cause_text(
            finding->advice,
            "less to hand over: tensors instead of lists of objects, smaller types, "
            "work that the device can do left to it; pin_memory=True with a GPU");
    else if (made && made_at_a_time(patient, made) < workers_idle * workers)
        cause_text(finding->advice,
                   "the workers have time, but not when it is needed: prefetch_factor=8 "
                   "and persistent_workers=True for the DataLoader");
    else if (cores > 0 && workers >= cores)
        cause_text(
            finding->advice,
            "a batch that is cheaper to make, or made ahead of time and stored: "
            "there are as many workers as cores (%d, %.0f), so that more of them help only "
            "if they wait for something else",
            workers, cores);
    else
        cause_text(
            finding->advice,
            "more workers than %d for the DataLoader (num_workers), or a batch that "
            "is cheaper to make",
            workers);
}

static void advise_input(struct finding *finding, const struct patient *patient)
{
    const enum waits_for reason = find_reason(patient);
    const double cores = cause_cores(patient);

    if (reason != FOR_NOBODY)
        advise_workers(finding, patient, reason);
    else if (patient->framework == FRAMEWORK_TORCH && !producer(patient))
        cause_text(finding->advice,
                   "give the DataLoader workers: num_workers=%d, "
                   "persistent_workers=True, prefetch_factor=4",
                   cores > 0 && cores < WORKERS_USUAL ? (int)fmax(cores, 1)
                                                      : WORKERS_USUAL);
    cause_text(finding->check,
               "train on one batch over and over: what a step takes then is the best "
               "that input can give");
    cause_text(finding->unknown,
               "with faster input the next limit shows: cores for more workers, "
               "or the disk");
}

static void say_evidence(struct finding *finding, const struct patient *patient)
{
    const double busy = cause_busy(patient, SS_STAGE_DATA).mid;
    const struct snap_span *made = producer(patient);
    const int workers = patient->snapshot->input.workers;

    cause_say_stage(finding, patient, SS_STAGE_DATA, "the loop waits for data");
    if (workers) {
        say_reason(finding, patient);
        cause_more(finding->evidence, "; %.1f of %d workers were making one on average",
                   made ? fmin(made_at_a_time(patient, made), workers) : 0, workers);
        say_producers_line(finding, patient);
    } else {
        if (busy > mostly_busy)
            cause_more(finding->evidence, "; the loop's thread works for it itself");
        else if (busy < mostly_waiting)
            cause_more(finding->evidence, "; the loop's thread only waits");
        if (made)
            cause_more(finding->evidence, "; %.1f batches were being made at a time",
                       made_at_a_time(patient, made));
        cause_say_line(finding, patient, SS_STAGE_DATA);
    }
    say_collating(finding, patient, workers ? SNAP_HOT_BESIDE : SS_STAGE_DATA);
    say_reading(finding, patient);
    say_transfer(finding, patient);
}

/* What a call computes while it waits takes as long without the wait. */
static void weigh_overlap(struct finding *finding, const struct patient *patient)
{
    if (!patient->loop->stage[SS_STAGE_DATA].at_most)
        return;
    finding->share.low = 0;
    finding->kind = SHARE_BOUND;
    cause_text(finding->unknown, "how much was computed meanwhile: %s",
               patient->loop->stage[SS_STAGE_DATA].at_most);
}

void causes_of_input(struct patient *patient)
{
    if (!cause_can_see(patient, "input-bound", SS_STAGE_DATA))
        return;
    struct finding *finding =
        cause_add_share(patient, "input-bound", patient->loop->stage[SS_STAGE_DATA].share,
                        stage_bands, "the step");
    if (!finding)
        return;
    finding->leaves_cold = cause_may_wait(patient, SS_STAGE_DATA);
    say_evidence(finding, patient);
    advise_input(finding, patient);
    predict(finding, patient);
    weigh_overlap(finding, patient);
    cause_weigh_host(finding, patient);
}
