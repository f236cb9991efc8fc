/* Compute-bound as a positive claim, never what is left over (method 11.17): almost all of the
 * step is computing, the thread really runs then, and nothing that costs time was found. And that
 * there are too few steps to claim anything. */
#include <math.h>

#include "diagnose/causes.h"

/* Compute-bound is a positive claim (method 11.17). */
static const double compute_share = 0.8, really_busy = 0.9;
/* The heaviest call is named if it takes this part of the step (ours). */
static const double heavy_least = 0.02;

enum { HEAVY_MOST = 3 };

/* Appends the heaviest ones, with their shares of the step: "; heaviest: Net.forward 33 %, backward
 * 41 %". Gives how many there are. */
static int say_heaviest(struct finding *finding, const struct snapshot *snapshot, bool own_names,
                        const char *title)
{
    char name[CAUSE_NAME_SIZE];
    int said = 0;

    for (size_t i = 0; i < snapshot->span_count && said < HEAVY_MOST; i++) {
        const struct snap_span *span = &snapshot->spans[i];
        const bool is_wanted =
            own_names ? span->stage == SS_STAGE_USER : model_computes(span->stage);
        if (!is_wanted || !(span->share.mid > heavy_least))
            continue;
        cause_more(finding->evidence, "%s%s %.0f %%", said++ ? ", " : title, cause_name(name, span),
                   100 * span->share.mid);
    }
    return said;
}

/* How to get names for what computes. */
static const char *how_to_name_layers(enum framework framework)
{
    static const char *const texts[FRAMEWORK_COUNT] = {
        [FRAMEWORK_OTHER] = "to see its layers: ss_begin() and ss_end() around each",
        [FRAMEWORK_TORCH] =
            "to see its layers: with stepscope.span(\"name\"): around calls in forward()",
        [FRAMEWORK_KERAS] =
            "to see its layers: with stepscope.span(\"name\"): in call() together with compile(run_eagerly=True) once, or TensorBoard(profile_batch=(10, 20))",
        [FRAMEWORK_JAX] = "to see inside it: jax.profiler.trace(folder) around some steps"};

    return texts[framework_below(framework)];
}

/* Layers that call no other one: those in which the time is. False: they are not known. */
static bool say_layers(struct finding *finding, const struct snap_layers *layers)
{
    size_t heaviest[HEAVY_MOST];
    int said = 0;

    for (; said < HEAVY_MOST; said++) {
        const struct snap_layer *best = NULL;
        for (size_t i = 0; i < layers->count; i++) {
            const struct snap_layer *layer = &layers->rows[i];
            bool is_new = !layer->is_inner && layer->share.mid > heavy_least;
            for (int k = 0; k < said; k++)
                is_new = is_new && heaviest[k] != i;
            if (is_new && (!best || layer->share.mid > best->share.mid)) {
                best = layer;
                heaviest[said] = i;
            }
        }
        if (!best)
            break;
        cause_more(finding->evidence, "%s%s (%s) %.0f %%",
                   said ? ", " : "; heaviest layers: ", best->path, best->kind,
                   100 * best->share.mid);
    }
    return said > 0;
}

/* What the script has named lies inside what the framework calls, so it says more. */
static void say_names(struct finding *finding, const struct diagnosis_input *input)
{
    say_heaviest(finding, input->snapshot, false, "; heaviest: ");
    const bool has_layers = say_layers(finding, &input->loop->layers);
    if (say_heaviest(finding, input->snapshot, true, "; by your own names: ") == 0 && !has_layers)
        cause_text(finding->unknown, "how much each layer takes; %s",
                   how_to_name_layers(input->framework));
}

/* Why it cannot be said here; false: it can. */
static bool is_hidden(struct diagnosis_input *input, double looks)
{
    const struct snap_loop *loop = input->loop;

    if (snapshot_overlaps(loop))
        cause_unobservable(
            input, FINDING_COMPUTE_BOUND,
            "the device runs asynchronously: the host only sees when it queued the work",
            "`stepscope run --device-events` measures the device's own time (PyTorch on CUDA)");
    else if (loop->stage[SS_STAGE_DATA].reason)
        cause_can_see(input, FINDING_COMPUTE_BOUND, SS_STAGE_DATA);
    else if (looks < LOOKS_NEEDED)
        cause_unobservable(
            input, FINDING_COMPUTE_BOUND, "too few samples of whether the loop thread was running",
            input->snapshot->resources.count == 0 ? "start the training with `stepscope run`"
                                                  : "a longer run");
    else
        return false;
    return true;
}

static void add(struct diagnosis_input *input, struct interval share, double busy, double looks)
{
    struct finding *finding = cause_add(input, FINDING_COMPUTE_BOUND, FINDING_INFO, share, OF_STEP);

    if (!finding)
        return;
    cause_text(finding->claim, "computing takes %.1f %% of the step: nothing else holds it back",
               100 * share.mid);
    cause_text(finding->evidence, "the loop thread was running in %.0f %% of %.0f samples",
               100 * busy, looks);
    say_names(finding, input);
    cause_text(finding->check, "`stepscope compare` a run before with a run after");
}

/* By a cause in the script: what the machine took from the cores is no reason not to say that the
 * rest of the step is computing. */
static bool is_held_back(const struct diagnosis *out)
{
    for (size_t i = 0; i < out->count; i++)
        if (out->finding[i].severity >= FINDING_WARN &&
            !finding_kind_of(out->finding[i].id)->is_disturbance)
            return true;
    return false;
}

static void find_compute(struct diagnosis_input *input)
{
    struct interval share = {0, 0, 0};
    double busy = 0, looks = 0;

    for (unsigned k = 0; k < SS_STAGE_COUNT; k++) {
        const struct snap_stage *stage = &input->loop->stage[k];
        const uint64_t *seen = input->snapshot->resources.states[k];
        if (!model_computes(k))
            continue;
        if (stage->measured && isfinite(stage->share.low)) {
            share.low += stage->share.low;
            share.mid += stage->share.mid;
            share.high += stage->share.high;
        }
        busy += (double)seen[0];
        looks += (double)(seen[0] + seen[1] + seen[2]);
    }
    if (is_held_back(input->out))
        return;
    if (is_hidden(input, looks))
        return;
    share.high = fmin(share.high, 1);
    if (share.low >= compute_share && busy / looks >= really_busy)
        add(input, share, busy / looks, looks);
}

static void find_too_few(struct diagnosis_input *input)
{
    const struct snap_loop *loop = input->loop;
    const int64_t missing = loop->warmup.class == WARMUP_TOO_FEW
                                ? loop->warmup.missing
                                : WARMUP_MIN_STEADY - loop->steady_steps;

    if (!input->has_few_steps)
        return;
    struct finding *finding =
        cause_add(input, FINDING_TOO_FEW_STEPS, input->has_few_waits ? FINDING_INFO : FINDING_WARN,
                  (struct interval){NAN, NAN, NAN}, OF_STEP);
    if (!finding)
        return;
    if (snapshot_waits_seldom(loop)) {
        cause_text(finding->claim, "too few waits for results for statistics");
        cause_text(
            finding->evidence,
            "%lld steps so far, which finish asynchronously: %lld more waits for results needed, at most %lld steps apart",
            (long long)loop->steps, (long long)missing, (long long)loop->window_steps);
        cause_text(finding->check,
                   "float(loss) every 10 steps or so; the shares of the stages are known");
        return;
    }
    cause_text(finding->claim, "too few steps for statistics");
    cause_text(finding->evidence, "%lld steps so far; %lld more needed", (long long)loop->steps,
               (long long)missing);
    cause_text(finding->check, "the line 'confidence' of the next summary");
}

static bool is_compiled(const struct diagnosis_input *input)
{
    for (size_t i = 0; i < input->snapshot->span_count; i++)
        if (input->snapshot->spans[i].stage == SS_STAGE_COMPILE)
            return is_on_torch(input->framework);
    return false;
}

const struct finding_kind finding_compute_bound = {
    .name = "compute-bound",
    .gist = "the step is spent computing; nothing else holds it back",
    .is_no_loss = true,
    .find = find_compute,
    .advice_for =
        {
            [FRAMEWORK_OTHER] =
                "faster hardware, lower precision, compiler optimisation (-O3 -march=native), or a smaller model",
            [FRAMEWORK_TORCH] =
                "torch.compile(model), torch.autocast(device, torch.bfloat16), torch.set_float32_matmul_precision(\"high\"); "
                "otherwise faster hardware or a smaller model",
            [FRAMEWORK_KERAS] =
                "compile(jit_compile=True), keras.mixed_precision.set_global_policy(\"mixed_bfloat16\"); "
                "otherwise faster hardware or a smaller model",
            [FRAMEWORK_JAX] =
                "bfloat16, jax.default_matmul_precision(\"bfloat16\"), donate_argnums for the state; "
                "otherwise faster hardware or a smaller model",
        },
    .given = "where nothing was compiled by torch.compile",
    .cases =
        {{"torch.compile has compiled something", is_compiled,
          "torch.autocast(device, torch.bfloat16), torch.set_float32_matmul_precision(\"high\"); otherwise faster hardware or a smaller model"}},
    .meaning = "The step is spent computing; nothing else holds it back.",
    .computed =
        "Forward, backward, optimizer and compute take at least 80 % of the step, the loop thread was running in at least 90 % of its samples, and no other finding is a warning. "
        "Not measurable where a device runs asynchronously, or where the wait for data is inside a compiled step and cannot be separated.",
    .fixes = "Faster hardware, mixed precision, a compiler, a smaller model.",
};

const struct finding_kind finding_too_few_steps = {
    .name = "too-few-steps",
    .gist = "too few steady steps for statistics",
    .needs = NEEDS_STEPS,
    .is_no_loss = true,
    .find = find_too_few,
    .ends = {{"", ENDS_NONE}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] = "train for more steps",
            [FRAMEWORK_TORCH] = "train for more steps",
            [FRAMEWORK_LIGHTNING] = "train for more steps: Trainer(max_steps=)",
            [FRAMEWORK_TRANSFORMERS] = "train for more steps: TrainingArguments(max_steps=)",
            [FRAMEWORK_KERAS] = "train for more steps: fit(epochs=) or a larger dataset.repeat()",
            [FRAMEWORK_JAX] = "train for more steps",
        },
    .given = "always",
    .meaning = "The run has too few steady steps for statistics.",
    .computed = "Fewer than 20 steady windows.",
    .fixes = "Train for more steps.",
};
