/* What is cut out of the steps: evaluation, checkpoints, the time between epochs. Shares of the loop. */
#include "base/units.h"
#include "diagnose/causes.h"

static const struct bands cut_bands = {0.05, 0.1, 0.3};

void causes_of_cuts(struct patient *patient)
{
    static const struct {
        enum model_segment segment;
        const char *id, *what, *advice;
    } cuts[] = {
        {SEGMENT_EVAL_NS, "eval-heavy", "evaluation takes",
         "evaluate less often, on fewer batches, or with larger ones"},
        {SEGMENT_CHECKPOINT_NS, "checkpoint-heavy", "saving takes",
         "save less often, without the optimizer's state where it is not needed, or in another "
         "thread"},
        {SEGMENT_BETWEEN_NS, "setup-heavy", "the time between epochs takes",
         "keep workers and iterators over epochs (persistent_workers=True, one long dataset with "
         "repeat() and steps_per_epoch)"}};
    const struct snap_loop *loop = patient->loop;

    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        const int64_t ns = loop->segment_ns[cuts[i].segment];
        const double share = loop->wall_ns > 0 ? (double)ns / (double)loop->wall_ns : 0;
        struct finding *finding =
            cause_add_share(patient, cuts[i].id, (struct interval){share, share, share},
                            cut_bands, "the loop");
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
