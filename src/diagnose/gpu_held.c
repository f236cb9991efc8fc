#include "diagnose/gpu_held.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/thresholds.h"
#include "stepscope/counters.h"

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

const char *gpu_held_text(char out[GPU_HELD_SIZE], const struct snapshot *snapshot,
                          uint64_t gpu)
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
    const struct snap_resource *clock =
        snapshot_value(snapshot, SS_COUNTER_ID_GPU_CLOCK, gpu);
    const struct snap_resource *most =
        snapshot_value(snapshot, SS_COUNTER_ID_GPU_CLOCK_MOST, gpu);
    const struct snap_resource *busy =
        snapshot_value(snapshot, SS_COUNTER_ID_GPU_BUSY, gpu);
    double part = 0;

    for (size_t i = 0; i < REASONS; i++)
        part = fmax(part, part_of(snapshot, gpu, reasons[i].counter));
    if (!clock || !most || !busy || part < gpu_held_part || busy->mean < gpu_busy)
        return 0;
    return 1 - clock->mean / most->max;
}
