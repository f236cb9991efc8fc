/* A line of the script that waits inside of a forward pass. No span has it alone, as the body of Lightning's
 * training_step is one: samples name the line, looks at the thread say that it waits (rule book 8.2, 11.1). Where a
 * device computes the wait may be for that, and nothing is said. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "diagnose/causes.h"

/* Nothing in Python below it: what the line calls is what waits. */
static bool is_leaf(const struct snap_hot_line *line)
{
    return (double)line->leaf_count >= own_line_least * (double)line->count &&
           line->leaf.line == line->at.line &&
           strcmp(line->leaf.file, line->at.file) == 0;
}

static void describe(struct finding *finding, const struct patient *patient,
                     const struct snap_hot_line *line, double waits)
{
    char mean[UNITS_SIZE];

    cause_text(finding->claim,
               "the script waits an estimated %.1f %% of the step inside of the forward "
               "pass, at %s:%" PRIu32 " (%s)",
               100 * finding->share.mid, line->at.file, line->at.line, line->at.function);
    cause_text(
        finding->evidence,
        "the forward pass takes %s a step; %" PRIu64 " of %" PRIu64
        " stack samples of it are at that line, and in %.0f %% of the looks at the thread "
        "it waited",
        units_duration(mean, (int64_t)patient->loop->stage[SS_STAGE_FORWARD].mean_ns),
        line->count, line->place_samples, 100 * waits);
    cause_text(finding->check, "train without that line once");
    cause_text(finding->unknown,
               "an estimate: samples give a part of the time, not how long the line took "
               "each time, nor what it waits for: threads that compute for it, or the "
               "interpreter's lock, are waits as well");
}

/* No more of the line is waiting than was seen at the thread, which counts as running while it waits for a core; if that
 * is less than half of it, another line may have waited. */
void causes_of_own_waits(struct patient *patient)
{
    const struct snap_loop *loop = patient->loop;
    const struct snap_hot_line *line = cause_hot_line(patient, SS_STAGE_FORWARD);
    const struct interval whole = loop->stage[SS_STAGE_FORWARD].share,
                          busy = cause_busy(patient, SS_STAGE_FORWARD),
                          waits = {1 - busy.high, 1 - busy.mid, 1 - busy.low};

    if (!line || !is_leaf(line) || loop->is_asynchronous || loop->source == SOURCE_JIT ||
        line->place_samples < OWN_SAMPLES ||
        !(waits.mid >= own_line_least * line->share.mid))
        return;
    const struct interval share = {whole.low * fmin(line->share.low, waits.low),
                                   whole.mid * fmin(line->share.mid, waits.mid),
                                   whole.high * line->share.high};
    struct finding *finding =
        cause_add_share(patient, "user-code", share, own_bands, "the step");
    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    finding->leaves_cold = true;
    describe(finding, patient, line, waits.mid);
}
