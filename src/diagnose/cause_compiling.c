/* Tracing and compiling: again and again in the steady steps, or much of the run at its start. */
#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "diagnose/causes.h"

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

/* What is new runs slowly for the first time too: all that such steps take more than usual may go. */
static struct interval storm_share(const struct patient *patient)
{
    const struct snap_loop *loop = patient->loop;
    struct interval share = cause_estimate(patient, loop->stage[SS_STAGE_COMPILE].share);

    if (isfinite(loop->step_ns.high))
        share.high = fmax(share.high, 1 - loop->quantiles.p50_ns / loop->step_ns.high);
    return share;
}

static void find_storm(struct patient *patient)
{
    const struct snap_stage *stage = &patient->loop->stage[SS_STAGE_COMPILE];
    const struct snap_span *most = most_compiled(patient);

    if (!most || most->count < STORM_LEAST)
        return;
    struct finding *finding = cause_add_share(
        patient, "retrace-storm", storm_share(patient), storm_bands, "the step");
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
    const struct snap_thread *thread =
        patient->snapshot->thread_count ? patient->snapshot->threads : NULL;
    const int64_t ns = thread ? thread->segment_ns[SEGMENT_COMPILE_NS] : 0;
    const double share = ns > 0 ? (double)ns / (double)thread->wall_ns : 0;
    struct finding *finding =
        cause_add_share(patient, "compile-heavy", (struct interval){share, share, share},
                        start_bands, "the run");
    char took[UNITS_SIZE];

    if (!finding)
        return;
    if ((double)ns < start_least_ns)
        finding->severity = FINDING_INFO;
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
    if (!patient->has_few_steps)
        find_start(patient);
}
