#include "diagnose/input_replay.h"

#include <math.h>

#include "diagnose/input_makers.h"
#include "diagnose/input_workers.h"
#include "render/units.h"
#include "stats/replay.h"
#include "summary/snapshot.h"

/* It has to reproduce the step that was seen within 5 %; and what is not known of handing over has
 * to be at most 10 % of the step that is predicted (method 5.3). */
static const double replay_error = 0.05, hand_unsure = 0.1;
/* PyTorch's own: two batches ahead for each worker. As many as make batches at a time, but for a
 * tenth of one that is noise (ours). */
enum { AHEAD_EACH = 2 };
static const double workers_unsure = 0.1;

static bool fits(struct replay *replay, int workers, double step_ns)
{
    replay->workers = workers;
    replay->ahead = AHEAD_EACH * workers;
    return fabs(replay_step_ns(replay).mid / step_ns - 1) <= replay_error;
}

/* With as many workers as there are; if none was seen, with none or as many as make batches at a
 * time. Two batches ahead for each. False: that does not reproduce the step that was seen. */
static bool calibrate(struct replay *replay, const struct diagnosis_input *input,
                      const struct snap_span *made)
{
    const double step_ns = input->loop->step_ns.mid;
    const int seen = input->snapshot->input.workers;

    return fits(replay, seen, step_ns) ||
           (!seen &&
            fits(replay,
                 (int)fmin(REPLAY_WORKERS, ceil(input_at_a_time(input, made) - workers_unsure)),
                 step_ns));
}

/* Workers are added, at most this many, until a step takes no longer than without waiting for what
 * is made. */
static struct interval add_workers(struct replay *replay, double most, double step_ns)
{
    struct interval step = {step_ns, step_ns, step_ns};

    while (replay->workers + 1 <= fmin(most, REPLAY_WORKERS) &&
           step.mid > (1 + replay_error) * (replay->rest_ns + replay->hand_ns)) {
        replay->workers++;
        replay->ahead = AHEAD_EACH * replay->workers;
        step = replay_step_ns(replay);
    }
    return step;
}

/* From the least that handing over may take to the most; those who have workers have measured
 * it. False: too little is known of it. */
static bool replay_more(struct replay *replay, double most, struct interval hand, double step_ns,
                        struct interval *out)
{
    replay->hand_ns = hand.high;
    *out = add_workers(replay, most, step_ns);
    replay->hand_ns = hand.low;
    const struct interval least = replay_step_ns(replay);
    out->low = fmin(out->low, least.low);
    return out->mid - least.mid <= hand_unsure * out->mid;
}

/* No faster than without any wait. */
static struct interval no_less(struct interval step, const struct finding *finding, double step_ns)
{
    const double least = step_ns * (1 - finding->share.high);

    return (struct interval){fmax(step.low, least), fmax(step.mid, least), fmax(step.high, least)};
}

static void say(struct finding *finding, int workers, struct interval step, double step_ns)
{
    char now[UNITS_SIZE], low[UNITS_SIZE], high[UNITS_SIZE];

    cause_more(
        finding->advice,
        "; with %d %s a step would take %s to %s instead of %s (simulated from the recorded timings)",
        workers, workers == 1 ? "worker" : "workers", units_duration(low, (int64_t)step.low),
        units_duration(high, (int64_t)step.high), units_duration(now, (int64_t)step_ns));
    finding->predicted =
        (struct interval){1 - step.high / step_ns, 1 - step.mid / step_ns, 1 - step.low / step_ns};
}

/* More workers share the cores with what uses them now; how is not known. */
static bool is_preempted(const struct diagnosis_input *input)
{
    const struct validity *validity = &input->out->validity;

    for (size_t i = 0; i < validity->count; i++)
        if (validity->item[i].id == VALIDITY_PREEMPTED && validity->item[i].level == VALIDITY_WARN)
            return true;
    return false;
}

void input_predict(struct finding *finding, const struct diagnosis_input *input)
{
    const struct snap_span *made = input_maker(input);
    const enum input_reason reason = input_reason(input);
    const struct snap_loop *loop = input->loop;
    const double step_ns = loop->step_ns.mid,
                 rest_ns = step_ns - loop->stage[SS_STAGE_DATA].mean_ns;
    const struct interval hand = input_hand_over(input);
    struct interval step;

    if (!made || made->count < INPUT_BATCHES_LEAST || !(rest_ns > 0) || reason == FOR_ITS_TURN ||
        reason == FOR_HANDOVER || !isfinite(hand.high) || is_preempted(input))
        return;
    struct replay replay = {.make_mean_ns = made->mean_ns,
                            .make_ns = {made->quantiles.p50_ns, made->quantiles.p90_ns,
                                        made->quantiles.p95_ns, made->quantiles.p99_ns,
                                        (double)made->quantiles.max_ns},
                            .count = (double)made->count,
                            .rest_ns = rest_ns,
                            .hand_ns = hand.mid,
                            .in_turn = is_on_torch(input->loader)};
    if (!calibrate(&replay, input, made))
        return;
    const int most = input_workers_most(input, replay.workers);
    if (replay.workers < most && replay_more(&replay, most, hand, step_ns, &step) &&
        step.high < step_ns)
        say(finding, replay.workers, no_less(step, finding, step_ns), step_ns);
}
