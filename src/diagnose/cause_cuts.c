/* What is cut out of the steps: evaluation, checkpoints, the time between epochs. Shares of the loop. */
#include <math.h>

#include "base/units.h"
#include "diagnose/causes.h"

/* How often it was seen; what nobody names comes with epochs, or at least twice. */
static double times_of(const struct patient *patient, unsigned stage)
{
    uint64_t most = 0;

    for (size_t i = 0; i < patient->snapshot->span_count; i++) {
        const struct snap_span *span = &patient->snapshot->spans[i];
        if (span->stage == stage && span->count > most)
            most = span->count;
    }
    const int64_t epochs = patient->loop->epochs_seen;
    return most > 0 ? (double)most : fmax((double)epochs, 2);
}

void causes_of_cuts(struct patient *patient)
{
    static const struct {
        enum model_segment segment;
        unsigned stage;
        const char *id, *what, *advice;
    } cuts[] = {
        {SEGMENT_EVAL_NS, SS_STAGE_EVAL, "eval-heavy", "evaluation takes",
         "evaluate less often, on fewer batches, or with larger ones"},
        {SEGMENT_CHECKPOINT_NS, SS_STAGE_CHECKPOINT, "checkpoint-heavy", "saving takes",
         "save less often, without the optimizer's state where it is not needed, or in another "
         "thread"},
        {SEGMENT_BETWEEN_NS, SS_STAGE_SETUP, "setup-heavy",
         "the time between epochs takes",
         "keep workers and iterators over epochs (persistent_workers=True, one long dataset with "
         "repeat() and steps_per_epoch)"}};
    const struct snap_loop *loop = patient->loop;

    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        /* What comes once, before or after the only epoch, is not between epochs. */
        const bool is_there =
            cuts[i].segment != SEGMENT_BETWEEN_NS || loop->epochs_seen > 1;
        const int64_t ns = is_there ? loop->segment_ns[cuts[i].segment] : 0;
        const double share = loop->wall_ns > 0 ? (double)ns / (double)loop->wall_ns : 0;
        const double unsure = share * cut_unsure / times_of(patient, cuts[i].stage);
        const struct interval range = {share - unsure, share, fmin(1, share + unsure)};
        struct finding *finding =
            cause_add_share(patient, cuts[i].id, range, cut_bands, "the loop");
        char took[UNITS_SIZE], all[UNITS_SIZE];
        if (!finding)
            continue;
        cause_text(finding->claim, "%s %.1f %% of the loop's time", cuts[i].what,
                   100 * share);
        cause_text(finding->evidence, "%s of %s", units_duration(took, ns),
                   units_duration(all, loop->wall_ns));
        cause_text(finding->advice, "%s", cuts[i].advice);
        cause_text(finding->check, "the segments of the next run");
    }
}
