/* What changes from step to step: drift, pauses at regular distances, two speeds, slow predictions
 * (rule book 10). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "diagnose/causes.h"

/* The stage that carries most of the change (rule book 10.1.5); -1: none does. */
static int carrier_of(const struct snap_loop *loop)
{
    double all = 0, most = 0;
    int carrier = -1;

    for (int i = 0; i < SS_STAGE_COUNT; i++) {
        const double more = loop->stage[i].late_ns - loop->stage[i].early_ns;
        all += isfinite(more) ? more : 0;
        if (more > most) {
            most = more;
            carrier = i;
        }
    }
    return most >= carries * all ? carrier : -1;
}

/* Whatever slows the machine down slows all stages down that compute; where there is one, it cannot be told. */
static bool is_alike(const struct snap_loop *loop, int carrier)
{
    static const int computing[] = {SS_STAGE_FORWARD, SS_STAGE_BACKWARD,
                                    SS_STAGE_OPTIMIZER, SS_STAGE_COMPUTE};
    double early = 0, late = 0;

    if (carrier < 0 || loop->is_asynchronous || loop->source == SOURCE_JIT)
        return true;
    for (size_t i = 0; i < sizeof computing / sizeof computing[0]; i++) {
        const struct snap_stage *stage = &loop->stage[computing[i]];
        if (computing[i] != carrier && isfinite(stage->late_ns)) {
            early += stage->early_ns;
            late += stage->late_ns;
        }
    }
    const struct snap_stage *stage = &loop->stage[carrier];
    return early < drift_rest * (early + stage->early_ns) ||
           late / early - 1 >= drift_alike * (stage->late_ns / stage->early_ns - 1);
}

/* What came and went is no drift: the last third has to be slower than the first as well. */
static double change_of(const struct snap_loop *loop)
{
    const struct change_shift *shift = change_largest(&loop->change);
    double early = 0, late = 0;

    for (int i = 0; i < SS_STAGE_COUNT; i++)
        if (isfinite(loop->stage[i].late_ns)) {
            early += loop->stage[i].early_ns;
            late += loop->stage[i].late_ns;
        }
    const double lasting = early > 0 ? late / early - 1 : 0;
    if (loop->change.kind == CHANGE_SHIFT && shift)
        return fmin(shift->after / shift->before - 1, lasting);
    return loop->change.kind == CHANGE_DRIFT ? fmin(loop->change.trend, 2 * lasting) : 0;
}

/* What all steps take more than those of the first third; of a steady growth these have a third of it
 * themselves. */
static double drift_share(const struct snap_loop *loop)
{
    double early = 0;

    for (int i = 0; i < SS_STAGE_COUNT; i++)
        early += isfinite(loop->stage[i].early_ns) ? loop->stage[i].early_ns : 0;
    const double more = fmax(0, 1 - early / loop->step_ns.mid);
    return loop->change.kind == CHANGE_DRIFT ? fmin(1.5 * more, 1) : more;
}

static void describe_drift(struct finding *finding, const struct patient *patient,
                           double change, int carrier)
{
    const struct snap_loop *loop = patient->loop;
    const struct change_shift *shift = change_largest(&loop->change);
    char early[UNITS_SIZE], late[UNITS_SIZE];

    if (loop->change.kind == CHANGE_SHIFT)
        cause_text(finding->claim, "steps take %.1f %% longer from step %" PRId64 " on",
                   100 * change, loop->shift_step[shift - loop->change.shifts]);
    else
        cause_text(finding->claim, "steps become slower: %.1f %% from first to last",
                   100 * change);
    cause_text(finding->evidence, "over %lld steady steps",
               (long long)loop->steady_steps);
    if (carrier >= 0)
        cause_more(finding->evidence, "; mostly %s: %s at first, %s at last",
                   ss_stage_text((unsigned)carrier),
                   units_duration(early, (int64_t)loop->stage[carrier].early_ns),
                   units_duration(late, (int64_t)loop->stage[carrier].late_ns));
    if (patient->snapshot->resources.growth_per_s > 0)
        cause_more(finding->evidence, "; memory grew by %.1f MB a minute meanwhile",
                   patient->snapshot->resources.growth_per_s * 60 / 1048576);
    cause_text(finding->advice,
               "look for what grows with the steps: lists of losses that keep their "
               "graph, logs that are written anew, a cache");
    cause_text(finding->check, "`stepscope report --steps`: which stage grows");
}

static void find_drift(struct patient *patient)
{
    const double change = change_of(patient->loop);
    const int carrier = carrier_of(patient->loop);

    if (change < drift_bands.info)
        return;
    /* Other work on the machine slows steps down too, mostly at once: that is another finding. */
    const bool is_watched = patient->snapshot->resources.count > 0;
    const bool is_shift = patient->loop->change.kind == CHANGE_SHIFT,
               is_unclear = !is_watched || cause_is_disturbed(patient, VALIDITY_NOTE),
               alike = is_alike(patient->loop, carrier);
    /* Neighbours of a virtual machine slow it down at once, and no counter shows them. */
    const bool may_be_machine = is_shift ? is_unclear || alike : is_unclear && alike;
    const double share = drift_share(patient->loop);
    struct finding *finding =
        cause_add(patient, "drift",
                  may_be_machine || change < drift_bands.warn ? FINDING_INFO
                  : change >= drift_bands.high                ? FINDING_HIGH
                                                              : FINDING_WARN,
                  (struct interval){share / 2, share, fmin(1, 3 * share)}, "the step");
    if (!finding)
        return;
    describe_drift(finding, patient, change, carrier);
    if (may_be_machine)
        cause_text(finding->unknown, "%s may be all of it",
                   is_watched ? "other work on the machine, or beside a virtual one,"
                              : "what else the machine did, which nobody saw,");
}

/* Something that warns already takes half of this share or more, so that it may be the same. */
static bool is_explained(const struct patient *patient, double share)
{
    for (size_t i = 0; i < patient->out->count; i++) {
        const struct finding *finding = &patient->out->finding[i];
        if (finding->severity >= FINDING_WARN && finding->share.mid >= pause_part * share)
            return true;
    }
    return false;
}

/* Time that no span covers has a name after all, if it is the pauses. */
static void name_unnamed(struct patient *patient, double share)
{
    struct finding *unnamed = cause_find(patient, "instrument-more");

    if (unnamed && share >= pause_part * unnamed->share.mid)
        unnamed->severity = FINDING_INFO;
}

static void find_pauses(struct patient *patient)
{
    const struct snap_loop *loop = patient->loop;

    if (loop->periods == 0 || !(loop->spike_tax > pause_info))
        return;
    const struct interval step = loop->step_ns;
    const double p50 = loop->quantiles.p50_ns, share = 1 - p50 / step.mid,
                 least = isfinite(step.low) ? fmax(0, 1 - p50 / step.low) : 0,
                 most = isfinite(step.high) ? 1 - p50 / step.high : 1;
    const bool is_much = loop->spike_tax > pause_warn;
    if (is_much)
        name_unnamed(patient, share);
    /* What comes now and then may be a callback or a compilation that has been found already. */
    struct finding *finding =
        cause_add(patient, "periodic-pause",
                  is_much && !is_explained(patient, share) ? FINDING_WARN : FINDING_INFO,
                  (struct interval){least, share, most}, "the step");
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

/* Two levels in turn; one after the other is drift (rule book 8.2, NUMA; 10.2). */
static void find_levels(struct patient *patient)
{
    const struct modes *modes = &patient->loop->modes;
    const double added = modes->high_share * (modes->high - modes->low),
                 share = added / (modes->low + added);
    char low[UNITS_SIZE], high[UNITS_SIZE];

    if (!modes->are_two || patient->loop->change.kind == CHANGE_SHIFT)
        return;
    const bool is_other =
        is_explained(patient, share) || cause_is_disturbed(patient, VALIDITY_WARN);
    struct finding *finding = cause_add_share(
        patient, "bimodal", (struct interval){share / 2, share, 2 * share}, modes_bands,
        "the step");
    if (!finding)
        return;
    if (is_other)
        finding->severity = FINDING_INFO;
    cause_text(finding->claim,
               "steps have two speeds: %.0f %% of them take %s, the others %s",
               100 * modes->high_share, units_duration(high, (int64_t)modes->high),
               units_duration(low, (int64_t)modes->low));
    cause_text(finding->evidence,
               "hardly a step lies between the two, and they come in turn");
    cause_text(
        finding->advice,
        "see what differs between them: sizes of batches, a cache that is missed, a "
        "thread that moves to another core (taskset, numactl)");
    cause_text(finding->check, "`stepscope report --steps`: which stage has two levels");
    cause_text(finding->unknown, "what decides which of the two a step gets");
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
    find_levels(patient);
    find_tail(patient);
}
