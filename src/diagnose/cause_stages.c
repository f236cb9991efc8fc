/* Stages that are a wait or a loss by themselves: their exposed share of the step (method
 * 11.5). */
#include "diagnose/causes.h"

/* On an asynchronous device, the call that asks for a result waits for the work
 * too: it is no loss unless the device has nothing to do at other times (method 10.5). */
static void weigh_sync(struct finding *finding, const struct diagnosis_input *input)
{
    if (!input->loop->is_asynchronous)
        return;
    if (!(cause_device_busy(input) < gpu_working))
        finding->severity = FINDING_INFO;
    finding->share.low = 0;
    finding->kind = SHARE_BOUND;
    cause_text(finding->unknown,
               "how much of the wait is the device's own work, which has to be done anyway");
}

static void find_transfer(struct diagnosis_input *input)
{
    struct finding *finding = cause_add_stage(input, FINDING_TRANSFER_BOUND, SS_STAGE_TRANSFER,
                                              "copies to the device take",
                                              "the row transfer of 'Step breakdown' should shrink");

    if (finding)
        cause_weigh_host(finding, input);
}

static void find_sync(struct diagnosis_input *input)
{
    struct finding *finding =
        cause_add_stage(input, FINDING_SYNC_BOUND, SS_STAGE_SYNC, "waiting for the device takes",
                        "remove those reads once and compare steps per second");

    if (finding)
        weigh_sync(finding, input);
}

static void find_comm(struct diagnosis_input *input)
{
    (void)cause_add_stage(input, FINDING_COMM_BOUND, SS_STAGE_COMM,
                          "communication between ranks takes",
                          "a single-process run shows the step without it");
}

static void find_gc(struct diagnosis_input *input)
{
    struct finding *finding =
        cause_add_stage(input, FINDING_GC_PAUSES, SS_STAGE_GC, "Python's garbage collector takes",
                        "the row gc of 'Step breakdown' should disappear");

    if (finding)
        cause_weigh_host(finding, input);
}

const struct finding_kind finding_transfer_bound = {
    .name = "transfer-bound",
    .gist = "copies to the device take a noticeable part of the step",
    .find = find_transfer,
    .said = {{&stage_bands, OF_STEP, ""}},
    .ends = {{"on a device", ENDS_ON_DEVICE}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] = "copy the next batch while this one trains, in a small type",
            [FRAMEWORK_TORCH] =
                "DataLoader(pin_memory=True) and tensor.to(device, non_blocking=True); copy uint8 and convert to float on the device",
            [FRAMEWORK_KERAS] =
                "end the input with .prefetch(tf.data.AUTOTUNE), or with .apply(tf.data.experimental.prefetch_to_device(\"/GPU:0\")); convert uint8 to float in the model (a Rescaling layer)",
            [FRAMEWORK_JAX] =
                "jax.device_put() the next batch before the result of this one is read; convert uint8 to float inside the jitted function",
        },
    .given = "always",
    .meaning = "Copies from the host to the device take a noticeable part of the step.",
    .computed = "The stage transfer of the steady steps, with the thresholds of input-bound.",
    .fixes = "Pinned memory, asynchronous copies, smaller types: uint8 instead of float.",
};

const struct finding_kind finding_sync_bound = {
    .name = "sync-bound",
    .gist = "the host waits for results from the device",
    .find = find_sync,
    .said = {{&stage_bands, OF_STEP, ""}},
    .ends = {{"on a device", ENDS_ON_DEVICE}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] = "read results every 50 steps instead of every step",
            [FRAMEWORK_TORCH] =
                "read losses every 50 steps: loss.item(), float(loss), loss.cpu() and print(loss) wait; until then, add them up with total += loss.detach()",
            [FRAMEWORK_KERAS] =
                "read losses every 50 steps: float(loss), loss.numpy() and print(loss) wait; in fit() compile(steps_per_execution=50) reads them once per 50 batches",
            [FRAMEWORK_JAX] =
                "read losses every 50 steps, or read the previous step's: float(loss), numpy.asarray(loss) and jax.block_until_ready(loss) wait",
        },
    .given = "always",
    .meaning =
        "The host waits for the device because the script reads a result: it prints a loss, or turns a metric into a Python number.",
    .computed =
        "The stage sync of the steady steps, with the thresholds of input-bound. "
        "An asynchronous device does its own work during that wait too, so reading less may not shorten steps: then the share is an upper bound, and a warning only if the device is seen to be idle.",
    .fixes = "Read losses and metrics every 50 steps, and add them up on the device until then.",
};

const struct finding_kind finding_comm_bound = {
    .name = "comm-bound",
    .gist = "communication between ranks takes part of the step",
    .find = find_comm,
    .said = {{&stage_bands, OF_STEP, ""}},
    .advice_for =
        {
            [FRAMEWORK_OTHER] =
                "larger batches per process, or exchange gradients once per several batches",
            [FRAMEWORK_TORCH] =
                "larger batches per process; gradient accumulation (model.no_sync() for all but the last batch); bf16 gradients: model.register_comm_hook(None, bf16_compress_hook)",
            [FRAMEWORK_KERAS] =
                "a larger batch per replica; gradient accumulation: optimizer(gradient_accumulation_steps=4)",
            [FRAMEWORK_JAX] =
                "a larger batch per device; gradient accumulation: optax.MultiSteps(optimizer, every_k_schedule=4)",
        },
    .given = "always",
    .meaning = "The ranks exchange gradients, or wait for the slowest of them.",
    .computed = "The stage comm of the steady steps, with the thresholds of input-bound.",
    .fixes =
        "Larger batches per rank, gradient accumulation, communication that overlaps the backward pass, a check of the slowest rank.",
};

const struct finding_kind finding_gc_pauses = {
    .name = "gc-pauses",
    .gist = "Python's garbage collector stops the loop",
    .find = find_gc,
    .said = {{&stage_bands, OF_STEP, ""}},
    .ends = {{"on a device", ENDS_ON_DEVICE}},
    .advice =
        "gc.freeze() after the model is built, and gc.disable() with gc.collect() between epochs",
    .given = "always",
    .meaning =
        "Python's garbage collector stops the loop while it looks for unused objects that refer to each other.",
    .computed = "The stage gc of the steady steps, with the thresholds of input-bound.",
    .fixes =
        "gc.freeze() after setup, so that the model is not scanned each time; collect between epochs.",
};
