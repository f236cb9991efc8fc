/* Batches that the script makes itself, in a generator or an iterator of its own, where no span says so: how much
 * of the step that is, by stack samples (rule book 11.1). */
#include <inttypes.h>

#include "base/units.h"
#include "diagnose/causes.h"

/* The line that has most of it; NULL: none is known. */
static const struct snap_hot_line *main_line(const struct snap_hot *hot)
{
    const struct snap_hot_line *most = NULL;

    for (size_t i = 0; i < hot->line_count; i++) {
        const struct snap_hot_line *line = &hot->lines[i];
        if (line->place == SS_STAGE_OTHER && line->at.line > 0 && line->batch_count > 0 &&
            (!most || line->batch_count > most->batch_count))
            most = line;
    }
    return most;
}

static uint64_t count_batches(const struct snap_hot *hot)
{
    uint64_t count = 0;

    for (size_t i = 0; i < hot->line_count; i++)
        count += hot->lines[i].place == SS_STAGE_OTHER ? hot->lines[i].batch_count : 0;
    return count;
}

static void advise(struct finding *finding, enum framework framework)
{
    static const char *const advice[FRAMEWORK_COUNT] = {
        [FRAMEWORK_OTHER] = "make the next batch in another thread or process while this "
                            "one trains",
        [FRAMEWORK_TORCH] =
            "do this in a torch.utils.data.Dataset and loop over "
            "DataLoader(dataset, num_workers=4), which does it beside the "
            "loop",
        [FRAMEWORK_KERAS] = "do this in a tf.data.Dataset: .map(f, num_parallel_calls="
                            "tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE) does it beside "
                            "the loop",
        [FRAMEWORK_JAX] = "do this beside the loop: in a grain DataLoader with "
                          "worker_count=4, or in a thread that fills a queue"};

    cause_text(finding->advice, "%s", advice[framework]);
}

static void describe(struct finding *finding, const struct patient *patient,
                     uint64_t count)
{
    const struct snap_hot *hot = &patient->snapshot->hot;
    const struct snap_hot_line *line = main_line(hot);
    char mean[UNITS_SIZE];

    cause_text(finding->claim,
               "the script takes an estimated %.1f %% of the step to make the next batch",
               100 * finding->share.mid);
    if (line)
        cause_more(finding->claim, ", most of it at %s:%" PRIu32 " (%s)", line->at.file,
                   line->at.line, line->at.function);
    cause_text(
        finding->evidence,
        "%s a step are in no stage; in %" PRIu64 " of %" PRIu64
        " stack samples of that time the loop was getting its next item",
        units_duration(mean, (int64_t)patient->loop->stage[SS_STAGE_OTHER].mean_ns),
        count, hot->place_samples[SS_STAGE_OTHER]);
    if (line)
        cause_more(finding->evidence, ", in %" PRIu64 " of them at that line",
                   line->batch_count);
    cause_text(finding->check,
               "loop over one batch again and again: what a step takes then is the best "
               "that input can give");
    cause_text(finding->unknown,
               "an estimate: samples give a part of the time, not how long each batch "
               "took, and other work of the iterator counts as well");
}

void causes_of_own_input(struct patient *patient)
{
    const struct snap_hot *hot = &patient->snapshot->hot;
    const uint64_t count = count_batches(hot);

    if (count == 0 || hot->place_samples[SS_STAGE_OTHER] < OWN_SAMPLES)
        return;
    struct finding *finding = cause_add_share(
        patient, "input-bound", cause_of_other(patient, count), stage_bands, "the step");
    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    finding->leaves_cold = cause_may_wait(patient, SS_STAGE_OTHER);
    describe(finding, patient, count);
    advise(finding, patient->framework);
}
