#include "job/part_of_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/framework.h"
#include "stepscope/counters.h"

/* What tells one host from another: of the machine, of the control group, of the clocks. */
static const uint8_t told_counters[] = {
    SS_COUNTER_ID_CPU_ALLOWED,      SS_COUNTER_ID_CPU_BUSY,      SS_COUNTER_ID_CPU_STEAL,
    SS_COUNTER_ID_CPU_THROTTLES,    SS_COUNTER_ID_PSI_CPU,       SS_COUNTER_ID_PSI_MEMORY,
    SS_COUNTER_ID_PSI_IO,           SS_COUNTER_ID_MEMORY_TOTAL,  SS_COUNTER_ID_MEMORY_AVAILABLE,
    SS_COUNTER_ID_SWAP_IN,          SS_COUNTER_ID_SWAP_OUT,      SS_COUNTER_ID_CGROUP_CPU_LIMIT,
    SS_COUNTER_ID_CGROUP_THROTTLED, SS_COUNTER_ID_CGROUP_MEMORY, SS_COUNTER_ID_TREE_CPU,
    SS_COUNTER_ID_TREE_RSS,         SS_COUNTER_ID_SELF_CPU,
};

static int64_t thousandths(double value)
{
    return isfinite(value) && fabs(value) < 1e15 ? (int64_t)llround(1000 * value) : 0;
}

static void add_machine(struct job_part *part, const struct snapshot *snapshot)
{
    for (size_t i = 0; i < sizeof told_counters; i++) {
        const struct snap_resource *row = snapshot_value(snapshot, told_counters[i], SNAP_ANY);
        if (row && part->counters < PART_MACHINE_MOST)
            part->machine[part->counters++] =
                (struct part_counter){told_counters[i], thousandths(row->mean),
                                      thousandths(row->max), thousandths(row->gained)};
    }
}

static void add_findings(struct job_part *part, const struct diagnosis *diagnosis)
{
    for (size_t i = 0; i < diagnosis->count && i < PART_FINDINGS_MOST; i++) {
        const struct finding *finding = &diagnosis->finding[i];
        struct part_finding *out = &part->findings[part->finding_count++];
        snprintf(out->name, sizeof out->name, "%s", finding_name(finding->id));
        out->severity = (uint8_t)finding->severity;
        out->share_ppm =
            isfinite(finding->share.mid) ? (int64_t)llround(1e6 * finding->share.mid) : -1;
    }
}

/* The longest loop of a rank comes first in a snapshot. */
static const struct snap_loop *main_loop(const struct snapshot *snapshot, int rank)
{
    for (size_t i = 0; i < snapshot->loop_count; i++)
        if (snapshot->loops[i].rank == rank)
            return &snapshot->loops[i];
    return NULL;
}

static const struct snap_thread *thread_of(const struct snapshot *snapshot,
                                           const struct snap_loop *loop)
{
    for (size_t i = 0; i < snapshot->thread_count; i++)
        if (snapshot->threads[i].process == loop->process && snapshot->threads[i].tid == loop->tid)
            return &snapshot->threads[i];
    return NULL;
}

static int64_t positive(int64_t value)
{
    return value > 0 ? value : 0;
}

static bool add_steps(struct part_rank *out, const struct snap_loop *loop)
{
    for (int i = 0; i < SS_STAGE_COUNT; i++) {
        out->measured |= (uint32_t)loop->stage[i].measured << i;
        out->stage_ns[i] = loop->stage[i].total_ns;
        if (loop->stage_times)
            sketch_merge(&out->times[i], &loop->stage_times[i]);
    }
    sketch_merge(&out->times[SERIES_STEP], &loop->times);
    out->windows = loop->own_windows;
    for (int i = 0; i < out->windows; i++)
        out->window_ns[i] = (int64_t)llround(loop->own_ns[i]);
    out->slow_count = loop->slow_count;
    for (int i = 0; i < out->slow_count; i++)
        out->slowest[i] =
            (struct part_slow_step){loop->slowest[i].number, loop->slowest[i].time_ns};
    out->shared = calloc(loop->shared_count + 1, sizeof *out->shared);
    if (!out->shared)
        return false;
    memcpy(out->shared, loop->shared, loop->shared_count * sizeof *out->shared);
    out->shared_count = loop->shared_count;
    return true;
}

static bool add_loop(struct part_rank *out, const struct snapshot *snapshot,
                     const struct snap_loop *loop)
{
    const struct snap_thread *thread = thread_of(snapshot, loop);

    snprintf(out->name, sizeof out->name, "%s", loop->name);
    out->framework = framework_find(snapshot, loop, 0);
    out->steps = loop->steps;
    out->warmup_steps = positive(loop->warmup_steps);
    out->steady_steps = loop->steady_steps;
    out->flagged_steps = loop->flagged_steps;
    out->steady_ns = positive(loop->steady_ns);
    out->samples = loop->samples;
    out->updates = loop->updates;
    if (thread) {
        out->wall_ns = positive(thread->wall_ns);
        memcpy(out->segment_ns, thread->segment_ns, sizeof out->segment_ns);
    }
    return add_steps(out, loop);
}

static int by_rank(const void *a, const void *b)
{
    const struct part_rank *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Each rank once: its helpers, which have its environment, are no ranks. */
static size_t list_ranks(struct part_rank *out, const struct ss_run *run)
{
    size_t count = 0, kept = 0;

    for (size_t i = 0; run && i < ss_run_processes(run); i++) {
        const struct ss_process *process = ss_run_process(run, i);
        if (process->rank >= 0 && process->kind == SS_PROCESS_TRAINING)
            out[count++] = (struct part_rank){.rank = (uint32_t)process->rank,
                                              .world = process->world,
                                              .pid = process->pid,
                                              .started_ns = process->start_realtime_ns};
    }
    if (count > 1)
        qsort(out, count, sizeof *out, by_rank);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || out[kept - 1].rank != out[i].rank)
            out[kept++] = out[i];
    return kept;
}

int part_of_run(struct job_part *part, const struct snapshot *snapshot, const struct ss_run *run,
                const struct diagnosis *diagnosis)
{
    part->ranks = calloc((run ? ss_run_processes(run) : 0) + 1, sizeof *part->ranks);
    if (!part->ranks)
        return SS_E_NOMEM;
    part->rank_count = list_ranks(part->ranks, run);
    part->lost_records = snapshot->lost_records;
    add_machine(part, snapshot);
    add_findings(part, diagnosis);
    for (size_t i = 0; i < part->rank_count; i++) {
        const struct snap_loop *loop = main_loop(snapshot, (int)part->ranks[i].rank);
        if (!loop)
            continue;
        const struct ss_process *process = ss_run_process(run, loop->process);
        part->ranks[i].pid = process->pid;
        part->ranks[i].started_ns = process->start_realtime_ns;
        if (!add_loop(&part->ranks[i], snapshot, loop))
            return SS_E_NOMEM;
    }
    return 0;
}
