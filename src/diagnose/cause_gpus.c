/* GPUs by their counters. On the host all work for them is only queued, so this is what is known of them. */
#include <inttypes.h>
#include <math.h>

#include "diagnose/causes.h"
#include "stepscope/counters.h"

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
    cause_text(finding->claim, "GPU %" PRIu64 " is idle %.0f %% of the time",
               busy->subject, 100 * idle);
    cause_text(finding->evidence, "busy %.0f %% on average, as its driver counts",
               100 * busy->mean);
    cause_text(finding->advice,
               "see what the host waits for (the other findings); larger batches keep "
               "it busier");
    cause_text(finding->unknown,
               "busy means that some kernel ran, not that the GPU was full");
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
    cause_text(finding->claim, "the memory of GPU %" PRIu64 " is full", used->subject);
    cause_text(finding->evidence, "%.1f of %.1f GB", used->max / 1073741824,
               total->max / 1073741824);
    cause_text(finding->advice,
               "smaller batches with gradients added up, smaller types, or recomputing "
               "activations");
    cause_text(finding->unknown, "frameworks keep memory that they do not use now");
}

static void find_held(struct patient *patient, const struct snap_resource *clock)
{
    const double lost = validity_gpu_lost(patient->snapshot, clock->subject);

    if (!(lost > 1 - gpu_clock_held))
        return;
    const struct snap_resource *most =
        snapshot_value(patient->snapshot, SS_COUNTER_ID_GPU_CLOCK_MOST, clock->subject);
    const struct snap_resource *held =
        snapshot_value(patient->snapshot, SS_COUNTER_ID_GPU_HELD, clock->subject);
    struct finding *finding = cause_add(patient, "gpu-clocks-held", FINDING_WARN,
                                        (struct interval){0, lost, lost}, "the loop");
    if (!finding)
        return;
    cause_text(finding->claim,
               "the clock of GPU %" PRIu64 " is held at %.0f %% of its highest",
               clock->subject, 100 * clock->mean / most->max);
    cause_text(finding->evidence,
               "%.0f of %.0f MHz; reasons as its driver codes them: 0x%" PRIx64,
               clock->mean / 1e6, most->max / 1e6, (uint64_t)held->max);
    cause_text(finding->advice,
               "see to its cooling and its power limit (nvidia-smi -q -d PERFORMANCE)");
}

/* Whether a process of the run has memory there: what others do with theirs, or leave, is not ours. */
static bool is_used(const struct snap_resources *resources, uint64_t gpu)
{
    for (size_t i = 0; i < resources->count; i++) {
        const struct snap_resource *row = &resources->rows[i];
        if (row->counter == SS_COUNTER_ID_GPU_PROCESS_MEMORY && row->subject >> 32 == gpu)
            return true;
    }
    return false;
}

void causes_of_gpus(struct patient *patient)
{
    const struct snap_resources *resources = &patient->snapshot->resources;
    bool seen = false;

    for (size_t i = 0; i < resources->count; i++) {
        const struct snap_resource *row = &resources->rows[i];
        if (row->state != SS_SYSTEM_VALUE || !isfinite(row->mean) ||
            !is_used(resources, row->subject))
            continue;
        seen |= row->counter == SS_COUNTER_ID_GPU_BUSY;
        if (row->counter == SS_COUNTER_ID_GPU_BUSY)
            find_idle(patient, row);
        else if (row->counter == SS_COUNTER_ID_GPU_MEMORY_USED)
            find_full(patient, row);
        else if (row->counter == SS_COUNTER_ID_GPU_CLOCK)
            find_held(patient, row);
    }
    if (!seen)
        cause_unobservable(patient, "gpu-idle");
}
