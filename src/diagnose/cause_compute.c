/* Compute-bound as a positive claim, never what is left over (rule book 11.5): almost all of the step is
 * computing, the thread really runs then, and nothing that costs time was found. */
#include <math.h>
#include <string.h>

#include "diagnose/causes.h"

static const unsigned stages[] = {SS_STAGE_FORWARD, SS_STAGE_BACKWARD, SS_STAGE_OPTIMIZER,
                                  SS_STAGE_COMPUTE};

static const struct snap_span *heaviest(const struct patient *patient)
{
    for (size_t i = 0; i < patient->snapshot->span_count; i++) {
        const struct snap_span *span = &patient->snapshot->spans[i];
        for (size_t k = 0; k < sizeof stages / sizeof stages[0]; k++)
            if (span->stage == stages[k])
                return span;
    }
    return NULL;
}

void causes_of_compute(struct patient *patient)
{
    struct interval share = {0, 0, 0};
    double busy = 0, seen = 0;

    for (size_t k = 0; k < sizeof stages / sizeof stages[0]; k++) {
        const struct snap_stage *stage = &patient->loop->stage[stages[k]];
        const uint64_t *looks = patient->snapshot->resources.states[stages[k]];
        if (stage->measured && isfinite(stage->share.low)) {
            share.low += stage->share.low;
            share.mid += stage->share.mid;
            share.high += stage->share.high;
        }
        busy += (double)looks[0];
        seen += (double)(looks[0] + looks[1] + looks[2]);
    }
    if (patient->loop
            ->is_asynchronous) { /* the host knows when it queued, not what it took */
        cause_unobservable(patient, "compute-bound");
        return;
    }
    for (size_t i = 0; i < patient->out->count; i++)
        if (patient->out->finding[i].severity >= FINDING_WARN)
            return;
    if (seen < 20) {
        cause_unobservable(patient, "compute-bound");
        return;
    }
    if (share.low < compute_share || busy / seen < really_busy)
        return;
    share.high = fmin(share.high, 1);
    struct finding *finding =
        cause_add(patient, "compute-bound", FINDING_INFO, share, "the step");
    const struct snap_span *most = heaviest(patient);
    if (!finding)
        return;
    cause_text(finding->claim,
               "computing takes %.1f %% of the step: nothing holds it back",
               100 * share.mid);
    cause_text(finding->evidence, "the loop's thread ran in %.0f %% of %.0f looks",
               100 * busy / seen, seen);
    if (most)
        cause_more(finding->evidence, "; most of it is %s%s%s", most->object,
                   *most->object ? "." : "", most->text);
    cause_text(finding->advice,
               "faster hardware, smaller types, a compiler, or a smaller model");
}
