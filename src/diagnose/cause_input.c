/* Waiting for data: how much, who makes it, and what another worker would gain (method 5, 11.1). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "diagnose/causes.h"
#include "diagnose/hot_function.h"
#include "diagnose/input_makers.h"
#include "diagnose/input_pipeline.h"
#include "diagnose/input_replay.h"
#include "diagnose/input_work.h"
#include "diagnose/input_workers.h"
#include "render/units.h"
#include "stepscope/counters.h"
#include "summary/snapshot.h"

/* A worker is slow if it takes this many times as long as the others (ours: 5 to 15 % is usual,
 * method 5.2). */
static const double worker_slow = 1.5;
/* Workers that make a batch for less than this part of the time wait for the loop, not the loop for
 * them (ours). */
static const double workers_idle = 0.7;
/* Where no core is left, handing over is what to begin with if it has this part of the wait: the
 * worker takes about as long for it as the loop (ours). */
static const double hand_much = 0.15;
static const char hand_over_less[] =
    "hand over less: tensors instead of lists of objects, smaller types, whole batches (__getitems__, collate_fn) instead of many pieces, and leave to the device what it can do";

/* Parts of the wait of which those who make batches, or those who read, can tell. */
static void say_reason(struct finding *finding, const struct diagnosis_input *input)
{
    const struct snap_input *batches = &input->snapshot->input;
    const double wait = (double)batches->wait_ns;
    char slow[UNITS_SIZE], usual[UNITS_SIZE];

    switch (input_reason(input)) {
    case FOR_ITS_TURN:
        cause_more(finding->evidence,
                   "; %.0f %% of the wait is for a late batch while later ones are ready",
                   100 * (double)batches->turn_ns / wait);
        break;
    case FOR_MAKING:
        cause_more(finding->evidence, "; %.0f %% of the wait is for loading",
                   100 * (double)batches->making_ns / wait);
        break;
    case FOR_HANDOVER:
        cause_more(finding->evidence, "; %.0f %% of the wait is for the handover",
                   100 - 100 * (double)batches->making_ns / wait);
        break;
    default:
        break;
    }
    if (batches->slowest_ns > worker_slow * batches->usual_ns && batches->usual_ns > 0)
        cause_more(finding->evidence, "; one worker takes %s for a batch, the others %s",
                   units_duration(slow, (int64_t)batches->slowest_ns),
                   units_duration(usual, (int64_t)batches->usual_ns));
}

/* Memory that has to be read in. */
static void say_reading(struct finding *finding, const struct diagnosis_input *input)
{
    double all;
    const double faults = cause_major_faults(input, &all);

    if (faults * fault_ns / 1e9 >= faults_share)
        cause_more(finding->evidence,
                   "; memory was read from disk %.0f times per second (major faults)", faults);
}

static void say_collating(struct finding *finding, const struct diagnosis_input *input,
                          uint32_t place)
{
    const struct interval share = input_collating(input, place);

    if (share.low >= line_share)
        cause_more(finding->evidence, "; %s%.0f %% of the time goes into collating samples",
                   place == SNAP_HOT_MAKING ? "in workers " : "", 100 * share.mid);
}

/* What comes after the wait, and has a finding of its own if it is much. */
static void say_transfer(struct finding *finding, const struct diagnosis_input *input)
{
    const struct snap_stage *transfer = &input->loop->stage[SS_STAGE_TRANSFER];

    if (transfer->measured && transfer->share.low >= stage_bands.info)
        cause_more(finding->evidence, "; copying to the device takes another %.1f %% of the step",
                   100 * transfer->share.mid);
}

static bool makes_small_batches(const struct diagnosis_input *input)
{
    return is_on_torch(input->loader) &&
           input_workers(input, input_producer(input)).verdict == WORKERS_COST_MORE;
}

/* No core is left for another worker. */
static void advise_cheaper(struct finding *finding, const struct diagnosis_input *input)
{
    const int workers = input->snapshot->input.workers;
    const double cores = cause_cores(input);

    if (input_hand_over_ns(input) * (double)input->snapshot->input.batches >=
        hand_much * (double)input->snapshot->input.wait_ns)
        cause_text(finding->advice, "%s; there is no core for more workers", hand_over_less);
    else if (workers >= cores)
        cause_text(
            finding->advice,
            "make batches cheaper, or precompute and store them: there are already %d workers for %.0f cores, so more of them help only if they spend their time waiting",
            workers, cores);
    else
        cause_text(finding->advice, "%s", input_workers_text(WORKERS_NO_CORE));
}

/* Where workers make the batches, more of them is no advice if they have time, if they are not what
 * is waited for, or if no core is left for them. */
static void advise_workers(struct finding *finding, const struct diagnosis_input *input,
                           enum input_reason reason)
{
    const int workers = input->snapshot->input.workers, most = input_workers_most(input, workers);
    const struct snap_span *made = input_producer(input);

    if (reason == FOR_ITS_TURN)
        cause_text(
            finding->advice,
            "make batches take equally long, or use DataLoader(in_order=False) (PyTorch 2.6), so that a late batch does not hold up the others");
    else if (reason == FOR_HANDOVER)
        cause_text(finding->advice, "%s; pin_memory=True with a GPU", hand_over_less);
    else if (makes_small_batches(input))
        cause_text(finding->advice, "%s", input_workers_text(WORKERS_COST_MORE));
    else if (made && input_at_a_time(input, made) < workers_idle * workers)
        cause_text(
            finding->advice,
            "the workers are idle at times and late at others: DataLoader(prefetch_factor=8, persistent_workers=True)");
    else if (most <= workers)
        advise_cheaper(finding, input);
    else
        cause_text(finding->advice,
                   "use more than %d DataLoader workers (%s=%d), or make batches cheaper", workers,
                   input->loader == FRAMEWORK_TRANSFORMERS ? "dataloader_num_workers"
                                                           : "num_workers",
                   input_workers_wanted(input, most));
}

/* A DataLoader without workers. */
static bool makes_own_batches(const struct diagnosis_input *input)
{
    return is_on_torch(input->loader) && !input_producer(input);
}

static void advise_first_workers(struct finding *finding, const struct diagnosis_input *input)
{
    const struct workers_advice advice = input_workers(input, input_maker(input));

    if (advice.verdict == WORKERS_HELP && input->loader == FRAMEWORK_TRANSFORMERS)
        cause_text(
            finding->advice,
            "give the loader workers: TrainingArguments(dataloader_num_workers=%d, dataloader_persistent_workers=True, dataloader_prefetch_factor=4)",
            advice.workers);
    else if (advice.verdict == WORKERS_HELP)
        cause_text(
            finding->advice,
            "give the DataLoader workers: num_workers=%d, persistent_workers=True, prefetch_factor=4",
            advice.workers);
    else
        cause_text(finding->advice, "%s", input_workers_text(advice.verdict));
}

static void advise_input(struct finding *finding, const struct diagnosis_input *input)
{
    const enum input_reason reason = input_reason(input);

    if (reason != FOR_NOBODY)
        advise_workers(finding, input, reason);
    else if (input_pipeline_is_known(input))
        input_pipeline_advise(finding, input);
    else if (makes_own_batches(input))
        advise_first_workers(finding, input);
    cause_text(
        finding->check,
        "train on one batch over and over: that step time is the best that faster input can give");
    cause_text(finding->unknown,
               "the next limit, once input is faster: cores for more workers, or the disk");
}

static void say_evidence(struct finding *finding, const struct diagnosis_input *input)
{
    const double busy = cause_works(input, SS_STAGE_DATA);
    const struct snap_span *made = input_producer(input);
    const int workers = input->snapshot->input.workers;

    cause_say_stage(finding, input, SS_STAGE_DATA, "the loop waits for data");
    if (workers) {
        say_reason(finding, input);
        cause_more(finding->evidence, "; %.1f of %d workers were busy on average",
                   made ? fmin(input_at_a_time(input, made), workers) : 0, workers);
        input_say_maker(finding, input);
    } else {
        if (busy > mostly_busy)
            cause_more(finding->evidence, "; the loop thread loads data itself");
        else if (busy < mostly_waiting)
            cause_more(finding->evidence, "; the loop thread only waits");
        if (made)
            cause_more(finding->evidence, "; on average %.1f batches in preparation",
                       input_at_a_time(input, made));
        if (input_pipeline_is_known(input))
            input_pipeline_say(finding, input);
        else
            cause_say_line(finding, input, SS_STAGE_DATA);
    }
    say_collating(finding, input, workers ? SNAP_HOT_MAKING : SS_STAGE_DATA);
    say_reading(finding, input);
    say_transfer(finding, input);
}

/* What a call computes while it waits takes as long without the wait. */
static void weigh_overlap(struct finding *finding, const struct diagnosis_input *input)
{
    if (!input->loop->stage[SS_STAGE_DATA].at_most)
        return;
    finding->share.low = 0;
    finding->kind = SHARE_BOUND;
    cause_text(finding->unknown, "how much was computed during the wait: %s",
               input->loop->stage[SS_STAGE_DATA].at_most);
}

static void find_waits(struct diagnosis_input *input)
{
    if (!cause_can_see(input, FINDING_INPUT_BOUND, SS_STAGE_DATA))
        return;
    struct finding *finding = cause_add_share(
        input, FINDING_INPUT_BOUND, input->loop->stage[SS_STAGE_DATA].share, stage_bands, OF_STEP);
    if (!finding)
        return;
    finding->leaves_cold = cause_may_wait(input, SS_STAGE_DATA);
    say_evidence(finding, input);
    advise_input(finding, input);
    input_predict(finding, input);
    input_say_work(finding, input,
                   input->snapshot->input.workers ? SNAP_HOT_MAKING : SS_STAGE_DATA);
    weigh_overlap(finding, input);
    cause_weigh_host(finding, input);
}

/* Batches that the script makes itself, in a generator or an iterator of its own, where no span
 * says so: how much of the step that is, by stack samples (method 5.5). */

static uint64_t count_in_batches(const struct diagnosis_input *input,
                                 const struct snap_hot_line *line)
{
    (void)input;
    return line->batch_count;
}

static uint64_t count_batches(const struct snap_hot *hot)
{
    uint64_t count = 0;

    for (size_t i = 0; i < hot->line_count; i++)
        count += hot->lines[i].place == SS_STAGE_OTHER ? hot->lines[i].batch_count : 0;
    return count;
}

/* No more workers than cores are free. */
static void advise_own(struct finding *finding, const struct diagnosis_input *input)
{
    static const struct {
        const char *before, *after; /* the number of workers; "": there is none */
    } advice[FRAMEWORK_COUNT] = {
        [FRAMEWORK_OTHER] =
            {"prepare the next batch in another thread or process while this one trains", ""},
        [FRAMEWORK_TORCH] =
            {"do this in a torch.utils.data.Dataset and loop over DataLoader(dataset, num_workers=",
             "), which does it in parallel"},
        [FRAMEWORK_KERAS] =
            {"prepare batches in parallel: for fit() in a keras.utils.PyDataset(workers=",
             "), otherwise tf.data.Dataset.from_generator(f, output_signature=...).prefetch(tf.data.AUTOTUNE)"},
        [FRAMEWORK_JAX] = {"do this in parallel: in a grain DataLoader with worker_count=",
                           ", or in a thread that fills a queue"}};
    const enum framework framework = framework_below(input->loader);
    const char *before = advice[framework].before, *after = advice[framework].after;
    const int workers = input_free_cores(input, SS_STAGE_OTHER, finding->share.mid);

    if (workers < 1)
        cause_text(finding->advice, "%s", input_workers_text(WORKERS_NO_CORE));
    else if (*after)
        cause_text(finding->advice, "%s%d%s", before, workers, after);
    else
        cause_text(finding->advice, "%s", before);
}

static void describe_own(struct finding *finding, const struct diagnosis_input *input,
                         uint64_t count)
{
    const struct snap_hot *hot = &input->snapshot->hot;
    const struct hot_function most = hot_function_most(input, SS_STAGE_OTHER, count_in_batches);
    char mean[UNITS_SIZE];

    cause_text(finding->claim,
               "the script spends an estimated %.1f %% of the step on making the next batch",
               100 * finding->share.mid);
    if (most.line) {
        cause_more(finding->claim, ", most of it %s ", hot_function_is_whole(&most) ? "in" : "at");
        hot_function_say(finding->claim, input, &most, count_in_batches);
    }
    cause_text(finding->evidence,
               "%s per step are in no stage; in %" PRIu64 " of %" PRIu64
               " stack samples of that time the loop was getting its next item",
               units_duration(mean, (int64_t)input->loop->stage[SS_STAGE_OTHER].mean_ns), count,
               hot->place_samples[SS_STAGE_OTHER]);
    if (most.line)
        cause_more(finding->evidence, ", in %" PRIu64 " of them %s",
                   hot_function_is_whole(&most) ? most.samples : most.at_line,
                   hot_function_is_whole(&most) ? "in that function" : "at that line");
    cause_text(
        finding->check,
        "loop over one batch again and again: that step time is the best that faster input can give");
    cause_text(
        finding->unknown,
        "an estimate: samples give a share of the time, not the time of each batch, and include other work of the iterator");
}

static void find_own_batches(struct diagnosis_input *input)
{
    const struct snap_hot *hot = &input->snapshot->hot;
    const uint64_t count = count_batches(hot);

    if (count == 0 || hot->place_samples[SS_STAGE_OTHER] < OWN_SAMPLES)
        return;
    struct finding *finding = cause_add_share(input, FINDING_INPUT_BOUND,
                                              cause_of_other(input, count), stage_bands, OF_STEP);
    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    finding->leaves_cold = cause_may_wait(input, SS_STAGE_OTHER);
    describe_own(finding, input, count);
    advise_own(finding, input);
}

static void find_input(struct diagnosis_input *input)
{
    find_waits(input);
    find_own_batches(input);
}

const struct finding_kind finding_input_bound = {
    .name = "input-bound",
    .gist = "the loop waits for the next batch",
    .find = find_input,
    .said = {{&stage_bands, OF_STEP, ""}},
    .ends = {{"from samples of a generator", "estimate: the share of the samples"},
             {"on a device", ENDS_ON_DEVICE},
             {"where `data` is an upper bound", ENDS_LOST}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] =
                "prepare the next batch in another thread or process while this one trains",
            [FRAMEWORK_TORCH] =
                "give the DataLoader as many workers as there are idle cores: num_workers=, persistent_workers=True, prefetch_factor=4",
            [FRAMEWORK_TRANSFORMERS] =
                "give the loader as many workers as there are idle cores: TrainingArguments(dataloader_num_workers=, dataloader_persistent_workers=True)",
            [FRAMEWORK_KERAS] =
                "end the input with .map(f, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE), or give a PyDataset as many workers= as there are idle cores",
            [FRAMEWORK_JAX] =
                "fetch the next batch in another thread while this one trains (a grain DataLoader with one worker per idle core, worker_count=; tf.data with .prefetch(2))",
        },
    .given = "where it is unknown how batches are made",
    .cases =
        {{"workers make them, cores are idle, and the loop waits for a batch to be made: more workers",
          NULL, NULL},
         {"workers make them, and the loop waits for the handover or for the batch whose turn it is: advice on that",
          NULL, NULL},
         {"workers make them, and no core is idle: cheaper batches, or less data to hand over",
          NULL, NULL},
         {"a DataLoader without workers takes at least 5 ms per batch, and workers would remove half of the wait: workers",
          NULL, NULL},
         {"a DataLoader without workers, and workers would not help: fetch each batch in one piece",
          NULL, NULL},
         {"a tf.data pipeline, or the input of fit(), is known: what it is missing", NULL, NULL}},
    .meaning = "The loop has nothing to train on while it waits for the next batch: "
               "the device, or the cores that compute, are idle.",
    .computed =
        "The stage data of the steady steps: the time that the loop thread spends in the call that returns the next batch. "
        "Work that workers do while the loop computes is not included. "
        "Reported at 3 % of the step or more, a warning at 5 %, high at 20 %, each by the lower bound of the 95 % interval. "
        "Not measurable where batches are fetched inside a compiled step and the wait cannot be seen; "
        "where a call fetches several batches it may have computed while it waited, and the share is an upper bound. "
        "Batches made by a generator or iterator of the script are estimated from stack samples taken in no stage while the loop was getting its next item. "
        "With workers, a wait is for the batch to be made, for its turn (later ones are ready, but batches are delivered in order), or for the handover. "
        "More workers are advised only where the loop waits for batches to be made and cores are idle; the predicted step time includes the handover, and is given only if a replay of the recorded times reproduces the step within 5 %.",
    .fixes =
        "More workers, a longer queue (prefetch), cheaper preprocessing, a faster format or disk, data kept in memory. "
        "More workers than idle cores make it worse.",
};
