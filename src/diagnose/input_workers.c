#include "diagnose/input_workers.h"

#include <math.h>
#include <string.h>

#include "diagnose/hardware.h"
#include "diagnose/input_makers.h"
#include "read/run.h"
#include "stepscope/counters.h"
#include "summary/snapshot.h"

/* Handing over a batch of tensors takes this long, longer on a busy machine (ours). */
static const double hand_least_ns = 0.3e6, hand_most_ns = 2e6;
/* Half of the samples (ours). */
static const double collate_part = 0.5;
/* Workers to begin with; and the part of the wait that they have to take away at least (ours: one
 * worker for 81 % of the step made a training take twice as long). */
static const double workers_usual = 4, workers_take = 0.5;
/* A worker that uses less of a core waits for a disk or the network, and needs none for itself
 * (ours: one that computes had a quarter of a core on a machine with ten times as much to do as it
 * could). */
static const double worker_waits = 0.15;

struct interval input_collating(const struct diagnosis_input *input, uint32_t place)
{
    const struct snap_hot *hot = &input->snapshot->hot;
    uint64_t count = 0;

    for (size_t i = 0; i < hot->line_count; i++)
        if (hot->lines[i].place == place && strstr(hot->lines[i].leaf.function, "collate"))
            count += hot->lines[i].leaf_count;
    return snapshot_share(count, hot->place_samples[place]);
}

/* One that only waits, for a disk or the network, needs none. Else they have
 * what is idle now, and what the loop thread leaves free when it no longer makes the batches. */
int input_free_cores(const struct diagnosis_input *input, unsigned stage, double share)
{
    const double cores = cause_cores(input);
    const struct snap_resource *busy = run_cores_of(input->snapshot).busy;
    const double thread_busy = cause_works(input, stage);
    double most = cores > 0 ? cores : 1;

    if (thread_busy < mostly_waiting)
        return (int)fmax(1, fmin(workers_usual, most));
    if (cores > 0 && busy)
        most = cores - busy->mean / 1e9 + share;
    else if (cores > 1)
        most = cores - 1;
    return (int)fmax(0, floor(fmin(workers_usual, most) + core_nearly));
}

/* Workers that make in parallel what the loop's thread makes now: a step takes as long as the rest
 * of it, or as they take for a batch, whichever is more. */
static bool keep_up(const struct diagnosis_input *input, int workers)
{
    const double wait = input->loop->stage[SS_STAGE_DATA].share.mid;
    const double hand_ns = input_hand_over(input).high;
    const double hand = isfinite(hand_ns) ? hand_ns / input->loop->step_ns.mid : 0;

    return 1 - fmax(1 - wait + hand, wait / workers) >= workers_take * wait;
}

/* Cores that each of the workers keeps busy: what the command takes besides the loop's process. */
static double cores_each(const struct diagnosis_input *input)
{
    const struct snapshot *snapshot = input->snapshot;
    const uint32_t pid = run_pid(input->run, input->loop->process);
    const struct snap_resource *tree = snapshot_value(snapshot, SS_COUNTER_ID_TREE_CPU, SNAP_ANY),
                               *user = snapshot_value(snapshot, SS_COUNTER_ID_PROCESS_USER, pid),
                               *own = snapshot_value(snapshot, SS_COUNTER_ID_PROCESS_SYSTEM, pid);

    if (!tree || !user || !own)
        return 1;
    const double cores = (tree->mean - user->mean - own->mean) / 1e9 / snapshot->input.workers;
    return fmin(1, fmax(cores, 0));
}

int input_workers_most(const struct diagnosis_input *input, int workers)
{
    const double cores = cause_cores(input);
    const struct snap_resource *busy = run_cores_of(input->snapshot).busy;

    if (input->snapshot->input.workers == 0 && is_on_torch(input->loader)) {
        const struct workers_advice advice = input_workers(input, input_maker(input));
        return advice.verdict == WORKERS_HELP ? advice.workers : 0;
    }
    if (input->snapshot->input.workers == 0 || !(cores > 0)) /* what each needs is not known */
        return cores > 0 ? (int)cores : workers + 1;
    if (!busy)
        return (int)fmax(workers, cores - 1);
    const double each = cores_each(input);
    const double more =
        each < worker_waits ? workers_usual : (cores - busy->mean / 1e9) / each + core_nearly;
    return workers + (int)fmin(workers_usual, fmax(0, floor(more)));
}

int input_workers_wanted(const struct diagnosis_input *input, int most)
{
    const struct snap_span *made = input_producer(input);
    const double hand_ns = input_hand_over(input).mid,
                 step_ns =
                     input->loop->step_ns.mid * (1 - input->loop->stage[SS_STAGE_DATA].share.mid) +
                     (isfinite(hand_ns) ? hand_ns : 0);
    int workers = input->snapshot->input.workers + 1;

    while (made && workers < most && made->mean_ns / workers > step_ns)
        workers++;
    return workers;
}

struct interval input_hand_over(const struct diagnosis_input *input)
{
    const double seen = input_hand_over_ns(input);
    const struct snap_span *made = input_maker(input);

    if (isfinite(seen))
        return (struct interval){seen, seen, seen};
    if (!is_on_torch(input->loader)) /* threads, or nothing is known of who makes them */
        return (struct interval){0, 0, 0};
    if (!made || input->snapshot->input.workers > 0 || input->loop->samples == 0)
        return (struct interval){NAN, NAN, NAN};
    const double copying_ns = input_collating(input, SS_STAGE_DATA).high * made->mean_ns;
    return (struct interval){hand_least_ns, hand_most_ns,
                             copying_ns > hand_most_ns ? copying_ns
                             : isfinite(copying_ns)    ? hand_most_ns
                                                       : NAN};
}

struct workers_advice input_workers(const struct diagnosis_input *input,
                                    const struct snap_span *made)
{
    struct workers_advice advice = {.verdict = WORKERS_HELP};
    const struct interval collating = input_collating(input, SS_STAGE_DATA);

    advice.workers =
        input_free_cores(input, SS_STAGE_DATA, input->loop->stage[SS_STAGE_DATA].share.mid);
    if (made && made->quantiles.p50_ns < worker_worth_ns)
        advice.verdict = WORKERS_COST_MORE;
    else if (collating.low >= collate_part)
        advice.verdict = WORKERS_COLLATE;
    else if (advice.workers < 1)
        advice.verdict = WORKERS_NO_CORE;
    else if (input->snapshot->input.workers == 0 && !keep_up(input, advice.workers))
        advice.verdict = WORKERS_TOO_FEW;
    return advice;
}

const char *input_workers_text(enum workers_verdict verdict)
{
    static const char *const texts[] = {
        [WORKERS_HELP] = "",
        [WORKERS_COST_MORE] =
            "fetch each batch in one piece instead of sample by sample: index tensors in memory with all indices of the batch (x[indices]; __getitems__ in a Dataset, with a collate_fn that returns its argument), and keep them on the device if they fit; do not use num_workers: handing over such a small batch takes longer than making it",
        [WORKERS_COLLATE] =
            "most of the time goes into collating samples: fetch each batch in one piece (x[indices]; __getitems__ in a Dataset, with a collate_fn that returns its argument), or store larger pieces",
        [WORKERS_TOO_FEW] =
            "fetch each batch in one piece instead of sample by sample (x[indices]; __getitems__ in a Dataset, with a collate_fn that returns its argument), or precompute and store batches: there are not enough free cores for workers that keep up",
        [WORKERS_NO_CORE] =
            "make batches cheaper, or precompute and store them: all cores are busy, so workers would take them from the training",
    };

    return texts[verdict];
}
