#include "read/counter_table.h"
#include "summary/snapshot_parts.h"

/* A rest of less than half a window is left out. */
void snapshot_fill_windows(const struct cells *cells, int64_t start, struct snap_windows *out)
{
    double time[CELLS_MAX], steps[CELLS_MAX];
    const size_t count = cells_column(cells, start, CELLS_TIME, time);
    const size_t each = (count + SNAP_WINDOWS - 1) / SNAP_WINDOWS;

    *out = (struct snap_windows){0};
    cells_column(cells, start, CELLS_STEPS, steps);
    for (size_t i = 0; i < count && 2 * (count - i) >= each; i += each) {
        const size_t end = i + each < count ? i + each : count;
        const int64_t cut = i == 0 ? start : (start / cells->size + (int64_t)i) * cells->size;
        double sum = 0, all = 0;
        for (size_t k = i; k < end; k++) {
            sum += time[k];
            all += steps[k];
        }
        if (all <= 0)
            return;
        out->begin_ns[out->count] = cells_start_ns(cells, cut);
        const int64_t next =
            cells_start_ns(cells, (start / cells->size + (int64_t)end) * cells->size);
        out->begin_ns[out->count + 1] = next >= 0 ? next : out->begin_ns[out->count] + (int64_t)sum;
        out->step_ns[out->count] = sum / all;
        out->steps[out->count++] = all;
    }
}

/* Samples may lie further apart than cells do. */
static int64_t apart(const struct resource_set *set, const struct resource_row *row)
{
    const int64_t pause_ns =
        row->count > 1 ? (row->last_ns - row->first_ns) / (int64_t)(row->count - 1) : 0;

    return pause_ns > set->width_ns ? pause_ns : set->width_ns;
}

void snapshot_fill_row_windows(const struct resource_set *set, const struct resource_row *row,
                               const struct snap_windows *windows, struct snap_resource *out)
{
    const bool is_total = counter_table[row->counter].kind == SS_COUNTER_TOTAL;

    out->apart_ns = apart(set, row);
    for (size_t i = 0; windows && i < windows->count; i++)
        out->window[i] =
            (is_total ? 1e9 : 1) *
            resources_ask(set, row, windows->begin_ns[i], windows->begin_ns[i + 1]).mean;
}
