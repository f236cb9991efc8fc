/* Waiting for data: how much, who makes it, and what another worker would gain (rule book 2). */
#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "diagnose/causes.h"
#include "stats/replay.h"

/* PyTorch's own: two batches ahead for each worker. And batches for their times to be known. */
enum { AHEAD_EACH = 2, REPLAY_CALLS = 20 };

/* What makes batches, beside the loop or inside of its call; NULL: not seen. */
static const struct snap_span *producer(const struct patient *patient)
{
    for (size_t i = 0; i < patient->snapshot->span_count; i++)
        if (patient->snapshot->spans[i].stage == SS_STAGE_PRODUCE)
            return &patient->snapshot->spans[i];
    return NULL;
}

/* How many batches were being made on average. */
static double made_at_a_time(const struct patient *patient, const struct snap_span *made)
{
    return patient->loop->wall_ns > 0
               ? (double)made->total_ns / (double)patient->loop->wall_ns
               : 0;
}

/* As many workers as are busy now, two batches ahead for each; or none, if that fits better. False: neither
 * reproduces the step that was seen. */
static bool calibrate(struct replay *replay, double busy, double step_ns)
{
    const int guesses[] = {0, (int)ceil(busy - 0.1)};

    for (size_t i = 0; i < 2; i++) {
        replay->workers = guesses[i];
        replay->ahead = AHEAD_EACH * guesses[i];
        if (fabs(replay_step_ns(replay).mid / step_ns - 1) <= replay_error)
            return true;
    }
    return false;
}

/* One worker more: what a step would take then. Not where there is no core for it. */
static void predict(struct finding *finding, const struct patient *patient)
{
    const struct snap_span *made = producer(patient);
    const struct snap_loop *loop = patient->loop;
    const double step_ns = loop->step_ns.mid,
                 rest_ns = step_ns - loop->stage[SS_STAGE_DATA].mean_ns;
    char now[UNITS_SIZE], low[UNITS_SIZE], high[UNITS_SIZE];

    if (!made || made->count < REPLAY_CALLS || !(rest_ns > 0))
        return;
    struct replay replay = {.make_mean_ns = made->mean_ns,
                            .make_ns = {made->quantiles.p50_ns, made->quantiles.p90_ns,
                                        made->quantiles.p95_ns, made->quantiles.p99_ns,
                                        (double)made->quantiles.max_ns},
                            .rest_ns = rest_ns};
    if (!calibrate(&replay, made_at_a_time(patient, made), step_ns))
        return;
    const size_t cores = snapshot_cores(patient->snapshot);
    replay.workers++;
    replay.ahead = AHEAD_EACH * replay.workers;
    if (cores && (size_t)replay.workers > cores)
        return;
    const struct interval step = replay_step_ns(&replay);
    if (step.high < step_ns)
        cause_more(finding->advice,
                   "; with %d %s a step would take %s to %s instead of %s, as replayed "
                   "from what was seen",
                   replay.workers, replay.workers == 1 ? "worker" : "workers",
                   units_duration(low, (int64_t)step.low),
                   units_duration(high, (int64_t)step.high),
                   units_duration(now, (int64_t)step_ns));
}

static void advise_input(struct finding *finding, const struct patient *patient,
                         double busy)
{
    static const char *const advice[] = {
        [FRAMEWORK_OTHER] =
            "prepare the next batch in another thread or process while this "
            "one trains",
        [FRAMEWORK_TORCH] = "give the DataLoader more workers: num_workers=4, "
                            "persistent_workers=True, prefetch_factor=4",
        [FRAMEWORK_KERAS] =
            "end the input with .map(f, num_parallel_calls=tf.data.AUTOTUNE)"
            ".prefetch(tf.data.AUTOTUNE), or give a PyDataset workers=4",
        [FRAMEWORK_JAX] = "fetch the next batch in another thread while this one trains "
                          "(grain, tf.data with .prefetch(2))"};

    cause_text(finding->advice, "%s", advice[patient->framework]);
    if (busy > mostly_busy)
        cause_more(finding->evidence, "; the loop's thread works for it itself");
    else if (busy < mostly_waiting)
        cause_more(finding->evidence, "; the loop's thread only waits");
    const struct snap_span *made = producer(patient);
    if (made)
        cause_more(finding->evidence, "; %.1f batches were being made at a time",
                   made_at_a_time(patient, made));
    cause_text(finding->check,
               "train on one batch over and over: what a step takes then is the best "
               "that input can give");
    cause_text(finding->unknown,
               "with faster input the next limit shows: cores for more workers, "
               "or the disk");
}

void causes_of_input(struct patient *patient)
{
    struct finding *finding =
        cause_add_share(patient, "input-bound", patient->loop->stage[SS_STAGE_DATA].share,
                        stage_bands, "the step");

    if (!finding)
        return;
    cause_say_stage(finding, patient, SS_STAGE_DATA, "the loop waits for data");
    advise_input(finding, patient, cause_busy(patient, SS_STAGE_DATA));
    cause_say_line(finding, patient, SS_STAGE_DATA);
    predict(finding, patient);
}
