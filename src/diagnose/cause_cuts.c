/* What is not in steps, as shares of the loop: evaluation and saving, which are cut out of them or
 * are in callbacks, and what is between epochs (method
 * 11.7). */
#include <inttypes.h>
#include <math.h>

#include "base/code_place.h"
#include "diagnose/causes.h"
#include "diagnose/input_makers.h"
#include "render/units.h"

/* A callback is named as a part of a cut from a fifth of it on, and what to change if it is most of
 * it (ours). */
static const double cut_part = 0.2, cut_most = 0.5;

static const struct cut {
    enum model_segment segment;
    enum call_place place;
    enum call_part part;
    unsigned stage;
    enum finding_id id;
    const char *what;
} evaluation = {SEGMENT_EVAL_NS, CALLED_IN_CUT + CUT_EVAL, PART_EVAL,
                SS_STAGE_EVAL,   FINDING_EVAL_HEAVY,       "evaluation takes"},
  saving = {SEGMENT_CHECKPOINT_NS, CALLED_IN_CUT + CUT_CHECKPOINT, PART_SAVE,
            SS_STAGE_CHECKPOINT,   FINDING_CHECKPOINT_HEAVY,       "checkpointing takes"};

/* In the loop, from one place on up to another. */
static struct call_sum sum_of(const struct snap_span *span, enum call_place first,
                              enum call_place last)
{
    struct call_sum sum = {0};

    for (int place = (int)first; place <= (int)last; place++) {
        sum.count += span->at[place].count;
        sum.total_ns += span->at[place].total_ns;
    }
    return sum;
}

/* How often: as the name that has most of it; what has no name comes with epochs, or at least
 * twice. */
static double times_of(const struct diagnosis_input *input, unsigned stage, enum call_place first,
                       enum call_place last)
{
    struct call_sum most = {0};

    for (size_t i = 0; i < input->snapshot->span_count; i++) {
        const struct snap_span *span = &input->snapshot->spans[i];
        const struct call_sum sum = sum_of(span, first, last);
        if (span->stage == stage && sum.total_ns > most.total_ns)
            most = sum;
    }
    return most.count > 0 ? (double)most.count : fmax((double)input->loop->epochs_seen, 2);
}

/* Of a callback's time. */
static int64_t part_of(const struct snap_span *span, enum call_part part)
{
    int64_t ns = 0;

    for (int place = 0; span->callback && place < CALLED_IN_CUT; place++)
        ns += span->callback->part_ns[place][part];
    return ns;
}

/* Time of that kind in callbacks, and the one that has most of it. */
static int64_t in_callbacks(const struct diagnosis_input *input, enum call_part part,
                            const struct snap_span **most)
{
    int64_t all = 0, largest = 0;

    for (size_t i = 0; i < input->snapshot->span_count; i++) {
        const struct snap_span *span = &input->snapshot->spans[i];
        const int64_t ns = part_of(span, part);
        all += ns;
        if (ns > largest) {
            largest = ns;
            *most = span;
        }
    }
    return all;
}

/* The callback that has a good part of what is cut out, as those that are called for each batch of
 * an evaluation. */
static const struct snap_span *heavy_inside(const struct diagnosis_input *input,
                                            enum call_place place, int64_t ns)
{
    const struct snap_span *most = NULL;

    for (size_t i = 0; i < input->snapshot->span_count; i++) {
        const struct snap_span *span = &input->snapshot->spans[i];
        const int64_t own = span->at[place].total_ns;
        if (span->stage == SS_STAGE_CALLBACK && (double)own >= cut_part * (double)ns &&
            (!most || own > most->at[place].total_ns))
            most = span;
    }
    return most;
}

static void say_inside(struct finding *finding, const struct diagnosis_input *input,
                       const struct cut *cut, int64_t ns)
{
    const struct snap_span *heavy = heavy_inside(input, cut->place, ns);
    char name[CAUSE_NAME_SIZE], mean[UNITS_SIZE];

    if (!heavy)
        return;
    const struct call_sum *sum = &heavy->at[cut->place];
    cause_more(finding->evidence, "; %.0f %% of it in %s, %" PRIu64 " calls of %s",
               100 * (double)sum->total_ns / (double)ns, cause_name(name, heavy), sum->count,
               units_duration(mean, sum->total_ns / (int64_t)sum->count));
    if ((double)sum->total_ns >= cut_most * (double)ns)
        cause_text(finding->advice,
                   "do less in %s, which was called %" PRIu64 " times during that time", name,
                   sum->count);
}

/* What calls it by name, and whose code that is. */
static void say_who(struct finding *finding, const struct diagnosis_input *input,
                    const struct cut *cut)
{
    const struct snap_cutter *who =
        &input->snapshot->hot.cutter[cut->place - (enum call_place)CALLED_IN_CUT];
    const struct snap_span *most = NULL;
    int64_t most_ns = 0;
    char name[CAUSE_NAME_SIZE], mean[UNITS_SIZE];

    for (size_t i = 0; i < input->snapshot->span_count; i++) {
        const struct snap_span *span = &input->snapshot->spans[i];
        if (span->stage == cut->stage && span->at[cut->place].total_ns > most_ns) {
            most = span;
            most_ns = span->at[cut->place].total_ns;
        }
    }
    if (most)
        cause_more(finding->evidence, "; most of it is %s, %" PRIu64 " call%s of %s",
                   cause_name(name, most), most->at[cut->place].count,
                   most->at[cut->place].count == 1 ? "" : "s",
                   units_duration(mean, most_ns / (int64_t)most->at[cut->place].count));
    if (who->at.function && who->at.line == 0)
        cause_more(finding->evidence, "; %.0f %% of it in %s() at %s", 100 * who->share.mid,
                   who->at.function, who->at.file);
    else if (who->at.function)
        cause_more(finding->evidence, "; %.0f %% of it at %s%s%" PRIu32 " (%s)",
                   100 * who->share.mid, who->at.file, code_line_mark(who->at.file, false),
                   who->at.line, who->at.function);
}

static void judge_cut(struct diagnosis_input *input, const struct cut *cut)
{
    const struct snap_loop *loop = input->loop;
    const struct snap_span *callback = NULL;
    const int64_t inside_ns = in_callbacks(input, cut->part, &callback);
    const int64_t ns = loop->segment_ns[cut->segment] + inside_ns;
    const double times = times_of(input, cut->stage, CALLED_BEFORE, CALL_PLACES - 1);
    const struct interval share = cause_cut_share(input, ns, times);
    struct finding *finding = cause_add_share(input, cut->id, share, cut_bands, OF_LOOP);
    char took[UNITS_SIZE], all[UNITS_SIZE], name[CAUSE_NAME_SIZE];

    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    cause_text(finding->claim, "%s %.1f %% of the loop's time", cut->what, 100 * share.mid);
    cause_text(finding->evidence, "%s of %s", units_duration(took, ns),
               units_duration(all, loop->wall_ns));
    if (callback)
        cause_more(finding->evidence, "; %s of it inside %s",
                   units_duration(took, part_of(callback, cut->part)), cause_name(name, callback));
    say_who(finding, input, cut);
    say_inside(finding, input, cut, ns);
    cause_text(finding->check, "'Run breakdown' in the next report");
}

/* Iterators and workers that are made and torn down between epochs. What comes once, before or
 * after the only epoch, is not between epochs. */
static void find_setup_between(struct diagnosis_input *input)
{
    const struct snap_loop *loop = input->loop;
    const int64_t ns = loop->between_ns[SS_STAGE_SETUP];
    const double times = times_of(input, SS_STAGE_SETUP, CALLED_BETWEEN, CALLED_BETWEEN);
    const struct interval share = cause_cut_share(input, ns, times);
    const bool comes_again = loop->epochs_seen > 1 || (loop->epochs_seen == 0 && times >= 2);
    struct finding *finding =
        comes_again ? cause_add_share(input, FINDING_SETUP_HEAVY, share, cut_bands, OF_LOOP) : NULL;
    char took[UNITS_SIZE], all[UNITS_SIZE];

    if (!finding)
        return;
    finding->kind = SHARE_ESTIMATE;
    cause_text(finding->claim,
               "creating iterators and workers between epochs takes %.1f %% of the loop's time",
               100 * share.mid);
    cause_text(finding->evidence, "%s of %s, %.0f times", units_duration(took, ns),
               units_duration(all, loop->wall_ns), times);
    cause_text(finding->check, "the row between of 'Run breakdown' should shrink");
}

static void find_evaluation(struct diagnosis_input *input)
{
    judge_cut(input, &evaluation);
}

static void find_saving(struct diagnosis_input *input)
{
    judge_cut(input, &saving);
}

static void find_setup(struct diagnosis_input *input)
{
    struct finding *finding = cause_add_stage(input, FINDING_SETUP_HEAVY, SS_STAGE_SETUP,
                                              "creating input iterators and workers takes",
                                              "the row setup of 'Step breakdown' should disappear");

    if (finding)
        cause_weigh_host(finding, input);
    find_setup_between(input);
}

const struct finding_kind finding_eval_heavy = {
    .name = "eval-heavy",
    .gist = "evaluation takes a large part of the loop",
    .find = find_evaluation,
    .said = {{&cut_bands, OF_LOOP, ""}},
    .ends = {{"", ENDS_OF_CUT}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] = "evaluate less often, on fewer batches, or with larger ones",
            [FRAMEWORK_TORCH] =
                "evaluate less often or on fewer batches; torch.inference_mode() and larger batches",
            [FRAMEWORK_LIGHTNING] =
                "evaluate less often or on fewer batches: Trainer(check_val_every_n_epoch=5, limit_val_batches=50)",
            [FRAMEWORK_TRANSFORMERS] =
                "evaluate less often, with larger batches: TrainingArguments(eval_steps=1000, per_device_eval_batch_size=)",
            [FRAMEWORK_KERAS] =
                "fit(validation_freq=5), validation_steps=50, or a larger validation_batch_size",
            [FRAMEWORK_JAX] =
                "evaluate every 5 epochs, on fewer or larger batches, in a function that jax.jit compiles",
        },
    .given = "where no callback takes half of the evaluation",
    .cases = {{"a callback takes half of it: do less in that callback", NULL, NULL}},
    .meaning = "Evaluation (validation) takes a large part of the loop's time.",
    .computed =
        "The segment eval, and evaluation inside callbacks: reported at 5 % of the loop or more, a warning at 10 %. "
        "Callbacks that take at least a fifth of it are named, and the function or line of the script that has half of the stack samples in it.",
    .fixes = "Evaluate less often, on fewer batches, or with larger ones.",
};

const struct finding_kind finding_checkpoint_heavy = {
    .name = "checkpoint-heavy",
    .gist = "checkpointing takes a large part of the loop",
    .find = find_saving,
    .said = {{&cut_bands, OF_LOOP, ""}},
    .ends = {{"", ENDS_OF_CUT}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] = "save less often, save less, or save in another thread",
            [FRAMEWORK_TORCH] =
                "save less often, save less, or save asynchronously: torch.distributed.checkpoint.async_save()",
            [FRAMEWORK_LIGHTNING] =
                "save less often, or save less: ModelCheckpoint(every_n_epochs=5, save_weights_only=True)",
            [FRAMEWORK_TRANSFORMERS] =
                "save less often, or save less: TrainingArguments(save_steps=1000, save_only_model=True)",
            [FRAMEWORK_KERAS] =
                "save less often, or save less: ModelCheckpoint(save_weights_only=True, save_best_only=True), save_freq= with a number of batches",
            [FRAMEWORK_JAX] = "save less often, or asynchronously: ocp.AsyncCheckpointer of orbax",
        },
    .given = "where no callback takes half of the saving",
    .cases = {{"a callback takes half of it: do less in that callback", NULL, NULL}},
    .meaning = "Saving the model takes a large part of the loop's time.",
    .computed =
        "The segment checkpoint, and saving inside callbacks: reported at 5 % of the loop or more, a warning at 10 %.",
    .fixes = "Save less often, weights only, or in another thread.",
};

/* persistent_workers=True would be an error there. */
static bool has_no_workers(const struct diagnosis_input *input)
{
    return is_on_torch(input->framework) && !input_producer(input);
}

const struct finding_kind finding_setup_heavy = {
    .name = "setup-heavy",
    .gist = "input iterators and workers are created again and again",
    .find = find_setup,
    .said = {{&stage_bands, OF_STEP, "in steps"}, {&cut_bands, OF_LOOP, "between epochs"}},
    .ends = {{"between epochs", ENDS_OF_CUT}, {"on a device", ENDS_ON_DEVICE}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] = "create the iterator once and keep it",
            [FRAMEWORK_TORCH] =
                "DataLoader(persistent_workers=True), and no next(iter(loader)) inside the loop",
            [FRAMEWORK_KERAS] =
                "one long dataset: dataset.repeat() and fit(steps_per_epoch=N), so that iterators are created once; in a custom loop, call iter(dataset) outside it",
            [FRAMEWORK_JAX] = "create the iterator once and keep it: iter() outside the loop",
        },
    .given = "where workers are restarted again and again, or the framework is not PyTorch",
    .cases = {{"PyTorch without workers", has_no_workers,
               "create the iterator once: no iter(loader) or next(iter(loader)) inside the loop"}},
    .meaning =
        "Creating and tearing down input iterators and workers takes time, in the step or between epochs.",
    .computed =
        "The stage setup of the step, with the thresholds of input-bound; or the same between epochs, at 5 % of the loop or more.",
    .fixes = "Keep workers and iterators alive across epochs.",
};
