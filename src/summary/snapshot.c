#include "summary/snapshot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/loop_data.h"
#include "model/model_state.h"
#include "model/processes.h"
#include "model/thread.h"
#include "summary/snapshot_parts.h"

static int rank_of(const struct model *model, uint32_t process)
{
    const struct model_process_facts *facts = &model->processes[process];
    return facts->known ? facts->facts.rank : -1;
}

static int64_t process_end(const struct model *model, uint32_t process)
{
    const struct model_process_facts *facts = &model->processes[process];
    int64_t end = facts->known ? facts->facts.end_ns : 0;
    return end > model->last_ns || facts->known ? end : model->last_ns;
}

static bool is_main(const struct model *model, const struct thread *thread)
{
    const struct model_process_facts *facts = &model->processes[thread->process];
    return facts->known && facts->facts.pid == thread->tid;
}

/* Books of a thread, with the warm-up separated and the time since its last step. */
static void fill_thread(const struct model *model, const struct thread *thread,
                        const struct snapshot *snapshot, struct snap_thread *out)
{
    int64_t end = is_main(model, thread) ? process_end(model, thread->process) : thread->last_ns;
    out->process = thread->process;
    out->tid = thread->tid;
    out->rank = rank_of(model, thread->process);
    out->begin_ns = thread->begin_ns;
    if (!thread->pipe) {
        out->wall_ns = out->segment_ns[SEGMENT_STARTUP_NS] = end - thread->begin_ns;
        return;
    }
    end = thread_books(thread, end, out->segment_ns);
    for (size_t i = 0; i < snapshot->loop_count; i++) {
        const struct snap_loop *loop = &snapshot->loops[i];
        if (loop->lane == thread->lane && loop->tid == thread->tid) {
            out->segment_ns[SEGMENT_WARMUP_NS] += loop->warmup_ns;
            out->segment_ns[SEGMENT_STEADY_NS] -= loop->warmup_ns;
        }
    }
    out->wall_ns = end - thread->begin_ns;
}

static int64_t time_in_steps(const struct snap_loop *loop)
{
    return loop->segment_ns[SEGMENT_WARMUP_NS] + loop->segment_ns[SEGMENT_STEADY_NS];
}

static int compare_loops(const void *a, const void *b)
{
    const struct snap_loop *x = a, *y = b;
    int64_t x_ns = time_in_steps(x), y_ns = time_in_steps(y);
    if (x_ns != y_ns)
        return x_ns < y_ns ? 1 : -1;
    if (x->rank != y->rank)
        return x->rank > y->rank ? 1 : -1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns > y->begin_ns ? 1 : -1;
    return x->process != y->process ? (x->process > y->process ? 1 : -1)
                                    : (x->lane > y->lane) - (x->lane < y->lane);
}

/* The longest loop of this rank; `otherwise`: it has none. */
static size_t loop_of_rank(const struct snapshot *snapshot, int rank, size_t otherwise)
{
    for (size_t i = 0; rank >= 0 && i < snapshot->loop_count; i++)
        if (snapshot->loops[i].rank == rank)
            return i;
    return otherwise;
}

/* Replicas all take the same time: of those within 1 % of the longest, the lowest rank is first. */
static void put_primary_first(struct snapshot *snapshot, int rank)
{
    size_t best = 0;
    for (size_t i = 1; i < snapshot->loop_count; i++) {
        const struct snap_loop *loop = &snapshot->loops[i], *first = &snapshot->loops[0];
        if ((double)time_in_steps(loop) >= MODEL_SAME_LENGTH * (double)time_in_steps(first) &&
            loop->rank >= 0 && loop->rank < snapshot->loops[best].rank)
            best = i;
    }
    best = loop_of_rank(snapshot, rank, best);
    struct snap_loop primary = snapshot->loops[best];
    memmove(snapshot->loops + 1, snapshot->loops, best * sizeof primary);
    snapshot->loops[0] = primary;
}

static void fill_process(const struct model *model, struct snap_loop *out, uint32_t number)
{
    const struct model_process_facts *process = &model->processes[number];

    out->rank = rank_of(model, number);
    out->is_asynchronous = process->is_asynchronous || out->source == SOURCE_JIT ||
                           (process->calls_return_early && out->source == SOURCE_TRAINER);
    out->sampler_cores =
        process->sampler_looks ? process->sampler_cores / (double)process->sampler_looks : 0;
}

static bool add_loops(const struct model *model, int rank, struct snapshot *snapshot)
{
    const struct thread *thread;
    struct thread_walk first = {0}, second = {0};
    size_t count = 0;
    while ((thread = model_next_thread(model, &first))) {
        const struct loop *loop = thread_loops(thread);
        for (; loop; loop = loop->next)
            count += loop->steps > 0;
    }
    snapshot->loops = calloc(count ? count : 1, sizeof *snapshot->loops);
    if (!snapshot->loops)
        return false;
    while ((thread = model_next_thread(model, &second))) {
        const struct loop *loop = thread_loops(thread);
        for (; loop; loop = loop->next) {
            if (loop->steps > 0) {
                struct snap_loop *out = &snapshot->loops[snapshot->loop_count++];
                if (!snapshot_fill_loop(model, thread, loop, out))
                    return false;
                fill_process(model, out, loop->process);
            }
        }
    }
    qsort(snapshot->loops, snapshot->loop_count, sizeof *snapshot->loops, compare_loops);
    if (snapshot->loop_count)
        put_primary_first(snapshot, rank);
    return true;
}

static bool holds_loops(const struct thread *thread)
{
    const struct loop *loop = thread_loops(thread);
    while (loop && loop->steps == 0)
        loop = loop->next;
    return loop != NULL;
}

/* The main thread of a process recorded nothing: all that is known is how long it lived. */
static void fill_silent(const struct ss_process *facts, struct snap_thread *out)
{
    out->tid = facts->pid;
    out->rank = facts->rank;
    out->begin_ns = facts->start_ns;
    out->wall_ns = facts->end_ns > facts->start_ns ? facts->end_ns - facts->start_ns : 0;
    out->segment_ns[SEGMENT_STARTUP_NS] = out->wall_ns;
}

/* Which lane came first, and on it which thread: in what order they ended, and in which model, says
 * nothing. */
static int compare_threads(const void *a, const void *b)
{
    const struct thread *x = *(const struct thread *const *)a;
    const struct thread *y = *(const struct thread *const *)b;
    if (x->lane != y->lane)
        return x->lane > y->lane ? 1 : -1;
    return (x->owner > y->owner) - (x->owner < y->owner);
}

static void put_primary_thread_first(struct snapshot *snapshot)
{
    for (size_t i = 1; snapshot->loop_count && i < snapshot->thread_count; i++) {
        const struct snap_thread primary = snapshot->threads[i];
        if (primary.process == snapshot->loops[0].process &&
            primary.tid == snapshot->loops[0].tid) {
            snapshot->threads[i] = snapshot->threads[0];
            snapshot->threads[0] = primary;
        }
    }
}

static bool add_threads(const struct model *model, struct snapshot *snapshot)
{
    const struct thread *thread;
    struct thread_walk first = {0}, second = {0};
    size_t count = 0, wanted = 0;
    while (model_next_thread(model, &first))
        count++;
    const struct thread **threads = calloc(count + 1, sizeof *threads);
    snapshot->threads = calloc(count + 1, sizeof *snapshot->threads);
    if (!threads || !snapshot->threads) {
        free(threads);
        return false;
    }
    while ((thread = model_next_thread(model, &second)))
        if (snapshot->loop_count ? holds_loops(thread) : is_main(model, thread))
            threads[wanted++] = thread;
    qsort(threads, wanted, sizeof(struct thread *), compare_threads);
    while (snapshot->thread_count < wanted) {
        fill_thread(model, threads[snapshot->thread_count], snapshot,
                    &snapshot->threads[snapshot->thread_count]);
        snapshot->thread_count++;
    }
    free(threads);
    if (wanted == 0 && model->process_count && model->processes[0].known &&
        !model_is_supervisor(model, 0))
        fill_silent(&model->processes[0].facts, &snapshot->threads[snapshot->thread_count++]);
    put_primary_thread_first(snapshot);
    return true;
}

static const struct loop *primary_loop(const struct model *model, const struct snapshot *snapshot)
{
    if (snapshot->loop_count == 0)
        return NULL;
    const struct snap_loop *first = snapshot->loops;
    const struct model_loop_key key = {first->process, first->lane, first->begin_ns};
    return observe_find(model, &key);
}

static int compare_spans(const void *a, const void *b)
{
    const struct snap_span *x = a, *y = b;
    if (x->total_ns != y->total_ns)
        return x->total_ns < y->total_ns ? 1 : -1;
    int order = strcmp(x->text, y->text);
    order = order ? order : strcmp(x->object, y->object);
    return order ? order : (x->stage > y->stage) - (x->stage < y->stage);
}

static bool add_spans(const struct model *model, struct snapshot *snapshot)
{
    const struct loop *loop = primary_loop(model, snapshot);
    snapshot->spans = calloc(model->names.count, sizeof *snapshot->spans);
    if (!snapshot->spans)
        return false;
    for (uint32_t i = 0; i < model->names.count; i++) {
        const struct model_name *name = &model->names.name[i];
        if (name->count == 0)
            continue;
        struct snap_span *out = &snapshot->spans[snapshot->span_count++];
        out->text = strdup(name->text);
        out->object = strdup(name->object);
        if (!out->text || !out->object)
            return false;
        out->stage = name->stage;
        out->role = name->role;
        out->scope = name->scope;
        out->count = name->count;
        out->failed = name->failed;
        out->total_ns = name->total_ns;
        out->self_ns = name->self_ns;
        out->mean_ns = (double)name->total_ns / (double)name->count;
        snapshot_quantiles(&name->sketch, &out->quantiles);
        out->share = (struct interval){NAN, NAN, NAN};
        if (loop && !name->is_beside &&
            !snapshot_fill_calls(loop, snapshot->loops[0].warmup.start, i, out))
            return false;
    }
    qsort(snapshot->spans, snapshot->span_count, sizeof *snapshot->spans, compare_spans);
    return true;
}

/* Without any loop, the main threads are what there is. */
static bool is_loop_thread(const void *context, const struct hot_thread *thread)
{
    const struct snapshot *snapshot = context;
    for (size_t i = 0; i < snapshot->loop_count; i++)
        if (snapshot->loops[i].process == thread->process && snapshot->loops[i].tid == thread->tid)
            return true;
    return snapshot->loop_count == 0 && thread->is_main;
}

struct snapshot *model_snapshot(const struct model *model)
{
    return model_snapshot_of_rank(model, -1);
}

struct snapshot *model_snapshot_of_rank(const struct model *model, int rank)
{
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (!snapshot || !add_loops(model, rank, snapshot) || !snapshot_fill_job(model, snapshot) ||
        !add_threads(model, snapshot) || !add_spans(model, snapshot) ||
        !snapshot_fill_hot(&model->hot, is_loop_thread, snapshot, &snapshot->hot) ||
        (snapshot->loop_count && !snapshot_fill_input(model, snapshot->loops, &snapshot->input))) {
        snapshot_free(snapshot);
        return NULL;
    }
    snapshot->begin_ns = model->records ? model->first_ns : INT64_MAX;
    snapshot->end_ns = model->last_ns;
    for (uint32_t i = 0; i < model->process_count; i++) {
        if (model->processes[i].known && !model_is_supervisor(model, i)) {
            const struct ss_process *facts = &model->processes[i].facts;
            snapshot->begin_ns =
                facts->start_ns < snapshot->begin_ns ? facts->start_ns : snapshot->begin_ns;
            snapshot->end_ns = facts->end_ns > snapshot->end_ns ? facts->end_ns : snapshot->end_ns;
        }
    }
    snapshot->records = model->records;
    snapshot->spans_seen = model->spans;
    snapshot->lost_records = model->lost_records;
    snapshot->gaps = model->gaps;
    snapshot->orphan_spans = model->orphan_spans;
    snapshot->forgotten_loops = model->forgotten_loops;
    snapshot->negative_ns = model->negative_ns;
    if (!snapshot_fill_resources(model, is_loop_thread, snapshot)) {
        snapshot_free(snapshot);
        return NULL;
    }
    return snapshot;
}

bool snapshot_has(const struct snapshot *snapshot, enum ss_stage stage)
{
    for (size_t i = 0; i < snapshot->span_count; i++)
        if (snapshot->spans[i].stage == stage)
            return true;
    return false;
}

void snapshot_free(struct snapshot *snapshot)
{
    if (!snapshot)
        return;
    for (size_t i = 0; i < snapshot->loop_count; i++) {
        free((char *)(uintptr_t)snapshot->loops[i].name);
        free(snapshot->loops[i].epochs);
        free(snapshot->loops[i].part);
        snapshot_release_layers(&snapshot->loops[i].layers);
        free(snapshot->loops[i].no_windows);
        snapshot_release_arms(&snapshot->loops[i].arms);
        sketch_release(&snapshot->loops[i].times);
        for (int k = 0; snapshot->loops[i].stage_times && k < SS_STAGE_COUNT; k++)
            sketch_release(&snapshot->loops[i].stage_times[k]);
        free(snapshot->loops[i].stage_times);
    }
    for (size_t i = 0; i < snapshot->span_count; i++) {
        free((char *)(uintptr_t)snapshot->spans[i].text);
        free((char *)(uintptr_t)snapshot->spans[i].object);
        free(snapshot->spans[i].callback);
    }
    snapshot_release_job(snapshot);
    snapshot_release_hot(&snapshot->hot);
    free(snapshot->resources.rows);
    free(snapshot->loops);
    free(snapshot->threads);
    free(snapshot->spans);
    free(snapshot);
}
