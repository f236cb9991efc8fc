/* GPUs by their counters. On the host all work for them is only queued, so this is what is known of them
 * (rule book 3.2, 8.2). */
#include <inttypes.h>
#include <math.h>

#include "diagnose/causes.h"
#include "diagnose/gpu_held.h"
#include "diagnose/run_gpus.h"
#include "stepscope/counters.h"

static const double gigabyte = 1073741824;

static void find_idle(struct patient *patient, const struct snap_resource *busy)
{
    const double idle = 1 - busy->mean;

    if (busy->mean >= gpu_idle_below)
        return;
    struct finding *finding = cause_add(
        patient, "gpu-idle", busy->mean < gpu_idle_high ? FINDING_HIGH : FINDING_WARN,
        (struct interval){0, idle, idle}, "the loop");
    if (!finding)
        return;
    finding->kind = SHARE_BOUND;
    cause_text(finding->claim, "GPU %" PRIu64 " is idle %.0f %% of the time",
               busy->subject, 100 * idle);
    cause_text(finding->evidence, "busy %.0f %% on average, as its driver counts",
               100 * busy->mean);
    cause_text(finding->check, "the row of the GPU in the next report: it is busier");
    cause_text(finding->unknown,
               "how full it is when it is busy: busy means that anything ran on it");
}

/* All of it is taken from the start on: reserved, or kept from before. That says nothing on what is needed. */
static void say_reserved(struct finding *finding, const struct patient *patient)
{
    finding->severity = FINDING_INFO;
    cause_text(finding->unknown, "how much of it is needed: %s",
               patient->framework == FRAMEWORK_KERAS
                   ? "TensorFlow reserves all of it; "
                     "tf.config.experimental.get_memory_info(\"GPU:0\") tells"
               : patient->framework == FRAMEWORK_JAX
                   ? "JAX reserves most of it; "
                     "XLA_PYTHON_CLIENT_PREALLOCATE=false shows what it uses"
               : patient->framework == FRAMEWORK_TORCH
                   ? "PyTorch keeps what it had once; "
                     "torch.cuda.max_memory_allocated() tells"
                   : "it was taken before the loop began and did not change");
}

static void find_full(struct patient *patient, const struct snap_resource *used)
{
    const struct snap_resource *total =
        snapshot_value(patient->snapshot, SS_COUNTER_ID_GPU_MEMORY_TOTAL, used->subject);

    if (!total || used->max < gpu_full_from * total->max)
        return;
    struct finding *finding = cause_add(patient, "gpu-memory-full", FINDING_WARN,
                                        (struct interval){NAN, NAN, NAN}, "the run");
    if (!finding)
        return;
    cause_text(finding->claim, "the memory of GPU %" PRIu64 " is %.0f %% full",
               used->subject, 100 * used->max / total->max);
    cause_text(finding->evidence, "%.1f of %.1f GB, at least %.1f GB while the loop ran",
               used->max / gigabyte, total->max / gigabyte, used->min / gigabyte);
    cause_text(finding->check, "the row of its memory in the next report");
    if (used->max - used->min < gpu_memory_moves * total->max)
        say_reserved(finding, patient);
    else
        cause_text(finding->unknown,
                   "how much of it is in use: frameworks keep what they had once");
}

static void find_held(struct patient *patient, const struct snap_resource *clock)
{
    const double lost = gpu_held_lost(patient->snapshot, clock->subject);
    char reasons[GPU_HELD_SIZE];

    if (!(lost > 1 - gpu_clock_held))
        return;
    const struct snap_resource *most =
        snapshot_value(patient->snapshot, SS_COUNTER_ID_GPU_CLOCK_MOST, clock->subject);
    struct finding *finding = cause_add(patient, "gpu-clocks-held", FINDING_WARN,
                                        (struct interval){0, lost, lost}, "the loop");
    if (!finding)
        return;
    finding->kind = SHARE_BOUND;
    cause_text(finding->claim,
               "the clock of GPU %" PRIu64 " is held at %.0f %% of its highest",
               clock->subject, 100 * clock->mean / most->max);
    cause_text(finding->evidence, "%.0f of %.0f MHz; held by %s of the time",
               clock->mean / 1e6, most->max / 1e6,
               gpu_held_text(reasons, patient->snapshot, clock->subject));
    cause_text(finding->check, "nvidia-smi -q -d PERFORMANCE while it trains");
    cause_text(finding->unknown, "how much faster the steps would be: not all of them "
                                 "wait for its clock");
}

static void judge_row(struct patient *patient, const struct snap_resource *row)
{
    if (row->counter == SS_COUNTER_ID_GPU_BUSY)
        find_idle(patient, row);
    else if (row->counter == SS_COUNTER_ID_GPU_MEMORY_USED)
        find_full(patient, row);
    else if (row->counter == SS_COUNTER_ID_GPU_CLOCK)
        find_held(patient, row);
}

/* Nothing is known of a GPU of the run. */
static void say_unseen(struct patient *patient, const struct run_gpus *gpus)
{
    static const char *const ids[] = {"gpu-idle", "gpu-memory-full", "gpu-clocks-held"};

    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        if (!snapshot_value(patient->snapshot, SS_COUNTER_ID_GPU_BUSY, SNAP_ANY))
            cause_without(patient, ids[i], SS_COUNTER_ID_GPU_BUSY);
        else if (gpus->is_hidden)
            cause_unobservable(patient, ids[i],
                               "the driver does not tell which processes use a GPU",
                               "in a container: the host's processes (--pid=host)");
        else
            cause_unobservable(patient, ids[i], "no process of the run uses a GPU", "");
    }
}

void causes_of_gpus(struct patient *patient)
{
    const struct snap_resources *resources = &patient->snapshot->resources;
    const struct run_gpus gpus = run_gpus_of(patient->snapshot, patient->run);
    const size_t before = patient->out->count;
    bool seen = false;

    for (size_t i = 0; i < resources->count; i++) {
        const struct snap_resource *row = &resources->rows[i];
        if (row->state != SS_SYSTEM_VALUE || !isfinite(row->mean) ||
            !run_gpus_has(&gpus, row->subject))
            continue;
        seen |= row->counter == SS_COUNTER_ID_GPU_BUSY;
        judge_row(patient, row);
    }
    for (size_t i = before; gpus.is_guess && i < patient->out->count; i++)
        cause_more(patient->out->finding[i].evidence,
                   "; its processes have numbers of the host and could not be matched "
                   "with those of the run");
    if (!seen)
        say_unseen(patient, &gpus);
}
