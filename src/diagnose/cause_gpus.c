/* GPUs by their counters. On the host all work for them is only queued, so this is what is known of
 * them (method 10.5, 11.12). */
#include <inttypes.h>
#include <math.h>

#include "diagnose/causes.h"
#include "diagnose/hardware.h"
#include "stepscope/counters.h"

/* GPUs: idle 30 % of the time is worth a look, 70 % is high; full from 95 % on, and that says
 * something if it rose by 1 % or more while the loop ran: frameworks reserve memory and keep it
 * (ours). */
static const double gpu_idle_below = 0.7, gpu_idle_high = 0.3, gpu_full_from = 0.95,
                    gpu_memory_moves = 0.01;

static const double gigabyte = 1073741824;

static void judge_idle(struct diagnosis_input *input, const struct snap_resource *busy)
{
    const double idle = 1 - busy->mean;

    if (busy->mean >= gpu_idle_below)
        return;
    struct finding *finding =
        cause_add(input, FINDING_GPU_IDLE, busy->mean < gpu_idle_high ? FINDING_HIGH : FINDING_WARN,
                  (struct interval){0, idle, idle}, OF_LOOP);
    if (!finding)
        return;
    finding->kind = SHARE_BOUND;
    cause_text(finding->claim, "GPU %" PRIu64 " is idle %.0f %% of the time", busy->subject,
               100 * idle);
    cause_text(finding->evidence, "busy %.0f %% on average, according to its driver",
               100 * busy->mean);
    cause_text(finding->check, "the GPU's row in the next report: it should be busier");
    cause_text(finding->unknown,
               "how well it is used while busy: busy only means that something ran on it");
}

/* All of it is taken from the start on: reserved, or kept from before. That says nothing on what is
 * needed. */
static void say_reserved(struct finding *finding, const struct diagnosis_input *input)
{
    finding->severity = FINDING_INFO;
    cause_text(
        finding->unknown, "how much of it is really needed: %s",
        input->framework == FRAMEWORK_KERAS
            ? "TensorFlow reserves all of it; tf.config.experimental.get_memory_info(\"GPU:0\") shows what it uses"
        : input->framework == FRAMEWORK_JAX
            ? "JAX reserves most of it; XLA_PYTHON_CLIENT_PREALLOCATE=false shows what it uses"
        : is_on_torch(input->framework)
            ? "PyTorch caches freed memory; torch.cuda.max_memory_allocated() shows what it used"
            : "it was taken before the loop began and did not change");
}

static void judge_full(struct diagnosis_input *input, const struct snap_resource *used)
{
    const struct snap_resource *total =
        snapshot_value(input->snapshot, SS_COUNTER_ID_GPU_MEMORY_TOTAL, used->subject);

    if (!total || used->max < gpu_full_from * total->max)
        return;
    struct finding *finding = cause_add(input, FINDING_GPU_MEMORY_FULL, FINDING_WARN,
                                        (struct interval){NAN, NAN, NAN}, OF_RUN);
    if (!finding)
        return;
    cause_text(finding->claim, "the memory of GPU %" PRIu64 " is %.0f %% full", used->subject,
               100 * used->max / total->max);
    cause_text(finding->evidence, "%.1f of %.1f GB, at least %.1f GB while the loop ran",
               used->max / gigabyte, total->max / gigabyte, used->min / gigabyte);
    cause_text(finding->check, "its memory row in the next report");
    if (used->max - used->min < gpu_memory_moves * total->max)
        say_reserved(finding, input);
    else
        cause_text(finding->unknown,
                   "how much of it is really in use: frameworks cache freed memory");
}

static void judge_held(struct diagnosis_input *input, const struct snap_resource *clock)
{
    const double lost = gpu_held_lost(input->snapshot, clock->subject);
    char reasons[GPU_HELD_SIZE];

    if (!(lost > 1 - gpu_clock_held))
        return;
    const struct snap_resource *most =
        snapshot_value(input->snapshot, SS_COUNTER_ID_GPU_CLOCK_MOST, clock->subject);
    struct finding *finding = cause_add(input, FINDING_GPU_CLOCKS_HELD, FINDING_WARN,
                                        (struct interval){0, lost, lost}, OF_LOOP);
    if (!finding)
        return;
    finding->kind = SHARE_BOUND;
    cause_text(finding->claim, "the clock of GPU %" PRIu64 " is held at %.0f %% of its maximum",
               clock->subject, 100 * clock->mean / most->max);
    cause_text(finding->evidence, "%.0f of %.0f MHz; held by %s of the time", clock->mean / 1e6,
               most->max / 1e6, gpu_held_text(reasons, input->snapshot, clock->subject));
    cause_text(finding->check, "nvidia-smi -q -d PERFORMANCE while it trains");
    cause_text(finding->unknown,
               "how much faster the steps would be: not all of their time depends on its clock");
}

/* Nothing is known of a GPU of the run. */
static void say_unseen(struct diagnosis_input *input, enum finding_id id,
                       const struct run_gpus *gpus)
{
    if (!snapshot_value(input->snapshot, SS_COUNTER_ID_GPU_BUSY, SNAP_ANY))
        cause_without(input, id, SS_COUNTER_ID_GPU_BUSY);
    else if (gpus->is_hidden)
        cause_unobservable(input, id, "the driver does not report which processes use a GPU",
                           "in a container, share the host's process IDs (--pid=host)");
    else
        cause_unobservable(input, id, "no process of the run uses a GPU", "");
}

/* Judges the row that each GPU of the run has of a counter. */
static void judge_gpus(struct diagnosis_input *input, enum finding_id id, unsigned counter,
                       void (*judge)(struct diagnosis_input *input,
                                     const struct snap_resource *row))
{
    const struct snap_resources *resources = &input->snapshot->resources;
    const struct run_gpus gpus = run_gpus_of(input->snapshot, input->run);
    const size_t before = input->out->count;
    bool seen = false;

    for (size_t i = 0; i < resources->count; i++) {
        const struct snap_resource *row = &resources->rows[i];
        if (row->state != SS_SYSTEM_VALUE || !isfinite(row->mean) ||
            !run_gpus_has(&gpus, row->subject))
            continue;
        seen |= row->counter == SS_COUNTER_ID_GPU_BUSY;
        if (row->counter == counter)
            judge(input, row);
    }
    for (size_t i = before; gpus.is_guess && i < input->out->count; i++)
        cause_more(
            input->out->finding[i].evidence,
            "; its process IDs are those of the host and could not be matched with those of the run");
    if (!seen)
        say_unseen(input, id, &gpus);
}

static void find_idle(struct diagnosis_input *input)
{
    judge_gpus(input, FINDING_GPU_IDLE, SS_COUNTER_ID_GPU_BUSY, judge_idle);
}

static void find_full(struct diagnosis_input *input)
{
    judge_gpus(input, FINDING_GPU_MEMORY_FULL, SS_COUNTER_ID_GPU_MEMORY_USED, judge_full);
}

static void find_held(struct diagnosis_input *input)
{
    judge_gpus(input, FINDING_GPU_CLOCKS_HELD, SS_COUNTER_ID_GPU_CLOCK, judge_held);
}

const struct finding_kind finding_gpu_idle = {
    .name = "gpu-idle",
    .gist = "the GPU is idle for a large part of the time",
    .find = find_idle,
    .ends = {{"", ENDS_LOST}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] =
                "find out what the host waits for (the other findings); larger batches keep it busier",
            [FRAMEWORK_TORCH] =
                "find out what the host waits for (the other findings); larger batches, torch.compile(model, mode=\"reduce-overhead\")",
            [FRAMEWORK_KERAS] =
                "find out what the host waits for (the other findings); larger batches, compile(steps_per_execution=32, jit_compile=True)",
            [FRAMEWORK_JAX] =
                "find out what the host waits for (the other findings); larger batches, several steps in one call (jax.lax.scan)",
        },
    .given = "always",
    .meaning = "The GPU is idle for a large part of the time.",
    .computed =
        "Something ran on it, according to its driver, less than 70 % of the time; high below 30 %. "
        "The share is an upper bound on the saving.",
    .fixes =
        "Find out what the host waits for (the other findings); larger batches; a compiled step.",
};

const struct finding_kind finding_gpu_memory_full = {
    .name = "gpu-memory-full",
    .gist = "the GPU's memory is nearly full",
    .find = find_full,
    .ends = {{"", ENDS_NONE}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] = "smaller batches with gradient accumulation, or lower precision",
            [FRAMEWORK_TORCH] =
                "smaller batches with gradient accumulation, torch.autocast(\"cuda\"), torch.utils.checkpoint, optimizer.zero_grad(set_to_none=True)",
            [FRAMEWORK_KERAS] =
                "smaller batches with optimizer(gradient_accumulation_steps=4), keras.mixed_precision.set_global_policy(\"mixed_float16\"), keras.remat()",
            [FRAMEWORK_JAX] =
                "smaller batches with optax.MultiSteps, bfloat16, jax.checkpoint() around layers, donate_argnums for the state",
        },
    .given = "always",
    .meaning = "The GPU's memory is nearly full.",
    .computed =
        "At least 95 % of it was in use at some point, and use rose to that while the loop ran. "
        "Memory that is full from the start is only mentioned: TensorFlow and JAX reserve it whether they need it or not, and PyTorch caches freed memory.",
    .fixes =
        "Smaller batches with gradient accumulation, mixed precision, activation checkpointing.",
};

const struct finding_kind finding_gpu_clocks_held = {
    .name = "gpu-clocks-held",
    .gist = "heat or a power limit holds the GPU's clock down",
    .find = find_held,
    .ends = {{"", ENDS_LOST}},
    .advice = "check its cooling and power limit (nvidia-smi -q -d PERFORMANCE)",
    .given = "always",
    .meaning = "The GPU's clock is held down by heat or by its power limit.",
    .computed =
        "Below 90 % of its maximum while busy, and in at least 5 % of the samples the driver gives a reason other than being idle or a user setting.",
    .fixes = "Cooling, or the power limit: nvidia-smi -q -d PERFORMANCE shows which.",
};
