#include "diagnose/run_gpus.h"

#include "read/run.h"
#include "stepscope/counters.h"

/* "0,2"; false: nothing is told, or by names, which nobody here knows. */
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

/* By CUDA's variable. That of containers (NVIDIA_VISIBLE_DEVICES) has been obeyed: NVML has those alone, numbered
 * from 0 on. */
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
    return (struct run_gpus){.used = unmatched & visible_to(run),
                             .is_guess = unmatched != 0,
                             .is_hidden = is_absent};
}

bool run_gpus_has(const struct run_gpus *gpus, uint64_t gpu)
{
    return gpu < SS_GPUS_MOST && (gpus->used >> gpu & 1);
}
