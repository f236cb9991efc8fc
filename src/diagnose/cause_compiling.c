/* Tracing and compiling: again and again in the steady steps, or much of the run at its start. */
#include <inttypes.h>

#include "base/units.h"
#include "diagnose/causes.h"

static const struct bands storm_bands = {0.02, 0.03, 0.2};
static const struct bands start_bands = {0.1, 0.2, 0.5};
enum { STORM_LEAST = 5 }; /* compilations of one function */

static const struct snap_span *most_compiled(const struct patient *patient)
{
    const struct snap_span *most = NULL;

    for (size_t i = 0; i < patient->snapshot->span_count; i++) {
        const struct snap_span *span = &patient->snapshot->spans[i];
        if (span->stage == SS_STAGE_COMPILE && (!most || span->count > most->count))
            most = span;
    }
    return most;
}

static void find_storm(struct patient *patient)
{
    const struct snap_stage *stage = &patient->loop->stage[SS_STAGE_COMPILE];
    const struct snap_span *most = most_compiled(patient);

    if (!most || most->count < STORM_LEAST)
        return;
    struct finding *finding =
        cause_add_share(patient, "retrace-storm", stage->share, storm_bands, "the step");
    char mean[UNITS_SIZE];
    if (!finding)
        return;
    cause_text(finding->claim, "%s%s%s is compiled again and again: %.1f %% of the step",
               most->object, *most->object ? "." : "", most->text,
               100 * stage->share.mid);
    cause_text(finding->evidence, "%" PRIu64 " times in %lld steps, %s each", most->count,
               (long long)patient->loop->steps,
               units_duration(mean, (int64_t)most->mean_ns));
    cause_text(
        finding->advice,
        patient->framework == FRAMEWORK_KERAS
            ? "pass tensors instead of Python numbers, keep shapes the same "
              "(drop_remainder=True), make the tf.function once"
            : "keep shapes and types of the arguments the same (pad the last batch, mark what "
              "changes as dynamic), make the compiled function once");
    cause_text(finding->check, "it is compiled once or twice in the whole run");
}

static void find_start(struct patient *patient)
{
    const struct snap_loop *loop = patient->loop;
    const int64_t ns = patient->snapshot->thread_count
                           ? patient->snapshot->threads[0].segment_ns[SEGMENT_COMPILE_NS]
                           : 0;
    const double share =
        loop->wall_ns > 0 ? (double)ns / (double)(loop->wall_ns + ns) : 0;
    struct finding *finding =
        cause_add_share(patient, "compile-heavy", (struct interval){share, share, share},
                        start_bands, "the run");
    char took[UNITS_SIZE];

    if (!finding)
        return;
    cause_text(finding->claim,
               "compiling before the first update took %.0f %% of the run", 100 * share);
    cause_text(finding->evidence, "%s", units_duration(took, ns));
    cause_text(finding->advice,
               "keep compiled code between runs (a compilation cache), or train longer "
               "in one run");
    cause_text(finding->check, "the segment compile of the next run");
}

void causes_of_compiling(struct patient *patient)
{
    find_storm(patient);
    find_start(patient);
}
