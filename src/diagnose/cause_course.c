/* What changes from step to step: drift, pauses at regular distances, two speeds (rule book 10). */
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
    double early = 0, late = 0;

    if (carrier < 0 || loop->is_asynchronous || loop->source == SOURCE_JIT)
        return true;
    for (int i = 0; i < SS_STAGE_COUNT; i++) {
        const struct snap_stage *stage = &loop->stage[i];
        if (model_computes((unsigned)i) && i != carrier && isfinite(stage->late_ns)) {
            early += stage->early_ns;
            late += stage->late_ns;
        }
    }
    const struct snap_stage *stage = &loop->stage[carrier];
    return early <= drift_rest * (early + stage->early_ns) ||
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
    return loop->change.kind == CHANGE_DRIFT
               ? fmin(loop->change.trend, drift_lasting * lasting)
               : 0;
}

/* What all steps take more than those of the first third. */
static struct interval drift_share(const struct snap_loop *loop)
{
    double early = 0;

    for (int i = 0; i < SS_STAGE_COUNT; i++)
        early += isfinite(loop->stage[i].early_ns) ? loop->stage[i].early_ns : 0;
    const double more = fmax(0, 1 - early / loop->step_ns.mid);
    const double share =
        loop->change.kind == CHANGE_DRIFT ? fmin(drift_line * more, 1) : more;
    const double most = fmin(1, drift_times_most * share);
    return (struct interval){drift_times_least * share, share, most};
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
    cause_more(finding->claim, ", which costs %.1f %% of the step",
               100 * finding->share.mid);
    cause_text(finding->evidence, "over %lld steady steps",
               (long long)loop->steady_steps);
    if (carrier >= 0)
        cause_more(finding->evidence, "; mostly the stage %s: %s at first, %s at last",
                   ss_stage_text((unsigned)carrier),
                   units_duration(early, (int64_t)loop->stage[carrier].early_ns),
                   units_duration(late, (int64_t)loop->stage[carrier].late_ns));
    if (patient->snapshot->resources.growth_per_s > 0)
        cause_more(finding->evidence, "; memory grew by %.1f MB a minute meanwhile",
                   patient->snapshot->resources.growth_per_s * 60 / 1048576);
    cause_say_any_slow(finding, patient);
    cause_text(finding->check,
               "`stepscope report --steps` lists all steps: which of its columns grows?");
}

static void find_drift(struct patient *patient)
{
    const double change = change_of(patient->loop);
    const int carrier = carrier_of(patient->loop);

    if (change < drift_bands.info)
        return;
    /* Other work on the machine slows steps down too, mostly at once: that is another finding. */
    const bool is_watched = snapshot_is_watched(patient->snapshot);
    const bool is_shift = patient->loop->change.kind == CHANGE_SHIFT,
               is_unclear = !is_watched || cause_is_disturbed(patient, VALIDITY_NOTE),
               alike = is_alike(patient->loop, carrier);
    /* Neighbours of a virtual machine slow it down at once, and no counter shows them. */
    const bool may_be_machine = is_shift ? is_unclear || alike : is_unclear && alike;
    struct finding *finding =
        cause_add(patient, "drift",
                  may_be_machine || change < drift_bands.warn ? FINDING_INFO
                  : change >= drift_bands.high                ? FINDING_HIGH
                                                              : FINDING_WARN,
                  drift_share(patient->loop), "the step");
    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    describe_drift(finding, patient, change, carrier);
    if (may_be_machine)
        cause_text(finding->unknown, "%s may be all of it",
                   is_watched ? "other work on the machine, or beside a virtual one,"
                              : "what else the machine did, which nobody saw,");
}

/* Neither what is outside of steps nor what each of them costs makes some of them slower than others. */
static bool is_of_some_steps(const struct finding *finding)
{
    return finding->severity >= FINDING_WARN && strcmp(finding->of, "the step") == 0 &&
           strcmp(finding->id, "overhead-bound") != 0;
}

/* Something that warns already takes half of this share or more, so that it may be the same. */
static bool is_explained(const struct patient *patient, double share)
{
    for (size_t i = 0; i < patient->out->count; i++) {
        const struct finding *finding = &patient->out->finding[i];
        /* What is compiled anew runs slowly for the first time too: the upper end. */
        const bool is_new = strcmp(finding->id, "retrace-storm") == 0;
        if (is_of_some_steps(finding) &&
            (is_new ? finding->share.high : finding->share.mid) >= pause_part * share)
            return true;
    }
    return cause_cut_in_steps(patient) >= pause_part * share;
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
    cause_text(finding->claim,
               "every %" PRId64
               " steps one takes much longer; slow steps cost %.1f %% of the time",
               loop->period[0].steps, 100 * share);
    cause_text(finding->evidence,
               "%zu of %zu steps at that distance were slow; slow steps add %.1f %% to "
               "the mean of all",
               loop->period[0].hits, loop->period[0].places, 100 * loop->spike_tax);
    cause_say_any_slow(finding, patient);
    cause_text(finding->check,
               "the slowest steps of the report show the stage that takes longer");
}

/* What the slow ones cost: known as well as the mean of all steps is, in which they count as often as they came. */
static struct interval levels_share(const struct snap_loop *loop)
{
    const struct modes *modes = &loop->modes;
    const double added = modes->high_share * (modes->high - modes->low),
                 fast = modes->low / (modes->low + added),
                 less = loop->step_ns.low / loop->step_ns.mid,
                 more = loop->step_ns.high / loop->step_ns.mid;

    return (struct interval){fmax(0, 1 - fast / less), 1 - fast, 1 - fast / more};
}

/* Which of the two comes when: it says where to look. */
static void say_order(struct finding *finding, const struct snap_loop *loop)
{
    char text[UNITS_SIZE];

    cause_text(finding->evidence, "hardly a step lies between the two");
    if (loop->turns.order == TURNS_STRETCHES)
        cause_more(finding->evidence, "; slow ones come in stretches, of some %s steps",
                   units_integer(text, (uint64_t)(loop->turns.stretch + 0.5)));
    else if (loop->turns.order == TURNS_ALTERNATE)
        cause_more(finding->evidence, "; they come in turn, slow after fast");
    else
        cause_more(finding->evidence, "; they come in no order that shows");
}

/* Two levels at the same time; one after the other is drift (rule book 8.2, NUMA; 10.2). */
static void find_levels(struct patient *patient)
{
    const struct modes *modes = &patient->loop->modes;
    const struct interval share = levels_share(patient->loop);
    char low[UNITS_SIZE], high[UNITS_SIZE];

    if (!modes->are_two || patient->loop->change.kind == CHANGE_SHIFT)
        return;
    const bool is_other =
        is_explained(patient, share.mid) || cause_is_disturbed(patient, VALIDITY_WARN);
    struct finding *finding =
        cause_add_share(patient, "bimodal", share, modes_bands, "the step");
    if (!finding)
        return;
    if (is_other)
        finding->severity = FINDING_INFO;
    cause_text(finding->claim,
               "steps have two speeds: %.0f %% of them take %s, the others %s, which "
               "costs %.1f %% of the time",
               100 * modes->high_share, units_duration(high, (int64_t)modes->high),
               units_duration(low, (int64_t)modes->low), 100 * share.mid);
    say_order(finding, patient->loop);
    cause_say_any_slow(finding, patient);
    cause_text(finding->check,
               "`stepscope report --steps` lists all steps: which of its columns has two "
               "levels?");
    cause_text(finding->unknown, "what decides which of the two a step gets");
}

void causes_over_time(struct patient *patient)
{
    find_drift(patient);
    find_pauses(patient);
    find_levels(patient);
}
