/* What changes from step to step: drift, pauses at regular distances, slow predictions (rule book 10). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "diagnose/causes.h"

static const double drift_warn = 0.05, drift_high = 0.2;
static const double tail_ratio = 3; /* p99 over p50 */
static const double pause_share = 0.02, pause_warn = 0.1;
enum { TAIL_CALLS = 100 };

static void find_drift(struct patient *patient)
{
    const struct snap_loop *loop = patient->loop;
    const struct change_shift *shift = change_largest(&loop->change);
    double change = loop->change.kind == CHANGE_DRIFT ? loop->change.trend : 0;

    if (loop->change.kind == CHANGE_SHIFT && shift)
        change = shift->after / shift->before - 1;
    if (change < drift_warn)
        return;
    /* Other work on the machine slows steps down at some time: that is another finding. */
    const bool is_disturbed = cause_is_disturbed(patient);
    const double share = change / (1 + change) / 2; /* the first half had less of it */
    struct finding *finding =
        cause_add(patient, "drift",
                  is_disturbed           ? FINDING_INFO
                  : change >= drift_high ? FINDING_HIGH
                                         : FINDING_WARN,
                  (struct interval){0, share, 2 * share}, "the step");
    if (!finding)
        return;
    if (is_disturbed)
        cause_text(finding->unknown,
                   "the machine was disturbed meanwhile, which may be all of it");
    if (loop->change.kind == CHANGE_SHIFT)
        cause_text(finding->claim, "steps take %.1f %% longer from step %" PRId64 " on",
                   100 * change, loop->shift_step[shift - loop->change.shifts]);
    else
        cause_text(finding->claim, "steps become slower: %.1f %% from first to last",
                   100 * change);
    if (patient->snapshot->resources.growth_per_s > 0)
        cause_text(finding->evidence, "memory grew by %.1f MB a minute meanwhile",
                   patient->snapshot->resources.growth_per_s * 60 / 1048576);
    else
        cause_text(finding->evidence, "over %lld steady steps",
                   (long long)loop->steady_steps);
    cause_text(finding->advice,
               "look for what grows with the steps: lists of losses that keep their "
               "graph, logs that are written anew, a cache");
    cause_text(finding->check, "`stepscope report --steps`: which stage grows");
}

static void find_pauses(struct patient *patient)
{
    const struct snap_loop *loop = patient->loop;

    if (loop->periods == 0 || !(loop->spike_tax > pause_share))
        return;
    /* What comes now and then may be a callback or a compilation that has been found already. */
    bool is_known = false;
    for (size_t i = 0; i < patient->out->count; i++)
        is_known |= patient->out->finding[i].severity >= FINDING_WARN;
    struct finding *finding =
        cause_add(patient, "periodic-pause",
                  !is_known && loop->spike_tax > pause_warn ? FINDING_WARN : FINDING_INFO,
                  (struct interval){0, loop->spike_tax / (1 + loop->spike_tax),
                                    loop->spike_tax / (1 + loop->spike_tax)},
                  "the step");
    if (!finding)
        return;
    cause_text(finding->claim, "every %" PRId64 " steps one takes much longer",
               loop->period[0].steps);
    cause_text(finding->evidence,
               "%zu of %zu such places; slow steps add %.1f %% to the mean",
               loop->period[0].hits, loop->period[0].places, 100 * loop->spike_tax);
    cause_text(finding->advice,
               "see what the script does at that distance: logging, saving, an "
               "evaluation, the end of a shard");
    cause_text(finding->check,
               "the slowest steps of the report show the stage that takes longer");
}

static void find_tail(struct patient *patient)
{
    for (size_t i = 0; i < patient->snapshot->span_count; i++) {
        const struct snap_span *span = &patient->snapshot->spans[i];
        const double ratio = span->quantiles.p99_ns / span->quantiles.p50_ns;
        char p50[UNITS_SIZE], p99[UNITS_SIZE];
        if (span->stage != SS_STAGE_INFER || span->count < TAIL_CALLS ||
            !(ratio >= tail_ratio))
            continue;
        struct finding *finding = cause_add(patient, "latency-tail", FINDING_WARN,
                                            (struct interval){NAN, NAN, NAN}, "the run");
        if (!finding)
            return;
        cause_text(finding->claim, "1 of 100 predictions takes %.1f times the median",
                   ratio);
        cause_text(finding->evidence, "p50 %s, p99 %s, %" PRIu64 " calls",
                   units_duration(p50, (int64_t)span->quantiles.p50_ns),
                   units_duration(p99, (int64_t)span->quantiles.p99_ns), span->count);
        cause_text(finding->advice,
                   "call it a few times before it counts, and keep the shapes of its "
                   "inputs the same");
        return;
    }
}

void causes_over_time(struct patient *patient)
{
    find_drift(patient);
    find_pauses(patient);
    find_tail(patient);
}
