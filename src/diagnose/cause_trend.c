/* What changes from step to step: drift, pauses at regular distances, two speeds (method 4, 11.13
 * to 11.15). */
#include <inttypes.h>
#include <math.h>

#include "diagnose/causes.h"
#include "render/units.h"

/* Drift (method 11.13): there is a trend from 2 % on (method 4.1); but machines that are shared
 * differ by 5 % within a run without any counter that shows it (the fault matrix), so a warning
 * comes from 10 % on. */
static const struct bands drift_bands = {0.05, 0.1, 0.25};
/* A stage carries a drift with 60 % of it (`carries`). It is not the machine's doing if other
 * stages that compute grew by less than half as much, which can be told if they have 5 % of the
 * time of the two or more (ours). */
static const double drift_alike = 0.5, drift_rest = 0.05;
/* What a drift costs depends on what steps would have taken without it, which is unknown: half to
 * three times of what they take more than in the first third (ours; the fault matrix has the
 * evidence). Of a straight line the first third has a third of the growth itself, hence 1.5; and
 * from its middle to that of the last third are two thirds of it, so that twice the difference of
 * the two is surely more than all of it. */
static const double drift_times_least = 0.5, drift_times_most = 3, drift_line = 1.5,
                    drift_lasting = 2;
/* Pauses: at 2 % of the mean or more, the least that matters (method 11.14); a warning at 10 %. */
static const double pause_info = 0.02, pause_warn = 0.1;
/* Half of a share: pauses must be this part of what no span covers for these to be its name; and
 * something else must be this part of them for that to be theirs (ours). */
static const double pause_part = 0.5;
/* Two levels of step times: how far apart and how rare the rarer one may be is in stats/modes.h;
 * what the slow ones cost is reported at twice the threshold of a stage, since caches and
 * neighbours make two speeds by themselves (ours). */
static const struct bands modes_bands = {0.06, 0.1, 0.4};

/* The stage that carries most of the change (method 11.13); -1: none does. */
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

/* Whatever slows the machine down slows all stages down that compute; where there is one, it cannot
 * be told. */
static bool is_alike(const struct snap_loop *loop, int carrier)
{
    double early = 0, late = 0;

    if (carrier < 0 || loop->is_asynchronous)
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

/* How much longer steps of the last third take than those of the first. */
static double lasting_of(const struct snap_loop *loop)
{
    double early = 0, late = 0;

    for (int i = 0; i < SS_STAGE_COUNT; i++)
        if (isfinite(loop->stage[i].late_ns)) {
            early += loop->stage[i].early_ns;
            late += loop->stage[i].late_ns;
        }
    return early > 0 ? late / early - 1 : 0;
}

double diagnosis_trend(const struct snap_loop *loop)
{
    const double trend = loop->change.trend;

    return trend > 0 ? fmax(0, fmin(trend, drift_lasting * lasting_of(loop))) : trend;
}

/* What came and went is no drift: the last third has to be slower than the first as well. */
static double change_of(const struct snap_loop *loop)
{
    const struct change_shift *shift = change_largest(&loop->change);

    if (loop->change.kind == CHANGE_SHIFT && shift)
        return fmin(shift->after / shift->before - 1, lasting_of(loop));
    return loop->change.kind == CHANGE_DRIFT ? diagnosis_trend(loop) : 0;
}

/* What all steps take more than those of the first third. */
static struct interval drift_share(const struct snap_loop *loop)
{
    double early = 0;

    for (int i = 0; i < SS_STAGE_COUNT; i++)
        early += isfinite(loop->stage[i].early_ns) ? loop->stage[i].early_ns : 0;
    const double more = fmax(0, 1 - early / loop->step_ns.mid);
    const double share = loop->change.kind == CHANGE_DRIFT ? fmin(drift_line * more, 1) : more;
    const double most = fmin(1, drift_times_most * share);
    return (struct interval){drift_times_least * share, share, most};
}

static void describe_drift(struct finding *finding, const struct diagnosis_input *input,
                           double change, int carrier)
{
    const struct snap_loop *loop = input->loop;
    const struct change_shift *shift = change_largest(&loop->change);
    char early[UNITS_SIZE], late[UNITS_SIZE];

    if (loop->change.kind == CHANGE_SHIFT) /* as the line Trend says it */
        cause_text(finding->claim, "steps are %s from step %" PRId64 " on",
                   units_longer(early, shift->after / shift->before),
                   loop->shift_step[shift - loop->change.shifts]);
    else
        cause_text(finding->claim, "steps become slower: %s from first to last",
                   units_longer(early, 1 + change));
    cause_more(finding->claim, ", which costs %.1f %% of the step", 100 * finding->share.mid);
    cause_text(finding->evidence, "over %lld steady steps", (long long)loop->steady_steps);
    if (carrier >= 0)
        cause_more(finding->evidence, "; mostly the stage %s: %s at first, %s at last",
                   ss_stage_text((unsigned)carrier),
                   units_duration(early, (int64_t)loop->stage[carrier].early_ns),
                   units_duration(late, (int64_t)loop->stage[carrier].late_ns));
    if (input->snapshot->resources.growth_per_s > 0)
        cause_more(finding->evidence, "; memory grew by %.1f MB per minute",
                   input->snapshot->resources.growth_per_s * 60 / 1048576);
    cause_say_any_slow(finding, input);
    cause_text(finding->check, "`stepscope report --steps` lists all steps: which column grows?");
}

static void find_drift(struct diagnosis_input *input)
{
    const double change = change_of(input->loop);
    const int carrier = carrier_of(input->loop);

    if (change < drift_bands.info)
        return;
    /* Other work on the machine slows steps down too, mostly at once: that is another finding. */
    const bool is_watched = snapshot_is_watched(input->snapshot);
    const bool is_shift = input->loop->change.kind == CHANGE_SHIFT,
               is_unclear = !is_watched || cause_is_disturbed(input, VALIDITY_NOTE),
               alike = is_alike(input->loop, carrier);
    /* Neighbours of a virtual machine slow it down at once, and no counter shows them. */
    const bool may_be_machine = is_shift ? is_unclear || alike : is_unclear && alike;
    struct finding *finding = cause_add(input, FINDING_DRIFT,
                                        may_be_machine || change < drift_bands.warn ? FINDING_INFO
                                        : change >= drift_bands.high                ? FINDING_HIGH
                                                                                    : FINDING_WARN,
                                        drift_share(input->loop), OF_STEP);
    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    describe_drift(finding, input, change, carrier);
    if (may_be_machine)
        cause_text(finding->unknown, "%s may explain all of it",
                   is_watched ? "other work on the machine or its hypervisor"
                              : "other work on the machine, which was not recorded,");
}

/* Neither what is outside steps nor what each of them costs makes some of them slower than
 * others. */
static bool is_of_some_steps(const struct finding *finding)
{
    return finding->severity >= FINDING_WARN && finding->of == OF_STEP &&
           finding->id != FINDING_OVERHEAD_BOUND;
}

/* Part of the time in steps that callbacks save or evaluate, where that is warned of. */
static double cut_in_steps(const struct diagnosis_input *input)
{
    static const struct {
        enum finding_id id;
        enum call_part part;
    } cuts[] = {{FINDING_EVAL_HEAVY, PART_EVAL}, {FINDING_CHECKPOINT_HEAVY, PART_SAVE}};
    const struct snap_loop *loop = input->loop;
    const int64_t steps_ns =
        loop->segment_ns[SEGMENT_WARMUP_NS] + loop->segment_ns[SEGMENT_STEADY_NS];
    int64_t ns = 0;

    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        const struct finding *found = cause_find(input, cuts[i].id);
        for (size_t k = 0; found && k < input->snapshot->span_count; k++) {
            const struct snap_callback *callback = input->snapshot->spans[k].callback;
            if (callback && found->severity >= FINDING_WARN)
                ns += callback->part_ns[CALLED_IN_STEP][cuts[i].part];
        }
    }
    return steps_ns > 0 ? (double)ns / (double)steps_ns : 0;
}

/* Something that warns already takes half of this share or more, so that it may be the same. */
static bool is_explained(const struct diagnosis_input *input, double share)
{
    for (size_t i = 0; i < input->out->count; i++) {
        const struct finding *finding = &input->out->finding[i];
        /* What was recompiled runs slowly for the first time too: the upper end. */
        const bool is_new = finding->id == FINDING_RETRACE_STORM;
        if (is_of_some_steps(finding) &&
            (is_new ? finding->share.high : finding->share.mid) >= pause_part * share)
            return true;
    }
    return cut_in_steps(input) >= pause_part * share;
}

/* Time that no span covers has a name after all, if it is the pauses. */
static void name_unnamed(struct diagnosis_input *input, double share)
{
    struct finding *unnamed = cause_find(input, FINDING_INSTRUMENT_MORE);

    if (unnamed && share >= pause_part * unnamed->share.mid)
        unnamed->severity = FINDING_INFO;
}

static void find_pauses(struct diagnosis_input *input)
{
    const struct snap_loop *loop = input->loop;

    if (loop->periods == 0 || !(loop->spike_tax > pause_info))
        return;
    const struct interval step = loop->step_ns;
    const double p50 = loop->quantiles.p50_ns, share = 1 - p50 / step.mid,
                 least = isfinite(step.low) ? fmax(0, 1 - p50 / step.low) : 0,
                 most = isfinite(step.high) ? 1 - p50 / step.high : 1;
    const bool is_much = loop->spike_tax > pause_warn;
    if (is_much)
        name_unnamed(input, share);
    /* What comes now and then may be a callback or a compilation that has been found already. */
    struct finding *finding =
        cause_add(input, FINDING_PERIODIC_PAUSE,
                  is_much && !is_explained(input, share) ? FINDING_WARN : FINDING_INFO,
                  (struct interval){least, share, most}, OF_STEP);
    if (!finding)
        return;
    cause_text(finding->claim,
               "one in every %" PRId64
               " steps takes much longer; slow steps cost %.1f %% of the time",
               loop->period[0].steps, 100 * share);
    cause_text(finding->evidence,
               "%zu of %zu steps at that interval were slow; slow steps add %.1f %% to the mean",
               loop->period[0].hits, loop->period[0].places, 100 * loop->spike_tax);
    cause_say_any_slow(finding, input);
    cause_text(finding->check, "'Slowest steps' in the report shows which stage takes longer");
}

/* What the slow ones cost: known as well as the mean of all steps is, in which they count as often
 * as they came. */
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

    cause_text(finding->evidence, "hardly any step lies between the two");
    if (loop->turns.order == TURNS_STRETCHES)
        cause_more(finding->evidence, "; slow ones come in runs of about %s steps",
                   units_integer(text, (uint64_t)(loop->turns.stretch + 0.5)));
    else if (loop->turns.order == TURNS_ALTERNATE)
        cause_more(finding->evidence, "; slow and fast steps alternate");
    else
        cause_more(finding->evidence, "; they come in no visible order");
}

/* Two levels at the same time; one after the other is drift (method 4.6, 11.15). */
static void find_levels(struct diagnosis_input *input)
{
    const struct modes *modes = &input->loop->modes;
    const struct interval share = levels_share(input->loop);
    char low[UNITS_SIZE], high[UNITS_SIZE];

    if (!modes->are_two || input->loop->change.kind == CHANGE_SHIFT)
        return;
    const bool is_other =
        is_explained(input, share.mid) || cause_is_disturbed(input, VALIDITY_WARN);
    struct finding *finding = cause_add_share(input, FINDING_BIMODAL, share, modes_bands, OF_STEP);
    if (!finding)
        return;
    if (is_other)
        finding->severity = FINDING_INFO;
    cause_text(
        finding->claim,
        "steps run at two speeds: %.0f %% of them take %s, the others %s, which costs %.1f %% of the time",
        100 * modes->high_share, units_duration(high, (int64_t)modes->high),
        units_duration(low, (int64_t)modes->low), 100 * share.mid);
    say_order(finding, input->loop);
    cause_say_any_slow(finding, input);
    cause_text(finding->check,
               "`stepscope report --steps` lists all steps: which column has two levels?");
    cause_text(finding->unknown, "what decides whether a step is slow");
}

const struct finding_kind finding_drift = {
    .name = "drift",
    .gist = "steps become slower during the run",
    .find = find_drift,
    .ends =
        {{"",
          "estimate: the extra time over the first third (1.5 times that for a trend), half to three times of it"}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] =
                "look for what grows with the steps: lists, logs rewritten each time, a cache",
            [FRAMEWORK_TORCH] =
                "look for what grows with the steps: losses kept with their graph (keep loss.item()), hooks added in the loop, logs rewritten each time, a cache",
            [FRAMEWORK_KERAS] =
                "look for what grows with the steps: layers, tensors or tf.functions made in the loop, a callback that rewrites its whole history, a cache",
            [FRAMEWORK_JAX] =
                "look for what grows with the steps: lists of arrays (keep float(loss)), new shapes that are compiled, logs rewritten each time, a cache",
        },
    .given = "always",
    .meaning = "Steps become slower during the run, gradually or at once.",
    .computed =
        "A trend over all steady steps, or a change of level, of 5 % or more that is still there in the last third; "
        "a warning at 10 % or more. "
        "A change of level that other work on the machine may have caused, or during which it was not monitored, is no warning. "
        "The cost is an estimate: the extra time over the steps of the first third, half to three times of it.",
    .fixes =
        "Find what grows with the steps: a history that keeps tensors, rewritten logs, caches, memory.",
};

const struct finding_kind finding_periodic_pause = {
    .name = "periodic-pause",
    .gist = "one step in every N takes much longer",
    .find = find_pauses,
    .advice_for =
        {
            [FRAMEWORK_OTHER] = "look for work done every N steps: logging, saving, an evaluation",
            [FRAMEWORK_TORCH] =
                "look for work done every N steps: your own `if step % N == 0` that logs, saves or evaluates, the end of a data shard",
            [FRAMEWORK_LIGHTNING] =
                "look for work done every N steps: log_every_n_steps, val_check_interval, ModelCheckpoint(every_n_train_steps=N), the end of a data shard",
            [FRAMEWORK_TRANSFORMERS] =
                "look for work done every N steps: logging_steps, eval_steps, save_steps, the end of a data shard",
            [FRAMEWORK_KERAS] =
                "look for work done every N steps: TensorBoard(update_freq=N), ModelCheckpoint(save_freq=N), the end of a dataset file, a shuffle buffer that refills",
            [FRAMEWORK_JAX] =
                "look for work done every N steps: your own `if step % N == 0` that logs, saves or evaluates, the end of a data shard",
        },
    .given = "always",
    .meaning = "One step in every N takes much longer.",
    .computed = "Slow steps at regular intervals, if slow steps add at least 2 % to the mean; "
                "a warning at 10 % or more, unless another finding explains it.",
    .fixes = "Do the logging, saving or evaluation less often, or in another thread.",
};

const struct finding_kind finding_bimodal = {
    .name = "bimodal",
    .gist = "steps run at two speeds",
    .find = find_levels,
    .said = {{&modes_bands, OF_STEP, ""}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] =
                "find out what differs between them: batch sizes, cache misses, a thread that moves between cores (taskset -c 0-3)",
            [FRAMEWORK_TORCH] =
                "find out what differs between them: sample lengths (bucket by length with a batch_sampler), a late loader, cores (taskset -c 0-3 python ...)",
            [FRAMEWORK_KERAS] =
                "find out what differs between them: sample lengths (dataset.bucket_by_sequence_length()), late input, cores (taskset -c 0-3 python ...)",
            [FRAMEWORK_JAX] =
                "find out what differs between them: shapes (pad to few of them), late input, cores (taskset -c 0-3 python ...)",
        },
    .given = "always",
    .meaning = "Steps run at two speeds, with hardly any in between.",
    .computed =
        "The times of up to 512 steady steps, split into two levels at least 10 % apart, with at least 15 % of the steps each and at most 5 % between them. "
        "Not reported if one level follows the other: that is drift. "
        "Whether they come in stretches or alternate is tested with a runs test (at 1 %). "
        "Reported if the slow steps cost at least 6 % of the time, a warning at 10 %.",
    .fixes =
        "Batches of similar size, data that stays in the same cache, threads pinned to their cores.",
};
