#include "diagnose/attribution_counters.h"

#include <math.h>

#include "diagnose/run_cores.h"
#include "read/run.h"
#include "stepscope/counters.h"

static void add_row(struct attribution_series *out, const struct snap_resource *row,
                    double times)
{
    for (size_t i = 0; i < SNAP_WINDOWS; i++)
        out->rate[i] += times * row->window[i];
    out->apart_ns = row->apart_ns > out->apart_ns ? row->apart_ns : out->apart_ns;
}

/* The sum of all rows that a counter has. */
static bool fill_sum(const struct snapshot *snapshot, unsigned counter, double times,
                     struct attribution_series *out)
{
    bool is_seen = false;

    *out = (struct attribution_series){.apart_ns = 0};
    for (size_t i = 0; i < snapshot->resources.count; i++) {
        const struct snap_resource *row = &snapshot->resources.rows[i];
        if (row->counter != counter || row->state != SS_SYSTEM_VALUE ||
            !isfinite(row->mean))
            continue;
        add_row(out, row, times);
        is_seen = true;
    }
    return is_seen;
}

static bool fill_time(const struct snapshot *snapshot, const struct ss_run *run,
                      unsigned counter, struct attribution_series *out)
{
    (void)run;
    return fill_sum(snapshot, counter, 1e-9, out);
}

static bool fill_events(const struct snapshot *snapshot, const struct ss_run *run,
                        unsigned counter, struct attribution_series *out)
{
    (void)run;
    return fill_sum(snapshot, counter, 1, out);
}

static bool fill_one(const struct snap_resource *row, double times,
                     struct attribution_series *out)
{
    *out = (struct attribution_series){.apart_ns = 0};
    if (row)
        add_row(out, row, times);
    return row;
}

/* That of the loop's own thread. */
static bool fill_wait(const struct snapshot *snapshot, const struct ss_run *run,
                      unsigned counter, struct attribution_series *out)
{
    const uint64_t pid = run_pid(run, snapshot->loops->process);

    return fill_one(snapshot_value(snapshot, counter, pid << 32 | snapshot->loops->tid),
                    1e-9, out);
}

/* Those of the loop's own process. */
static bool fill_process(const struct snapshot *snapshot, const struct ss_run *run,
                         unsigned counter, struct attribution_series *out)
{
    const uint64_t pid = run_pid(run, snapshot->loops->process);

    return fill_one(snapshot_value(snapshot, counter, pid), 1, out);
}

/* Of one core on average. */
static bool fill_steal(const struct snapshot *snapshot, const struct ss_run *run,
                       unsigned counter, struct attribution_series *out)
{
    size_t cores;
    const struct snap_resource *row = snapshot_allowed_steal(snapshot, &cores);

    (void)run;
    (void)counter;
    return fill_one(row, 1e-9 / (double)cores, out);
}

/* It is summed over cores, of which the loop has one. */
static bool fill_limit(const struct snapshot *snapshot, const struct ss_run *run,
                       unsigned counter, struct attribution_series *out)
{
    const bool is_seen = fill_time(snapshot, run, counter, out);

    for (size_t i = 0; i < SNAP_WINDOWS; i++)
        if (out->rate[i] > 1) /* not fmin(): what is not known stays so */
            out->rate[i] = 1;
    return is_seen;
}

static bool fill_swap(const struct snapshot *snapshot, const struct ss_run *run,
                      unsigned counter, struct attribution_series *out)
{
    const struct snap_resource *more =
        snapshot_value(snapshot, SS_COUNTER_ID_SWAP_OUT, SNAP_ANY);
    const bool is_seen = fill_events(snapshot, run, counter, out);

    if (is_seen && more)
        add_row(out, more, 1);
    return is_seen;
}

/* In cores. */
static bool fill_others(const struct snapshot *snapshot, const struct ss_run *run,
                        unsigned counter, struct attribution_series *out)
{
    const struct snap_resource *busy = run_cores_of(snapshot).busy,
                               *tree = snapshot_value(snapshot, counter, SNAP_ANY);

    (void)run;
    *out = (struct attribution_series){.apart_ns = 0};
    if (!busy || !tree)
        return false;
    add_row(out, busy, 1e-9);
    add_row(out, tree, -1e-9);
    return true;
}

/* Time that is lost by a lower clock than in the fastest window, while cores are busy: each core's clock counts for
 * as much as it worked. */
static bool fill_clock(const struct snapshot *snapshot, const struct ss_run *run,
                       unsigned counter, struct attribution_series *out)
{
    double worked[SNAP_WINDOWS] = {0}, highest = 0;

    (void)run;
    *out = (struct attribution_series){.apart_ns = 0};
    for (size_t k = 0; k < snapshot->resources.count; k++) {
        const struct snap_resource *row = &snapshot->resources.rows[k],
                                   *busy = row->counter == counter &&
                                                   row->state == SS_SYSTEM_VALUE
                                               ? snapshot_value(snapshot,
                                                                SS_COUNTER_ID_CPU_BUSY,
                                                                row->subject)
                                               : NULL;
        for (size_t i = 0; busy && i < SNAP_WINDOWS; i++)
            if (isfinite(row->window[i]) && busy->window[i] > 0) {
                out->rate[i] += row->window[i] * busy->window[i];
                worked[i] += busy->window[i];
            }
        if (busy && row->apart_ns > out->apart_ns)
            out->apart_ns = row->apart_ns;
    }
    for (size_t i = 0; i < SNAP_WINDOWS; i++) {
        out->rate[i] = worked[i] > 0 ? out->rate[i] / worked[i] : NAN;
        highest = fmax(highest, out->rate[i]);
    }
    for (size_t i = 0; i < SNAP_WINDOWS; i++)
        out->rate[i] = 1 - out->rate[i] / highest;
    return highest > 0;
}

const struct attribution_counter attribution_counters[ATTRIBUTION_COUNTERS] = {
    {"preempted", SS_COUNTER_ID_THREAD_WAIT, "waiting for a core", true, fill_wait},
    {"steal", SS_COUNTER_ID_CPU_STEAL, "time that the host of this virtual machine took",
     true, fill_steal},
    {"cgroup-throttled", SS_COUNTER_ID_CGROUP_THROTTLED, "the limit of its container",
     true, fill_limit},
    {"clock-drop", SS_COUNTER_ID_CPU_FREQUENCY, "lower clocks of its cores", true,
     fill_clock},
    {NULL, SS_COUNTER_ID_PSI_MEMORY, "something that waited for memory", true, fill_time},
    {NULL, SS_COUNTER_ID_PSI_IO, "something that waited for input or output", true,
     fill_time},
    {NULL, SS_COUNTER_ID_PSI_CPU, "something that waited for a core", true, fill_time},
    {"swap", SS_COUNTER_ID_SWAP_IN, "swapping", false, fill_swap},
    {"page-faults", SS_COUNTER_ID_PROCESS_MAJOR_FAULTS, "memory that is read from a disk",
     false, fill_process},
    {"fresh-memory", SS_COUNTER_ID_PROCESS_MINOR_FAULTS, "fresh pages of memory", false,
     fill_process},
    {"clock-drop", SS_COUNTER_ID_CPU_THROTTLES, "cores that heat slowed down", false,
     fill_events},
    {NULL, SS_COUNTER_ID_TREE_CPU, "other processes on its cores", false, fill_others},
};
