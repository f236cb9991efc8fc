/* Callbacks, each by its name (rule book 3.1). */
#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "diagnose/causes.h"

static bool is_each_step(const struct snap_span *span)
{
    return span->stage == SS_STAGE_CALLBACK &&
           (span->scope == SS_SCOPE_NONE || span->scope == SS_SCOPE_BATCH_BEGIN ||
            span->scope == SS_SCOPE_BATCH_END);
}

/* Of a name it may not be known yet, where that of all callbacks is: then it is as wide as that one. */
static struct interval share_of(const struct patient *patient,
                                const struct snap_span *span)
{
    const struct interval all = patient->loop->stage[SS_STAGE_CALLBACK].share;
    const double mid = span->share.mid;

    if (patient->has_few_steps || isfinite(span->share.high) || !isfinite(all.high) ||
        !(all.mid > 0))
        return cause_estimate(patient, span->share);
    return (struct interval){mid * all.low / all.mid, mid, mid * all.high / all.mid};
}

static void describe(struct finding *finding, const struct patient *patient,
                     const struct snap_span *span)
{
    const double every =
        span->count > 0 ? (double)patient->loop->steps / (double)span->count : 0;
    const double busy = cause_busy(patient, SS_STAGE_CALLBACK);
    char mean[UNITS_SIZE], p95[UNITS_SIZE];

    cause_text(finding->claim, "%s%s%s takes %.1f %% of the step (%.1f to %.1f %%)",
               span->object, *span->object ? "." : "", span->text,
               100 * finding->share.mid, 100 * finding->share.low,
               100 * finding->share.high);
    cause_text(finding->evidence, "%" PRIu64 " calls of %s", span->count,
               units_duration(mean, (int64_t)span->mean_ns));
    if (isfinite(span->quantiles.p95_ns) && span->count >= 20)
        cause_more(finding->evidence, ", p95 %s",
                   units_duration(p95, (int64_t)span->quantiles.p95_ns));
    if (every >= 1.5)
        cause_more(finding->evidence, ", every %.0f steps", every);
    if (busy < mostly_waiting)
        cause_more(finding->evidence, "; callbacks mostly wait");
    cause_text(finding->advice,
               "call it less often (every 50 steps), or move its work to the end of "
               "the epoch or to another thread");
    cause_text(finding->check, "train without it once");
    if (busy < mostly_waiting)
        cause_text(finding->unknown,
                   "a callback that reads a tensor first waits for the device: that "
                   "time would move to whoever reads next");
}

void causes_of_callbacks(struct patient *patient)
{
    const struct snapshot *snapshot = patient->snapshot;

    for (size_t i = 0; i < snapshot->span_count; i++) {
        const struct snap_span *span = &snapshot->spans[i];
        struct finding *finding =
            is_each_step(span)
                ? cause_add_share(patient, "callback-bound", share_of(patient, span),
                                  callback_bands, "the step")
                : NULL;
        if (finding)
            describe(finding, patient, span);
    }
}
