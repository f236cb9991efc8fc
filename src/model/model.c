#include "model/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/own_counters.h"
#include "model/arms.h"
#include "model/calls.h"
#include "model/loop_data.h"
#include "model/model_state.h"
#include "model/pipe.h"
#include "model/processes.h"
#include "model/thread.h"
#include "model/tree.h"

/* Made and freed together. */
struct thread_and_tree {
    struct thread thread;
    struct tree_stage tree;
};

#define SEGMENT_TEXT(id, text, meaning) text,
static const char *const segment_texts[] = {MODEL_SEGMENTS(SEGMENT_TEXT)};
static const char *const source_texts[] = {"none",      "collectives",       "gradients",
                                           "jit calls", "optimizer updates", "train calls",
                                           "step marks"};

const char *model_segment_text(unsigned segment)
{
    return segment < MODEL_SEGMENT_COUNT ? segment_texts[segment] : "unknown";
}

const char *model_source_text(unsigned source)
{
    return source <= SOURCE_USER ? source_texts[source] : "unknown";
}

struct model *model_new(void)
{
    struct model *model = calloc(1, sizeof *model);
    if (model && model_names_init(&model->names) != SS_E_OK) {
        model_names_release(&model->names);
        free(model);
        return NULL;
    }
    return model;
}

static void free_thread(struct thread *thread)
{
    thread_free_pipe(thread);
    tree_release(thread->tree);
    arms_free(thread->arms);
    free(thread->log);
    free(thread);
}

void model_free(struct model *model)
{
    if (!model)
        return;
    for (uint32_t i = 0; i < model->lane_count; i++)
        if (model->lanes[i])
            free_thread(model->lanes[i]);
    for (struct thread *thread = model->ended, *next; thread; thread = next) {
        next = thread->next;
        free_thread(thread);
    }
    for (uint32_t i = 0; i < model->process_count; i++) {
        overlays_release(&model->processes[i].waits);
        overlays_release(&model->processes[i].compiles);
        free(model->processes[i].no_layers);
        free(model->processes[i].no_windows);
        free(model->processes[i].no_backward);
    }
    model_names_release(&model->names);
    hot_release(&model->hot);
    resources_release(&model->resources);
    free(model->lanes);
    free(model->processes);
    free(model);
}

int model_error(const struct model *model)
{
    return model->error;
}

static struct thread *new_thread(struct model *model, uint32_t process,
                                 const struct ss_record *record)
{
    if (model_is_supervisor(model, process))
        return NULL; /* it has no spans: this file is not what it says */
    struct thread_and_tree *both = calloc(1, sizeof *both);
    const struct model_process_facts *facts = model_process_at(model, process);
    if (!both || !facts) {
        free(both);
        model->error = SS_E_NOMEM;
        return NULL;
    }
    struct thread *thread = &both->thread;
    thread->tree = &both->tree;
    thread->tree->thread = thread;
    thread->model = model;
    thread->process = process;
    thread->lane = record->lane;
    thread->tid = record->tid;
    thread->owner = record->owner;
    thread->gaps = record->gaps;
    thread->begin_ns = record->kind == SS_KIND_SPAN ? record->start_ns : record->time_ns;
    if (facts->known && record->tid == facts->facts.pid)
        thread->begin_ns = facts->facts.start_ns; /* the main thread lives as long as the process */
    return thread;
}

static bool is_main(const struct thread *thread)
{
    const struct model_process_facts *process = &thread->model->processes[thread->process];
    return process->known && process->facts.pid == thread->tid;
}

/* Samples of this thread; NULL: none, as almost always. */
static struct hot_thread *hot_of(struct thread *thread)
{
    const struct hot *hot = &thread->model->hot;
    if (thread->hot_threads != hot->thread_count) {
        thread->hot_threads = hot->thread_count;
        thread->hot = hot_find(hot, thread->process, thread->tid);
        if (thread->hot)
            thread->hot->is_recorder = true;
    }
    return thread->hot;
}

/* Before the record is looked at, which may book what is before it. */
static void settle_samples(struct thread *thread, const struct ss_record *record)
{
    struct hot_thread *hot = hot_of(thread);
    struct model *model = thread->model;
    if (!hot || hot->waiting.count == 0)
        return;
    if (record->kind == SS_KIND_SPAN) {
        const uint32_t name = model_names_find(&model->names, thread->process, record->name);
        hot_span(&model->hot, hot, &model->names.name[name], record,
                 thread->pipe ? calls_looks(&thread->pipe->calls, name) : NULL);
    }
    if (!(record->nest & SS_NEST_OPEN)) {
        hot_settle(&model->hot, hot,
                   record->kind == SS_KIND_SPAN ? record->end_ns : record->time_ns,
                   thread->pipe != NULL);
    }
}

static void finish(struct thread *thread)
{
    struct model_process_facts *process = &thread->model->processes[thread->process];
    const bool is_stopped = process->known && process->facts.end == SS_END_STOPPED;
    struct hot_thread *hot = hot_of(thread);
    if (hot)
        hot_settle(&thread->model->hot, hot, INT64_MAX, thread->pipe != NULL);
    tree_flush(thread->tree, is_stopped ? process->facts.end_ns : 0);
    if (hot)
        hot_book(&thread->model->hot, hot, INT64_MAX, false);
    if (thread->pipe && process->computing == &thread->pipe->phase)
        process->computing = NULL;
}

void model_finish(struct model *model)
{
    for (uint32_t i = 0; i < model->lane_count; i++)
        if (model->lanes[i])
            finish(model->lanes[i]);
    hot_finish(&model->hot);
}

/* A thread that has ended is kept only if it held a loop, or is the main one. */
static void retire(struct model *model, uint32_t lane)
{
    struct thread *thread = model->lanes[lane];
    model->lanes[lane] = NULL;
    finish(thread);
    if (thread_loops(thread) || is_main(thread)) {
        thread->next = model->ended;
        model->ended = thread;
    } else {
        free_thread(thread);
    }
}

static struct thread *thread_of(struct model *model, uint32_t process,
                                const struct ss_record *record)
{
    if (record->lane >= model->lane_count) {
        uint32_t count = record->lane + 16;
        struct thread **grown = realloc(model->lanes, count * sizeof(struct thread *));
        if (!grown) {
            model->error = SS_E_NOMEM;
            return NULL;
        }
        memset(grown + model->lane_count, 0, (count - model->lane_count) * sizeof(struct thread *));
        model->lanes = grown;
        model->lane_count = count;
    }
    struct thread *thread = model->lanes[record->lane];
    if (thread && thread->owner != record->owner) {
        retire(model, record->lane);
        thread = NULL;
    }
    if (!thread)
        thread = model->lanes[record->lane] = new_thread(model, process, record);
    return thread;
}

static void note_missing(struct thread *thread, int64_t start_ns, int64_t end_ns)
{
    thread->model->gaps++;
    tree_missing(thread->tree, start_ns, end_ns);
}

const struct thread *model_next_thread(const struct model *model, struct thread_walk *walk)
{
    while (walk->lane < model->lane_count) {
        const struct thread *thread = model->lanes[walk->lane++];
        if (thread)
            return thread;
    }
    walk->ended = walk->lane++ == model->lane_count ? model->ended
                  : walk->ended                     ? walk->ended->next
                                                    : NULL;
    return walk->ended;
}

/* What belongs to no thread; false: it is something else. */
static bool feed_apart(struct model *model, uint32_t process, const struct ss_record *record)
{
    if (record->kind == SS_KIND_NAME) {
        if (model_names_add(&model->names, process, record) != SS_E_OK)
            model->error = SS_E_NOMEM;
    } else if (record->kind == SS_KIND_FRAME) {
        hot_frame(&model->hot, process, record);
    } else if (record->kind == SS_KIND_SAMPLE) {
        const struct model_process_facts *facts = model_process_at(model, process);
        hot_sample(&model->hot, process, facts && facts->known && facts->facts.pid == record->tid,
                   record);
    } else {
        return false;
    }
    return true;
}

/* The first reason stays. */
static void keep_reason(char **reason, struct ss_text said)
{
    if (!*reason)
        *reason = strndup(said.data, said.size);
}

/* What adapters say of a device that takes work and does it later, of functions that are compiled
 * again, of what gives batches. */
static void feed_mark(struct thread *thread, const struct ss_record *record)
{
    struct model *model = thread->model;
    const uint32_t name = model_names_find(&model->names, thread->process, record->name);
    const char *text = model->names.name[name].text;
    if (strcmp(text, MODEL_ASYNCHRONOUS_MARK) == 0)
        model->processes[thread->process].is_asynchronous = true;
    else if (strcmp(text, MODEL_EARLY_MARK) == 0)
        model->processes[thread->process].calls_return_early = true;
    else if (strcmp(text, MODEL_UPDATES_MARK) == 0)
        model_names_update(&model->names, record->u.text.a);
    else if (strcmp(text, MODEL_RECOMPILE_MARK) == 0)
        tree_recompile(thread->tree, record->u.text.a);
    else if (strcmp(text, INPUT_SOURCE_MARK) == 0)
        tree_batches(thread->tree, record->time_ns, record->u.text.a);
    else if (strcmp(text, MODEL_NO_LAYERS_MARK) == 0)
        keep_reason(&model->processes[thread->process].no_layers, record->u.text.a);
    else if (strcmp(text, MODEL_NO_WINDOWS_MARK) == 0)
        keep_reason(&model->processes[thread->process].no_windows, record->u.text.a);
    else if (strcmp(text, MODEL_NO_BACKWARD_MARK) == 0)
        keep_reason(&model->processes[thread->process].no_backward, record->u.text.a);
}

/* Recorded now and then: this number until the next one. Inside closed spans there are no batches.
 */
static void feed_counter(struct thread *thread, const struct ss_record *record)
{
    const struct model_names *names = &thread->model->names;
    const struct model_name *name =
        &names->name[model_names_find(names, thread->process, record->name)];
    const double value = record->u.value;
    if (strcmp(name->text, OWN_COUNTER_SAMPLER_CPU) == 0 && value >= 0) {
        thread->model->processes[thread->process].sampler_cores += value;
        thread->model->processes[thread->process].sampler_looks++;
    }
    if (strcmp(name->text, OWN_COUNTER_MAKING) == 0 && value >= 0 && value < MAKING_STATES)
        thread->model->processes[thread->process].making[(int)value]++;
    if (strcmp(name->text, OWN_COUNTER_LAYERS) == 0)
        tree_layers(thread->tree, value);
    if (name->stage == SS_STAGE_DATA && !(record->nest & SS_NEST_CLOSED) &&
        strcmp(name->text, OWN_COUNTER_SAMPLES) == 0)
        tree_samples(thread->tree, value);
}

static void feed_other(struct thread *thread, const struct ss_record *record)
{
    struct model *model = thread->model;
    switch (record->kind) {
    case SS_KIND_STEP:
    case SS_KIND_LOOP_BEGIN:
    case SS_KIND_LOOP_END:
    case SS_KIND_EPOCH_BEGIN:
    case SS_KIND_EPOCH_END:
    case SS_KIND_PLAN:
        tree_boundary(thread->tree, record);
        break;
    case SS_KIND_PERTURBED:
        model->processes[thread->process].perturbed_start_ns = record->start_ns;
        model->processes[thread->process].perturbed_end_ns = record->end_ns;
        break;
    case SS_KIND_COUNTER:
        feed_counter(thread, record);
        break;
    case SS_KIND_MARK:
        feed_mark(thread, record);
        break;
    case SS_KIND_CLOCK:
        arms_clock(thread, record);
        break;
    case SS_KIND_ARM:
        arms_switch(thread, record);
        break;
    case SS_KIND_LOST:
        model->lost_records += (uint64_t)record->u.arg;
        note_missing(thread, record->start_ns, record->end_ns);
        break;
    default:
        break;
    }
}

void model_feed(struct model *model, uint32_t process, const struct ss_record *record)
{
    const bool is_span = record->kind == SS_KIND_SPAN;
    if (UNLIKELY(!model_is_possible(record->time_ns) || !model_is_possible(record->start_ns)))
        return;
    if (!is_span && model_is_supervisor(model, process)) {
        model_feed_supervisor(model, process, record);
        return;
    }
    if (UNLIKELY(model->records++ == 0))
        model->first_ns = record->time_ns;
    model->last_ns = record->time_ns;
    if (!is_span && feed_apart(model, process, record))
        return;
    struct thread *thread = thread_of(model, process, record);
    if (!thread)
        return;
    if (UNLIKELY(model->hot.thread_count > 0))
        settle_samples(thread, record);
    if (UNLIKELY(record->gaps != thread->gaps)) {
        note_missing(thread, thread->last_ns, record->time_ns);
        thread->gaps = record->gaps;
    }
    thread->last_ns = record->time_ns;
    if (is_span) {
        model->spans++;
        tree_span(thread->tree, record);
    } else {
        feed_other(thread, record);
    }
}

static bool holds_loop(const struct model *model, const struct thread *thread)
{
    return thread && thread_open_loop(thread) && model->processes[thread->process].known;
}

static uint32_t longest_lane(const struct model *model)
{
    uint32_t best = model->lane_count;
    for (uint32_t i = 0; i < model->lane_count; i++) {
        const struct thread *thread = model->lanes[i];
        if (holds_loop(model, thread) &&
            (best == model->lane_count ||
             thread_open_loop(thread)->step_ns > thread_open_loop(model->lanes[best])->step_ns))
            best = i;
    }
    return best;
}

static int rank_of_lane(const struct model *model, uint32_t lane)
{
    return model->processes[model->lanes[lane]->process].facts.rank;
}

/* As snapshots choose the primary loop, of those that are going on. */
static uint32_t primary_lane(const struct model *model)
{
    const uint32_t longest = longest_lane(model);
    uint32_t best = longest;
    for (uint32_t i = 0; i < model->lane_count && longest < model->lane_count; i++) {
        const double longest_ns = (double)thread_open_loop(model->lanes[longest])->step_ns;
        if (holds_loop(model, model->lanes[i]) &&
            (double)thread_open_loop(model->lanes[i])->step_ns >= MODEL_SAME_LENGTH * longest_ns &&
            rank_of_lane(model, i) >= 0 && rank_of_lane(model, i) < rank_of_lane(model, best))
            best = i;
    }
    return best;
}

static void add_loop_thread(const struct model *model, const struct thread *thread,
                            struct model_loop_thread *out)
{
    out->pid = model->processes[thread->process].facts.pid;
    out->tid = thread->tid;
}

size_t model_loop_threads(const struct model *model, struct model_loop_thread *out, size_t most)
{
    const uint32_t primary = primary_lane(model);
    size_t count = 0;
    if (primary < model->lane_count && most > 0)
        add_loop_thread(model, model->lanes[primary], &out[count++]);
    for (uint32_t i = model->lane_count; i-- > 0 && count < most;)
        if (i != primary && holds_loop(model, model->lanes[i]))
            add_loop_thread(model, model->lanes[i], &out[count++]);
    return count;
}
