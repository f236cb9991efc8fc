#include "model/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/own_counters.h"

#define SEGMENT_TEXT(id, text, meaning) text,
static const char *const segment_texts[] = {MODEL_SEGMENTS(SEGMENT_TEXT)};
static const char *const source_texts[] = {"none", "jit calls", "optimizer updates",
                                           "train calls", "step marks"};

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
    if (thread->track) {
        for (struct loop *loop = thread->track->loops, *next; loop; loop = next) {
            next = loop->next;
            loop_free(loop);
        }
        free(thread->track->jit.held);
        free(thread->track->calls.call);
        free(thread->track);
    }
    free(thread->levels);
    free(thread->log);
    free(thread);
}

void model_free(struct model *model)
{
    if (!model) {
        return;
    }
    for (uint32_t i = 0; i < model->lane_count; i++) {
        if (model->lanes[i]) {
            free_thread(model->lanes[i]);
        }
    }
    for (struct thread *thread = model->ended, *next; thread; thread = next) {
        next = thread->next;
        free_thread(thread);
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

static struct model_process_facts *process_at(struct model *model, uint32_t process)
{
    if (process >= model->process_count) {
        struct model_process_facts *grown =
            realloc(model->processes, (process + 1) * sizeof *grown);
        if (!grown) {
            model->error = SS_E_NOMEM;
            return NULL;
        }
        memset(grown + model->process_count, 0,
               (process + 1 - model->process_count) * sizeof *grown);
        model->processes = grown;
        model->process_count = process + 1;
    }
    return &model->processes[process];
}

/* No clock has run for 36 years: such a time is damage, and sums over it would be more than a number holds. */
static bool is_possible(int64_t time_ns)
{
    const int64_t most_ns = INT64_C(1) << 60;
    return time_ns >= -most_ns && time_ns <= most_ns;
}

void model_process(struct model *model, uint32_t process, const struct ss_process *facts)
{
    struct model_process_facts *known = process_at(model, process);
    if (known && is_possible(facts->start_ns) && is_possible(facts->end_ns)) {
        known->facts = *facts;
        known->known = true;
    }
}

static struct thread *new_thread(struct model *model, uint32_t process,
                                 const struct ss_record *record)
{
    if (model_is_supervisor(model, process)) {
        return NULL; /* it has no spans: this file is not what it says */
    }
    struct thread *thread = calloc(1, sizeof *thread);
    const struct model_process_facts *facts = process_at(model, process);
    if (!thread || !facts) {
        free(thread);
        model->error = SS_E_NOMEM;
        return NULL;
    }
    thread->model = model;
    thread->process = process;
    thread->lane = record->lane;
    thread->tid = record->tid;
    thread->owner = record->owner;
    thread->gaps = record->gaps;
    thread->begin_ns = record->kind == SS_KIND_SPAN ? record->start_ns : record->time_ns;
    if (facts->known && record->tid == facts->facts.pid) {
        thread->begin_ns =
            facts->facts.start_ns; /* the main thread lives as long as the process */
    }
    return thread;
}

static bool is_main(const struct thread *thread)
{
    const struct model_process_facts *process =
        &thread->model->processes[thread->process];
    return process->known && process->facts.pid == thread->tid;
}

/* Samples of this thread; NULL: none, as almost always. */
static struct hot_thread *hot_of(struct thread *thread)
{
    const struct hot *hot = &thread->model->hot;
    if (thread->hot_threads != hot->thread_count) {
        thread->hot_threads = hot->thread_count;
        thread->hot = hot_find(hot, thread->process, thread->tid);
        if (thread->hot) {
            thread->hot->is_recorder = true;
        }
    }
    return thread->hot;
}

/* Before the record is looked at, which may book what is before it. */
static void settle_samples(struct thread *thread, const struct ss_record *record)
{
    struct hot_thread *hot = hot_of(thread);
    struct model *model = thread->model;
    if (!hot || hot->waiting.count == 0) {
        return;
    }
    if (record->kind == SS_KIND_SPAN) {
        const uint32_t name =
            model_names_find(&model->names, thread->process, record->name);
        hot_span(&model->hot, hot, &model->names.name[name], record,
                 thread->track ? calls_looks(thread->track, name) : NULL);
    }
    if (!(record->nest & SS_NEST_OPEN)) {
        hot_settle(&model->hot, hot,
                   record->kind == SS_KIND_SPAN ? record->end_ns : record->time_ns,
                   thread->track != NULL);
    }
}

static void finish(struct thread *thread)
{
    const struct model_process_facts *process =
        &thread->model->processes[thread->process];
    struct track *track = thread->track;
    struct hot_thread *hot = hot_of(thread);
    if (hot) {
        hot_settle(&thread->model->hot, hot, INT64_MAX, track != NULL);
    }
    if (track) {
        if (process->known && process->facts.end == SS_END_STOPPED) {
            track->stop_ns = process->facts.end_ns;
        }
        jit_decide(track);
        step_close(track);
        loop_end(track, track->cursor_ns, false);
    }
    if (hot) {
        hot_book(&thread->model->hot, hot, INT64_MAX, false);
    }
}

void model_finish(struct model *model)
{
    for (uint32_t i = 0; i < model->lane_count; i++) {
        if (model->lanes[i]) {
            finish(model->lanes[i]);
        }
    }
    hot_finish(&model->hot);
}

/* A thread that has ended is kept only if it held a loop, or is the main one. */
static void retire(struct model *model, uint32_t lane)
{
    struct thread *thread = model->lanes[lane];
    model->lanes[lane] = NULL;
    finish(thread);
    if ((thread->track && thread->track->loops) || is_main(thread)) {
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
        memset(grown + model->lane_count, 0,
               (count - model->lane_count) * sizeof(struct thread *));
        model->lanes = grown;
        model->lane_count = count;
    }
    struct thread *thread = model->lanes[record->lane];
    if (thread && thread->owner != record->owner) {
        retire(model, record->lane);
        thread = NULL;
    }
    if (!thread) {
        thread = model->lanes[record->lane] = new_thread(model, process, record);
    }
    return thread;
}

static void feed_plan(struct track *track, const struct ss_record *record)
{
    memcpy(track->plan, record->u.plan, sizeof track->plan);
    if (track->loop) {
        memcpy(track->loop->plan, track->plan, sizeof track->plan);
    }
}

static void feed_epoch(struct track *track, const struct ss_record *record)
{
    struct work none = {.marks = 0};
    struct item item = {.work = &none,
                        .start_ns = record->time_ns,
                        .end_ns = record->time_ns,
                        .kind = record->kind,
                        .epoch =
                            record->kind == SS_KIND_EPOCH_BEGIN ? record->u.epoch : 0};
    jit_item(track, &item);
}

static void end_loop(struct track *track, int64_t now_ns)
{
    if (track->loop_depth > 0) {
        track->loop_depth--;
        return;
    }
    jit_decide(track);
    step_end_loop(track, now_ns);
    if (track->loop) {
        memset(track->plan, 0,
               sizeof track->plan); /* what follows was not planned by it */
    }
    loop_end(track, now_ns, true);
}

/* Nothing inside a closed span says anything about the loop around it (rule 6). */
static void feed_loop(struct thread *thread, const struct ss_record *record)
{
    struct track *track = record->nest & SS_NEST_CLOSED ? NULL : track_of(thread);
    if (!track) {
        return;
    }
    switch (record->kind) {
    case SS_KIND_STEP:
        jit_turn_off(track);
        step_mark(track, record->time_ns, record->u.samples);
        break;
    case SS_KIND_LOOP_BEGIN:
        loop_begin(track, record);
        break;
    case SS_KIND_LOOP_END:
        end_loop(track, record->time_ns);
        break;
    case SS_KIND_EPOCH_BEGIN:
    case SS_KIND_EPOCH_END:
        feed_epoch(track, record);
        break;
    default:
        feed_plan(track, record);
        break;
    }
}

/* Records of the thread are missing here: the step that goes on over them is in no statistics. Gaps in
 * one step become one. */
static void note_gap(struct thread *thread, int64_t start_ns, int64_t end_ns)
{
    struct track *track = thread->track;
    thread->model->gaps++;
    if (track) {
        if (track->gap_end_ns <= track->cursor_ns) {
            track->gap_start_ns = start_ns;
        }
        track->gap_end_ns = end_ns;
    }
}

const struct thread *model_next_thread(const struct model *model,
                                       struct thread_walk *walk)
{
    while (walk->lane < model->lane_count) {
        const struct thread *thread = model->lanes[walk->lane++];
        if (thread) {
            return thread;
        }
    }
    walk->ended = walk->lane++ == model->lane_count ? model->ended
                  : walk->ended                     ? walk->ended->next
                                                    : NULL;
    return walk->ended;
}

/* What belongs to no thread; false: it is something else. */
static bool feed_apart(struct model *model, uint32_t process,
                       const struct ss_record *record)
{
    if (record->kind == SS_KIND_NAME) {
        if (model_names_add(&model->names, process, record) != SS_E_OK) {
            model->error = SS_E_NOMEM;
        }
    } else if (record->kind == SS_KIND_FRAME) {
        hot_frame(&model->hot, process, record);
    } else if (record->kind == SS_KIND_SAMPLE) {
        const struct model_process_facts *facts = process_at(model, process);
        hot_sample(&model->hot, process,
                   facts && facts->known && facts->facts.pid == record->tid, record);
    } else {
        return false;
    }
    return true;
}

/* What adapters say of a device that takes work and does it later, and of functions that are compiled again. */
static void feed_mark(struct thread *thread, const struct ss_record *record)
{
    struct model *model = thread->model;
    const uint32_t name = model_names_find(&model->names, thread->process, record->name);
    const char *text = model->names.name[name].text;
    if (strcmp(text, MODEL_ASYNCHRONOUS_MARK) == 0) {
        model->processes[thread->process].is_asynchronous = true;
    } else if (strcmp(text, MODEL_RECOMPILE_MARK) == 0 && thread->track &&
               thread->track->loop) {
        recompiles_add(&thread->track->loop->recompiles, record->u.text.a);
    }
}

/* Told now and then: so many until it is told again. Inside closed spans there are no batches. */
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
    if (name->stage == SS_STAGE_DATA && !(record->nest & SS_NEST_CLOSED) &&
        strcmp(name->text, OWN_COUNTER_SAMPLES) == 0) {
        thread->samples =
            value >= 1 && value <= (double)SAMPLES_MOST ? (int64_t)value : 0;
    }
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
        feed_loop(thread, record);
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
    case SS_KIND_LOST:
        model->lost_records += (uint64_t)record->u.arg;
        note_gap(thread, record->start_ns, record->end_ns);
        break;
    default:
        break;
    }
}

void model_feed(struct model *model, uint32_t process, const struct ss_record *record)
{
    const bool is_span = record->kind == SS_KIND_SPAN;
    if (UNLIKELY(!is_possible(record->time_ns) || !is_possible(record->start_ns))) {
        return;
    }
    if (!is_span && model_is_supervisor(model, process)) {
        model_feed_supervisor(model, process, record);
        return;
    }
    if (UNLIKELY(model->records++ == 0)) {
        model->first_ns = record->time_ns;
    }
    model->last_ns = record->time_ns;
    if (!is_span && feed_apart(model, process, record)) {
        return;
    }
    struct thread *thread = thread_of(model, process, record);
    if (!thread) {
        return;
    }
    if (UNLIKELY(model->hot.thread_count > 0)) {
        settle_samples(thread, record);
    }
    if (UNLIKELY(record->gaps != thread->gaps)) {
        note_gap(thread, thread->last_ns, record->time_ns);
        thread->gaps = record->gaps;
    }
    thread->last_ns = record->time_ns;
    if (is_span) {
        model->spans++;
        tree_span(thread, record);
    } else {
        feed_other(thread, record);
    }
}

static bool holds_loop(const struct model *model, const struct thread *thread)
{
    return thread && thread->track && thread->track->loop &&
           model->processes[thread->process].known;
}

static uint32_t longest_lane(const struct model *model)
{
    uint32_t best = model->lane_count;
    for (uint32_t i = 0; i < model->lane_count; i++) {
        const struct thread *thread = model->lanes[i];
        if (holds_loop(model, thread) &&
            (best == model->lane_count ||
             thread->track->loop->step_ns > model->lanes[best]->track->loop->step_ns)) {
            best = i;
        }
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
        const double longest_ns = (double)model->lanes[longest]->track->loop->step_ns;
        if (holds_loop(model, model->lanes[i]) &&
            (double)model->lanes[i]->track->loop->step_ns >=
                MODEL_SAME_LENGTH * longest_ns &&
            rank_of_lane(model, i) >= 0 &&
            rank_of_lane(model, i) < rank_of_lane(model, best)) {
            best = i;
        }
    }
    return best;
}

static void add_loop_thread(const struct model *model, const struct thread *thread,
                            struct model_loop_thread *out)
{
    out->pid = model->processes[thread->process].facts.pid;
    out->tid = thread->tid;
}

size_t model_loop_threads(const struct model *model, struct model_loop_thread *out,
                          size_t most)
{
    const uint32_t primary = primary_lane(model);
    size_t count = 0;
    if (primary < model->lane_count && most > 0) {
        add_loop_thread(model, model->lanes[primary], &out[count++]);
    }
    for (uint32_t i = model->lane_count; i-- > 0 && count < most;) {
        if (i != primary && holds_loop(model, model->lanes[i])) {
            add_loop_thread(model, model->lanes[i], &out[count++]);
        }
    }
    return count;
}
