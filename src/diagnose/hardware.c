#include "diagnose/hardware.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/run.h"
#include "stepscope/counters.h"

/* The command has more time than the cores of its loops have worked: by more than looks at two
 * moments differ (ours). */
static const double tree_elsewhere = 1.1;

/* Where the command has more time than the cores of its loops have worked, its other threads are
 * elsewhere. */
struct run_cores run_cores_of(const struct snapshot *snapshot)
{
    const struct snap_resource *tree = snapshot_value(snapshot, SS_COUNTER_ID_TREE_CPU, SNAP_ANY);
    const struct snap_resource *all = snapshot_value(snapshot, SS_COUNTER_ID_CPU_BUSY, SS_ALL_CPUS);
    const struct snap_resource *busy = snapshot_allowed_busy(snapshot);

    if (all && busy && tree && tree->mean > busy->mean * tree_elsewhere)
        return (struct run_cores){snapshot_cores(snapshot), all};
    return (struct run_cores){snapshot_allowed_cores(snapshot), busy};
}

/* "0,2"; false: nothing is set, or by names, which are unknown here. */
static bool parse_list(struct ss_text list, uint64_t *out)
{
    unsigned number = 0;
    bool has_digit = false;

    *out = 0;
    if (list.size > 0 && list.data[0] == '-') /* -1: none at all */
        return true;
    for (size_t i = 0; i <= list.size; i++) {
        const char letter = i < list.size ? list.data[i] : ',';
        if (letter >= '0' && letter <= '9' && number < SS_GPUS_MOST) {
            number = 10 * number + (unsigned)(letter - '0');
            has_digit = true;
        } else if (letter == ',' && has_digit && number < SS_GPUS_MOST) {
            *out |= UINT64_C(1) << number;
            number = 0;
            has_digit = false;
        } else {
            return false;
        }
    }
    return true;
}

/* By CUDA's variable. That of containers (NVIDIA_VISIBLE_DEVICES) has been obeyed: NVML has those
 * alone, numbered from 0 on. */
static uint64_t visible_to(const struct ss_run *run)
{
    uint64_t visible = 0, listed;

    for (size_t i = 0; i < ss_run_processes(run); i++) {
        if (!run_is_training(run, i))
            continue;
        if (!parse_list(ss_run_info(run, i, "env.CUDA_VISIBLE_DEVICES"), &listed))
            return UINT64_MAX;
        visible |= listed;
    }
    return visible;
}

struct run_gpus run_gpus_of(const struct snapshot *snapshot, const struct ss_run *run)
{
    const struct snap_resources *resources = &snapshot->resources;
    uint64_t ours = 0, unmatched = 0;
    bool is_absent = false;

    for (size_t i = 0; i < resources->count; i++) {
        const struct snap_resource *row = &resources->rows[i];
        const uint64_t gpu = row->subject >> 32;
        if (row->counter != SS_COUNTER_ID_GPU_PROCESS_MEMORY || gpu >= SS_GPUS_MOST)
            continue;
        is_absent |= row->state != SS_SYSTEM_VALUE;
        if (row->state == SS_SYSTEM_VALUE)
            *((uint32_t)row->subject ? &ours : &unmatched) |= UINT64_C(1) << gpu;
    }
    if (ours)
        return (struct run_gpus){.used = ours};
    return (struct run_gpus){
        .used = unmatched & visible_to(run), .is_guess = unmatched != 0, .is_hidden = is_absent};
}

bool run_gpus_has(const struct run_gpus *gpus, uint64_t gpu)
{
    return gpu < SS_GPUS_MOST && (gpus->used >> gpu & 1);
}

/* A reason to hold its clock counts if it was there in this many of the samples (method 11.12). */
static const double gpu_held_part = 0.05;

/* A GPU that is less busy may rest (ours). */
static const double gpu_busy = 0.3;

static const struct {
    unsigned counter;
    const char *text;
} reasons[] = {{SS_COUNTER_ID_GPU_HELD_HEAT, "heat"},
               {SS_COUNTER_ID_GPU_HELD_POWER, "power cap"},
               {SS_COUNTER_ID_GPU_HELD_HARDWARE, "hardware slowdown"},
               {SS_COUNTER_ID_GPU_HELD_OTHER, "another reason"}};
enum { REASONS = sizeof reasons / sizeof reasons[0] };

static double part_of(const struct snapshot *snapshot, uint64_t gpu, unsigned counter)
{
    const struct snap_resource *row = snapshot_value(snapshot, counter, gpu);

    return row ? row->mean : 0;
}

const char *gpu_held_text(char out[GPU_HELD_SIZE], const struct snapshot *snapshot, uint64_t gpu)
{
    out[0] = '\0';
    for (size_t i = 0; i < REASONS; i++) {
        const size_t used = strlen(out);
        const double part = part_of(snapshot, gpu, reasons[i].counter);
        if (part > 0)
            snprintf(out + used, GPU_HELD_SIZE - used, "%s%s %.0f %%", used ? ", " : "",
                     reasons[i].text, fmax(1, 100 * part));
    }
    return out;
}

double gpu_held_lost(const struct snapshot *snapshot, uint64_t gpu)
{
    const struct snap_resource *clock = snapshot_value(snapshot, SS_COUNTER_ID_GPU_CLOCK, gpu);
    const struct snap_resource *most = snapshot_value(snapshot, SS_COUNTER_ID_GPU_CLOCK_MOST, gpu);
    const struct snap_resource *busy = snapshot_value(snapshot, SS_COUNTER_ID_GPU_BUSY, gpu);
    double part = 0;

    for (size_t i = 0; i < REASONS; i++)
        part = fmax(part, part_of(snapshot, gpu, reasons[i].counter));
    if (!clock || !most || !busy || part < gpu_held_part || busy->mean < gpu_busy)
        return 0;
    return 1 - clock->mean / most->max;
}
