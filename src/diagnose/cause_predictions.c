/* Predictions of which a few take much longer than most: for whoever waits for each of them, the mean says little. Needs
 * no training: a run that only serves has no loop (quantiles: rule book 7; the thresholds are ours). */
#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "diagnose/causes.h"

/* Without a training, whatever is called by name predicts: models with gradients off, compiled functions. With
 * gradients it is a training, whose steps nobody saw. */
static bool is_prediction(const struct patient *patient, const struct snap_span *span)
{
    if (span->stage == SS_STAGE_INFER)
        return true;
    return !patient->loop &&
           (span->stage == SS_STAGE_EVAL || span->stage == SS_STAGE_FORWARD ||
            span->stage == SS_STAGE_COMPUTE) &&
           !snapshot_has(patient->snapshot, SS_STAGE_BACKWARD);
}

static void describe(struct finding *finding, const struct snap_span *span, double ratio,
                     bool is_disturbed)
{
    char name[CAUSE_NAME_SIZE], p50[UNITS_SIZE], p99[UNITS_SIZE], most[UNITS_SIZE];

    cause_text(finding->claim, "1 of 100 calls of %s takes %.1f times the median",
               cause_name(name, span), ratio);
    cause_text(finding->evidence,
               "half of %" PRIu64 " calls take up to %s, 99 of 100 up to %s (p99), the "
               "longest %s",
               span->count, units_duration(p50, (int64_t)span->quantiles.p50_ns),
               units_duration(p99, (int64_t)span->quantiles.p99_ns),
               units_duration(most, span->quantiles.max_ns));
    cause_text(finding->check, "'Predictions' in the report: p99 against p50");
    if (is_disturbed)
        cause_text(finding->unknown, "other work on the machine may be all of it");
    else if (span->count < TAIL_CALLS_SURE)
        cause_text(finding->unknown,
                   "whether it is more than the first calls, which are slow by nature: "
                   "from %d calls on it shows",
                   TAIL_CALLS_SURE);
}

/* The one that took most time in all, of those that have a tail. */
void causes_of_predictions(struct patient *patient)
{
    for (size_t i = 0; i < patient->snapshot->span_count; i++) {
        const struct snap_span *span = &patient->snapshot->spans[i];
        const double ratio = span->quantiles.p99_ns / span->quantiles.p50_ns;
        if (!is_prediction(patient, span) || span->count < TAIL_CALLS ||
            !(span->quantiles.p50_ns > 0) || !(ratio >= tail_ratio))
            continue;
        const bool is_disturbed = cause_is_disturbed(patient, VALIDITY_WARN),
                   is_sure = span->count >= TAIL_CALLS_SURE && !is_disturbed;
        struct finding *finding =
            cause_add(patient, "latency-tail", is_sure ? FINDING_WARN : FINDING_INFO,
                      (struct interval){NAN, NAN, NAN}, "the run");
        if (finding)
            describe(finding, span, ratio, is_disturbed);
        return;
    }
}
