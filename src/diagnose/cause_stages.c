/* Stages that are a wait or a loss by themselves: their exposed share of the step (rule book 2, 12). */
#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "diagnose/causes.h"

static const struct bands stage_bands = {0.03, 0.05, 0.2};
static const double mostly_busy = 0.6, mostly_waiting = 0.4;

static void say_share(struct finding *finding, const struct patient *patient,
                      unsigned stage, const char *what)
{
    const struct snap_stage *found = &patient->loop->stage[stage];
    char mean[UNITS_SIZE], step[UNITS_SIZE], p99[UNITS_SIZE];

    cause_text(finding->claim, "%s %.1f %% of the step (%.1f to %.1f %%)", what,
               100 * found->share.mid, 100 * found->share.low, 100 * found->share.high);
    cause_text(finding->evidence, "%s of %s a step",
               units_duration(mean, (int64_t)found->mean_ns),
               units_duration(step, (int64_t)patient->loop->step_ns.mid));
    if (isfinite(found->quantiles.p99_ns) && patient->loop->steady_steps >= 100)
        cause_more(finding->evidence, ", p99 %s",
                   units_duration(p99, (int64_t)found->quantiles.p99_ns));
}

static void say_line(struct finding *finding, const struct patient *patient,
                     unsigned stage)
{
    const struct snap_hot_line *line = cause_hot_line(patient, stage);

    if (line)
        cause_more(finding->evidence, "; %.0f %% of it at %s:%" PRIu32 " (%s)",
                   100 * line->share.mid, line->at.file, line->at.line,
                   line->at.function);
}

/* Time that producers worked beside the loop: how many of them were busy on average. */
static double producers(const struct patient *patient)
{
    double sum_ns = 0;

    for (size_t i = 0; i < patient->snapshot->span_count; i++)
        if (patient->snapshot->spans[i].stage == SS_STAGE_PRODUCE)
            sum_ns += (double)patient->snapshot->spans[i].total_ns;
    return patient->loop->wall_ns > 0 ? sum_ns / (double)patient->loop->wall_ns : 0;
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
    const double made = producers(patient);
    if (made > 0)
        cause_more(finding->evidence, "; producers were busy %.1f at a time", made);
    cause_text(finding->check,
               "train on one batch over and over: what a step takes then is the best "
               "that input can give");
    cause_text(finding->unknown,
               "with faster input the next limit shows: cores for more workers, "
               "or the disk");
}

static void find_input(struct patient *patient)
{
    struct finding *finding =
        cause_add_share(patient, "input-bound", patient->loop->stage[SS_STAGE_DATA].share,
                        stage_bands, "the step");

    if (!finding)
        return;
    say_share(finding, patient, SS_STAGE_DATA, "the loop waits for data");
    advise_input(finding, patient, cause_busy(patient, SS_STAGE_DATA));
    say_line(finding, patient, SS_STAGE_DATA);
}

void causes_of_stages(struct patient *patient)
{
    static const struct {
        unsigned stage;
        const char *id, *what, *advice, *check;
    } stages[] = {
        {SS_STAGE_TRANSFER, "transfer-bound", "copies to the device take",
         "pin the host memory (pin_memory=True) and copy without waiting (non_blocking=True)",
         "the stage transfer shrinks"},
        {SS_STAGE_SYNC, "sync-bound", "waiting for the device takes",
         "read losses and metrics every 50 steps instead of each (item(), float(), numpy())",
         "steps a second with the reads left out"},
        {SS_STAGE_COMM, "comm-bound", "communication between ranks takes",
         "larger batches a rank, gradients added up over several batches (no_sync()), or smaller "
         "types in the exchange",
         "one rank alone shows a step without it"},
        {SS_STAGE_GC, "gc-pauses", "Python's garbage collector takes",
         "gc.freeze() after the model is built, and gc.disable() with gc.collect() between epochs",
         "the stage gc is gone"},
        {SS_STAGE_SETUP, "setup-heavy", "making iterators and workers takes",
         "make the iterator once and keep it (persistent_workers=True; not next(iter(loader)) in "
         "the loop)",
         "the stage setup is gone"}};

    find_input(patient);
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        struct finding *finding = cause_add_share(
            patient, stages[i].id, patient->loop->stage[stages[i].stage].share,
            stage_bands, "the step");
        if (!finding)
            continue;
        say_share(finding, patient, stages[i].stage, stages[i].what);
        say_line(finding, patient, stages[i].stage);
        cause_text(finding->advice, "%s", stages[i].advice);
        cause_text(finding->check, "%s", stages[i].check);
    }
}
