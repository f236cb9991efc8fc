#include "report/machine_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "render/numbers.h"
#include "stepscope/counters.h"

static const double core = 1e9, megabyte = 1048576, gigabyte = 1073741824, minute = 60;
static const double growth_shown = 0.02; /* of the mean over the time of the loop */

struct choice {
    struct machine_rows *out;
    const struct snapshot *snapshot;
    const struct snap_loop *loop;
};

static void add_row(struct choice *choice, const char *label, const char *unit, double size,
                    const struct snap_resource *resource, const char *note)
{
    struct machine_rows *out = choice->out;

    if (out->count == MACHINE_ROWS_MOST)
        return;
    struct machine_row *row = &out->row[out->count++];
    *row = (struct machine_row){.unit = unit, .size = size, .resource = *resource};
    snprintf(row->label, sizeof row->label, "%s", label);
    snprintf(row->note, sizeof row->note, "%s", note);
}

static const struct snap_resource *loop_thread(const struct choice *choice, unsigned counter)
{
    const struct snapshot *snapshot = choice->snapshot;
    const uint32_t tid =
        choice->loop ? choice->loop->tid : (snapshot->thread_count ? snapshot->threads[0].tid : 0);

    return snapshot_thread_value(snapshot, counter, tid);
}

static const struct snap_resource *loop_process(const struct choice *choice, unsigned counter)
{
    const struct snap_resource *thread = loop_thread(choice, SS_COUNTER_ID_THREAD_CPU);

    return thread ? snapshot_value(choice->snapshot, counter, thread->subject >> 32) : NULL;
}

static void add_cpu_rows(struct choice *choice)
{
    const struct snapshot *snapshot = choice->snapshot;
    const struct snap_resource *thread = loop_thread(choice, SS_COUNTER_ID_THREAD_CPU);
    const struct snap_resource *waited = loop_thread(choice, SS_COUNTER_ID_THREAD_WAIT);
    const struct snap_resource *tree = snapshot_value(snapshot, SS_COUNTER_ID_TREE_CPU, SNAP_ANY);
    const struct snap_resource *all = snapshot_value(snapshot, SS_COUNTER_ID_CPU_BUSY, SS_ALL_CPUS);
    char note[64] = "";
    const size_t cores = snapshot_cores(snapshot), allowed = snapshot_allowed_cores(snapshot);

    if (waited)
        snprintf(note, sizeof note, "waited %.1f %% for a core", waited->mean / 1e7);
    if (thread)
        add_row(choice, "loop thread", "cores", core, thread, note);
    if (tree)
        add_row(choice, "command", "cores", core, tree, "all its processes");
    const int length = snprintf(note, sizeof note, "of %zu", cores);
    if (allowed < cores)
        snprintf(note + length, sizeof note - (size_t)length, "; it may use %zu", allowed);
    if (all) {
        struct snap_resource bounded = *all; /* ticks of the kernel come in lumps */
        bounded.max = fmin(all->max, (double)cores * core);
        add_row(choice, "machine", "cores", core, &bounded, note);
    }
}

static void add_memory(struct choice *choice, const char *label, const struct snap_resource *row,
                       const char *note)
{
    const bool is_small = row->max < gigabyte;

    add_row(choice, label, is_small ? "MB" : "GB", is_small ? megabyte : gigabyte, row, note);
}

static void add_memory_rows(struct choice *choice)
{
    const struct snapshot *snapshot = choice->snapshot;
    const struct snap_resources *resources = &snapshot->resources;
    const struct snap_resource *memory = snapshot_value(snapshot, SS_COUNTER_ID_TREE_RSS, SNAP_ANY);
    const struct snap_resource *left =
        snapshot_value(snapshot, SS_COUNTER_ID_MEMORY_AVAILABLE, SNAP_ANY);
    const struct snap_resource *own = loop_process(choice, SS_COUNTER_ID_PROCESS_RSS);
    const struct snap_resource *processes =
        snapshot_value(snapshot, SS_COUNTER_ID_TREE_PROCESSES, SNAP_ANY);
    const bool several = processes && processes->max > 1;
    const double length_s = (double)(resources->end_ns - resources->begin_ns) / 1e9;
    char note[64] = "", text[UNITS_SIZE];

    if (several) /* the kernel counts a page in each process that has it */
        snprintf(note, sizeof note, "counts shared pages more than once");
    if (memory && resources->growth_per_s * length_s > growth_shown * memory->mean)
        snprintf(note, sizeof note, "grows by %s MB per minute",
                 digits_text(text, resources->growth_per_s * minute / megabyte));
    if (memory)
        add_memory(choice, own && several ? "memory of all" : "memory", memory, note);
    if (own && several)
        add_memory(choice, "memory of the loop", own, "");
    if (left) {
        snprintf(note, sizeof note, "at least %s", digits_text(text, left->min / gigabyte));
        add_row(choice, "memory left", "GB", gigabyte, left, note);
    }
}

static void add_traffic_rows(struct choice *choice)
{
    static const struct {
        unsigned counter;
        const char *label;
    } rows[] = {{SS_COUNTER_ID_TREE_READ, "reads"},
                {SS_COUNTER_ID_TREE_WRITE, "writes"},
                {SS_COUNTER_ID_NET_RECEIVED, "network in"},
                {SS_COUNTER_ID_NET_SENT, "network out"}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct snap_resource *row =
            snapshot_value(choice->snapshot, rows[i].counter, SNAP_ANY);
        if (row && row->mean >= megabyte / 100)
            add_row(choice, rows[i].label, "MB/s", megabyte, row,
                    rows[i].counter >= SS_COUNTER_ID_TREE_READ ? "" : "whole machine");
    }
}

static void add_gpu_rows(struct choice *choice)
{
    static const struct {
        unsigned counter;
        const char *label, *unit;
        double size;
    } rows[] = {{SS_COUNTER_ID_GPU_BUSY, "busy", "%", 0.01},
                {SS_COUNTER_ID_GPU_MEMORY_BUSY, "memory busy", "%", 0.01},
                {SS_COUNTER_ID_GPU_MEMORY_USED, "memory", "GB", 1073741824},
                {SS_COUNTER_ID_GPU_CLOCK, "clock", "GHz", 1e9},
                {SS_COUNTER_ID_GPU_MEMORY_CLOCK, "memory clock", "GHz", 1e9},
                {SS_COUNTER_ID_GPU_POWER, "power", "W", 1},
                {SS_COUNTER_ID_GPU_TEMPERATURE, "heat", "C", 1},
                {SS_COUNTER_ID_GPU_RECEIVED, "PCIe in", "MB/s", 1048576},
                {SS_COUNTER_ID_GPU_SENT, "PCIe out", "MB/s", 1048576}};
    const struct snap_resources *resources = &choice->snapshot->resources;
    char label[64];

    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        for (size_t i = 0; i < resources->count; i++) {
            const struct snap_resource *row = &resources->rows[i];
            if (row->counter != rows[k].counter || !isfinite(row->mean))
                continue;
            snprintf(label, sizeof label, "GPU %" PRIu64 " %s", row->subject, rows[k].label);
            add_row(choice, label, rows[k].unit, rows[k].size, row, "");
        }
}

void machine_rows_choose(struct machine_rows *out, const struct snapshot *snapshot,
                         const struct snap_loop *loop)
{
    struct choice choice = {.out = out, .snapshot = snapshot, .loop = loop};

    out->count = 0;
    add_cpu_rows(&choice);
    add_memory_rows(&choice);
    add_traffic_rows(&choice);
    add_gpu_rows(&choice);
}
