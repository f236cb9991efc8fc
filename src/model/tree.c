#include "model/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/saturate.h"
#include "model/calls.h"
#include "model/jit.h"
#include "model/model_state.h"

enum { TRAIN_STEPS_MOST = 1 << 30 /* of one call; more is nonsense */ };

static const int64_t SAMPLES_MOST = INT64_C(1) << 40; /* of a step; more is nonsense */

static ATTR_NOINLINE bool make_levels(struct tree_stage *stage, uint32_t count)
{
    count = count < 8 ? 8 : count + 8;
    struct level *grown = realloc(stage->levels, count * sizeof *grown);
    if (!grown) {
        stage->thread->model->error = SS_E_NOMEM;
        return false;
    }
    memset(grown + stage->level_count, 0, (count - stage->level_count) * sizeof *grown);
    stage->levels = grown;
    stage->level_count = count;
    return true;
}

static void clear_level(struct level *level)
{
    if (level->used) {
        level->used = false;
        level->covered_ns = 0;
        level->sampled_ns = 0;
        work_clear(&level->work);
    }
}

static void note_level(struct level *level, int64_t first_ns, int64_t last_ns, int64_t covered_ns)
{
    level->first_ns = level->used && level->first_ns < first_ns ? level->first_ns : first_ns;
    level->last_ns = level->used && level->last_ns > last_ns ? level->last_ns : last_ns;
    saturate_add(&level->covered_ns, covered_ns);
    level->used = true;
}

/* A parent may be lost (dropped records): its children then hang one level too deep. */
static ATTR_NOINLINE void fold_deeper(struct tree_stage *stage, uint32_t depth)
{
    for (uint32_t i = stage->deepest; i > depth; i--) {
        struct level *deep = &stage->levels[i];
        if (deep->used) {
            work_add(&deep[-1].work, &deep->work);
            note_level(&deep[-1], deep->first_ns, deep->last_ns, deep->covered_ns);
            saturate_add(&deep[-1].sampled_ns, deep->sampled_ns);
            clear_level(deep);
        }
    }
}

static bool is_leading(unsigned stage, unsigned scope)
{
    switch (stage) {
    case SS_STAGE_DATA:
    case SS_STAGE_TRANSFER:
    case SS_STAGE_FORWARD:
    case SS_STAGE_BACKWARD:
    case SS_STAGE_COMPUTE:
        return true;
    default:
        return stage == SS_STAGE_CALLBACK && scope == SS_SCOPE_BATCH_BEGIN;
    }
}

/* What every span of a name says, if it does not fail. */
static unsigned marks_of(const struct model_name *name, bool eval)
{
    unsigned marks = is_leading(name->stage, name->scope) ? WORK_LEADS : 0;
    marks |= name->stage == SS_STAGE_DATA ? WORK_DATA : 0;
    marks |= name->stage == SS_STAGE_BACKWARD ? WORK_BACKWARD : 0;
    marks |= name->stage == SS_STAGE_SYNC ? WORK_SYNC : 0;
    marks |= name->role == SS_ROLE_UPDATE ? WORK_UPDATE | WORK_OPTIMIZER : 0;
    marks |= name->role == SS_ROLE_TRAIN_CALL ? WORK_UPDATE | WORK_TRAIN_CALL : 0;
    eval = eval || name->role == SS_ROLE_EVAL_CALL;
    switch (name->stage) {
    case SS_STAGE_FORWARD:
        return marks | (eval ? WORK_EVAL_FORWARD : WORK_TRAIN_FORWARD);
    case SS_STAGE_COMPUTE:
        return marks | (eval ? WORK_EVAL_FORWARD : WORK_TRAIN_COMPUTE);
    default:
        return marks;
    }
}

static ATTR_NOINLINE void first_seen(struct model_name *name)
{
    name->marks = marks_of(name, false);
    name->eval_marks = marks_of(name, true);
    name->cut = (int8_t)work_cut_of_stage(name->stage);
    name->may_be_detail = name->stage == SS_STAGE_SYNC || name->stage == SS_STAGE_TRANSFER;
}

/* A train call stands for all updates in it. So does an optimizer for that of one inside it: it
 * wraps that one. */
static void mark_update(struct work *work, const struct model_name *name, int64_t arg)
{
    if (name->role == SS_ROLE_TRAIN_CALL) {
        int32_t steps = arg < 1 ? 1 : arg > TRAIN_STEPS_MOST ? TRAIN_STEPS_MOST : (int)arg;
        work->train_steps += steps;
        work->updates = steps;
        work->update_owner = name->owner;
    } else {
        work->updates = 1;
        work->update_owner = name->owner;
    }
}

/* `sync` and `transfer` directly inside an optimizer are a detail of it (step model 1.4). */
static bool is_detail(const struct model_name *name, const struct ss_record *record)
{
    return name->may_be_detail && (record->nest & SS_NEST_OPEN) &&
           (record->nest & SS_NEST_STAGE) == SS_STAGE_OPTIMIZER;
}

/* What a span means for steps; nothing inside a closed span means anything (step model 1.2). */
static void mark_work(struct work *work, const struct model_name *name,
                      const struct ss_record *record, int64_t samples)
{
    const unsigned flags = record->flags;
    if (UNLIKELY(flags & (SS_FLAG_PERTURBED | SS_FLAG_UNFINISHED | SS_FLAG_FAILED))) {
        work->marks |= flags & SS_FLAG_PERTURBED ? WORK_PERTURBED : 0;
        work->marks |= flags & SS_FLAG_UNFINISHED ? WORK_UNFINISHED : 0;
        if (flags & SS_FLAG_FAILED) {
            work->marks |= name->marks & WORK_SYNC;
            return;
        }
    }
    const bool eval = (flags & (SS_FLAG_EVAL | SS_FLAG_TRAIN)) == SS_FLAG_EVAL;
    const unsigned leads = is_detail(name, record) ? WORK_LEADS : 0;
    work->marks |= (eval ? name->eval_marks : name->marks) & ~leads;
    if (name->stage == SS_STAGE_DATA) {
        work->batches++;
        work->samples += samples;
    }
    if (name->marks & WORK_UPDATE)
        mark_update(work, name, record->u.arg);
}

/* More inside a span than it is long: some of that was in another one, whose record is lost, or was
 * appended over others, which is our error. */
static ATTR_NOINLINE void drop_times(struct thread *thread, struct work *work, bool orphans,
                                     int64_t excess_ns)
{
    if (orphans)
        thread->model->orphan_spans++;
    else
        thread->model->negative_ns += excess_ns;
    work_clear_times(work);
}

/* Puts a span's own time on its stage, or on the cut that it is. */
static void own_time(const struct tree_stage *stage, struct work *work,
                     const struct model_name *name, const struct ss_record *record, int64_t own_ns)
{
    int cut = record->nest & SS_NEST_CLOSED ? -1 : name->cut;
    if (cut >= 0) {
        const unsigned waited = work->marks & WORK_SYNC;
        work_clear(work);
        work->marks |= waited;
        work_set_cut(work, cut, record->end_ns - record->start_ns);
        if (stage->calls)
            calls_cut(stage->calls, record->start_ns, record->end_ns, cut);
    } else {
        const unsigned kind = is_detail(name, record) ? SS_STAGE_OPTIMIZER : name->stage;
        work_put(work, kind, own_ns);
        if (stage->calls && !(record->nest & SS_NEST_CLOSED))
            saturate_add(&stage->calls->layers.stage_ns[kind], own_ns > 0 ? own_ns : 0);
    }
}

/* Of what is inside a closed span, or a wait for data, only garbage collection keeps its own
 * account. */
static ATTR_NOINLINE void keep_gc_only(struct work *work)
{
    int64_t gc = work->stage_ns[SS_STAGE_GC];
    unsigned flagged = work->marks & (WORK_PERTURBED | WORK_UNFINISHED | WORK_SYNC);
    work_clear(work);
    if (gc)
        work_put(work, SS_STAGE_GC, gc);
    work->marks = flagged;
}

/* Makes the work below a span that of the span itself. */
static void close_span(struct tree_stage *stage, struct level *below, const struct model_name *name,
                       const struct ss_record *record)
{
    struct work *work = &below->work;
    int64_t own_ns = record->end_ns - record->start_ns;
    if (below->used && UNLIKELY(name->stage == SS_STAGE_DATA))
        keep_gc_only(work);
    if (below->used) {
        int64_t inside_ns = work_total(work);
        if (inside_ns > own_ns)
            drop_times(stage->thread, work, below->first_ns < record->start_ns, inside_ns - own_ns);
        else
            own_ns -= inside_ns;
    }
    own_time(stage, work, name, record, own_ns);
    mark_work(work, name, record, stage->samples);
    if (record->nest & SS_NEST_CLOSED)
        keep_gc_only(work);
    below->used = true;
}

static inline void add_to_name(struct model_name *name, const struct ss_record *record,
                               int64_t self)
{
    int64_t duration = record->end_ns - record->start_ns;
    if (UNLIKELY(name->count == 0))
        first_seen(name);
    name->count++;
    name->failed += (record->flags & SS_FLAG_FAILED) != 0;
    saturate_add(&name->total_ns, duration);
    saturate_add(&name->self_ns, self > 0 ? self : 0);
    if (!(record->flags & SS_FLAG_UNFINISHED))
        sketch_add(&name->sketch, duration);
}

/* NULL: no memory. */
static inline struct jit_stage *next_of(struct tree_stage *stage)
{
    return LIKELY(stage->next != NULL) ? stage->next : thread_open_pipe(stage->thread);
}

static void emit(struct tree_stage *stage, const struct ss_record *record,
                 const struct model_name *name, struct work *work)
{
    struct item item = {.kind = ITEM_SPAN,
                        .start_ns = record->start_ns,
                        .end_ns = record->end_ns,
                        .owner = name->owner,
                        .stage = name->stage,
                        .role = name->role,
                        .flags = record->flags,
                        .work = work};
    struct jit_stage *next = next_of(stage);
    if (next)
        jit_item(next, &item);
}

/* Facts on a loop: without a pipe there is none. */
static void emit_fact(const struct tree_stage *stage, struct item item)
{
    if (stage->next)
        jit_item(stage->next, &item);
}

/* A lane may begin in the middle: its first record is then inside a span that began before. */
static ATTR_NOINLINE void begin_earlier(struct tree_stage *stage, int64_t start_ns)
{
    if (stage->next)
        emit_fact(stage, (struct item){.kind = ITEM_EARLIER, .start_ns = start_ns});
    else
        stage->thread->begin_ns = start_ns;
}

/* The level of a span, and the one below it with what nests in the span. */
static struct level *enter_level(struct tree_stage *stage, const struct ss_record *record)
{
    if (UNLIKELY(record->depth + 2u > stage->level_count) &&
        !make_levels(stage, record->depth + 2u))
        return NULL;
    if (stage->deepest > record->depth + 1u)
        fold_deeper(stage, record->depth + 1u);
    stage->deepest = record->depth;
    struct level *own = &stage->levels[record->depth];
    struct level *below = own + 1;
    if (below->used && below->first_ns < record->start_ns && below->last_ns <= record->start_ns) {
        stage->thread->model->orphan_spans++; /* their parent was dropped */
        clear_level(below);
    }
    return own;
}

/* What a device did, told by the thread that had it do so: in no nest, and told late. */
static bool is_beside(const struct ss_record *record)
{
    const unsigned both = SS_FLAG_PRODUCER | SS_FLAG_APPENDED;
    return (record->flags & both) == both;
}

static ATTR_NOINLINE void add_beside(struct tree_stage *stage, const struct ss_record *record,
                                     uint32_t number)
{
    struct model_name *name = &stage->thread->model->names.name[number];
    const int64_t duration = record->end_ns - record->start_ns;
    add_to_name(name, record, duration);
    name->is_beside = true;
    if (stage->calls && !(record->flags & SS_FLAG_EVAL))
        calls_beside(stage->calls, number, duration);
}

static ATTR_NOINLINE void log_batch(struct thread *thread, unsigned stage,
                                    const struct ss_record *record)
{
    const bool is_made = stage == SS_STAGE_PRODUCE;
    if ((is_made || stage == SS_STAGE_DATA) &&
        !(record->flags & (SS_FLAG_FAILED | SS_FLAG_OVERLAY)) && !(record->nest & SS_NEST_CLOSED))
        batch_log_add(&thread->log, is_made, record);
}

static void add_overlay(const struct tree_stage *stage, enum ss_stage kind,
                        const struct ss_record *record)
{
    struct model_process_facts *process = &stage->thread->model->processes[stage->thread->process];
    if (record->flags & SS_FLAG_FAILED) /* there are waits, and they are not seen */
        emit_fact(stage, (struct item){.kind = ITEM_INPUT, .flags = INPUT_HIDDEN});
    else if (!overlay_add(kind == SS_STAGE_COMPILE ? &process->compiles : &process->waits, kind,
                          record))
        stage->thread->model->error = SS_E_NOMEM;
}

/* It divides what is around it, and is in no other account: what has a name of its own inside it is
 * directly inside that. Of stage user is what sampling took, of stage other a whole stretch. */
static ATTR_NOINLINE void add_sampled(struct tree_stage *stage, const struct ss_record *record,
                                      uint32_t number)
{
    struct thread *thread = stage->thread;
    const unsigned kind = thread->model->names.name[number].stage;
    const int64_t duration = record->end_ns - record->start_ns;
    struct layer_log *log = stage->calls ? &stage->calls->layers : NULL;
    if (kind == SS_STAGE_OTHER) {
        if (log)
            layers_stretch(log, record->start_ns, record->end_ns);
        return;
    }
    struct level *own = enter_level(stage, record);
    if (!own)
        return;
    struct level *below = own + 1;
    const int64_t net_ns = duration - (below->used ? work_total(&below->work) : 0);
    if (kind == SS_STAGE_USER && log)
        layers_cost(log, record->nest & SS_NEST_STAGE, duration);
    else if (log && !layers_note(log, number, net_ns - below->sampled_ns))
        thread->model->error = SS_E_NOMEM;
    note_level(own, record->start_ns, record->end_ns, 0);
    saturate_add(&own->sampled_ns, net_ns > 0 ? net_ns : 0);
    work_add(&own->work, &below->work);
    clear_level(below);
}

void tree_span(struct tree_stage *stage, const struct ss_record *record)
{
    struct thread *thread = stage->thread;
    struct model *model = thread->model;
    uint32_t number = model_names_find(&model->names, thread->process, record->name);
    struct model_name *name = &model->names.name[number];
    int64_t duration = record->end_ns - record->start_ns;
    if (UNLIKELY(record->flags & SS_FLAG_SAMPLED)) {
        add_sampled(stage, record, number);
        return;
    }
    if (UNLIKELY(is_beside(record))) {
        add_beside(stage, record, number);
        return;
    }
    struct level *own = enter_level(stage, record);
    if (!own)
        return;
    struct level *below = own + 1;
    if (record->start_ns < thread->begin_ns)
        begin_earlier(stage, record->start_ns);
    add_to_name(name, record, duration - below->covered_ns);
    note_level(own, record->start_ns, record->end_ns, duration);
    const bool is_aside =
        record->flags & (SS_FLAG_OVERLAY | SS_FLAG_PRODUCER) || name->stage == SS_STAGE_PRODUCE;
    /* What nests in the thread's first item is before it. */
    if (stage->calls || (!is_aside && name->stage != SS_STAGE_USER && next_of(stage)))
        calls_note(stage->calls, number, record);
    if (UNLIKELY(record->u.arg > 0))
        log_batch(thread, name->stage, record);
    if (is_aside) {
        if (record->flags & SS_FLAG_OVERLAY)
            add_overlay(stage, name->stage, record);
    } else if (name->stage == SS_STAGE_USER) {
        work_add(&own->work, &below->work); /* transparent */
        saturate_add(&own->sampled_ns, below->sampled_ns);
        if (below->used) /* it may hold spans from before, whose parent is lost */
            note_level(own, below->first_ns, below->last_ns, 0);
    } else {
        close_span(stage, below, name, record);
        if (record->nest & SS_NEST_OPAQUE)
            work_add(&own->work, &below->work);
        else
            emit(stage, record, name, &below->work);
    }
    clear_level(below);
}

/* Whether it is one of the loop around it, which alone counts. */
static bool is_inner_loop(struct tree_stage *stage, unsigned kind)
{
    if (kind == SS_KIND_LOOP_BEGIN && stage->announced) {
        stage->loop_depth++;
        return true;
    }
    if (kind == SS_KIND_LOOP_END && stage->loop_depth > 0) {
        stage->loop_depth--;
        return true;
    }
    if (kind == SS_KIND_LOOP_BEGIN || kind == SS_KIND_LOOP_END)
        stage->announced = kind == SS_KIND_LOOP_BEGIN;
    return false;
}

static struct item boundary(const struct thread *thread, const struct ss_record *record)
{
    struct item item = {.start_ns = record->time_ns, .end_ns = record->time_ns};
    switch (record->kind) {
    case SS_KIND_STEP:
        item.kind = ITEM_MARK;
        item.of.step.samples =
            record->u.samples < (uint64_t)SAMPLES_MOST ? (int64_t)record->u.samples : SAMPLES_MOST;
        break;
    case SS_KIND_LOOP_BEGIN:
        item.kind = ITEM_LOOP_BEGIN;
        item.owner = model_names_find(&thread->model->names, thread->process, record->name);
        break;
    case SS_KIND_LOOP_END:
        item.kind = ITEM_LOOP_END;
        break;
    case SS_KIND_EPOCH_BEGIN:
        item.kind = ITEM_EPOCH_BEGIN;
        item.of.epoch = record->u.epoch;
        break;
    case SS_KIND_EPOCH_END:
        item.kind = ITEM_EPOCH_END;
        break;
    default:
        item.kind = ITEM_PLAN;
        item.of.plan = record->u.plan;
        break;
    }
    return item;
}

void tree_boundary(struct tree_stage *stage, const struct ss_record *record)
{
    struct jit_stage *next = record->nest & SS_NEST_CLOSED ? NULL : next_of(stage);
    if (!next || is_inner_loop(stage, record->kind))
        return;
    struct item item = boundary(stage->thread, record);
    jit_item(next, &item);
}

void tree_samples(struct tree_stage *stage, double samples)
{
    stage->samples = samples >= 1 && samples <= (double)SAMPLES_MOST ? (int64_t)samples : 0;
}

void tree_missing(struct tree_stage *stage, int64_t start_ns, int64_t end_ns)
{
    emit_fact(stage, (struct item){.kind = ITEM_MISSING, .start_ns = start_ns, .end_ns = end_ns});
}

void tree_recompile(struct tree_stage *stage, struct ss_text text)
{
    emit_fact(stage, (struct item){.kind = ITEM_RECOMPILE, .of.text = text});
}

void tree_layers(struct tree_stage *stage, double ns)
{
    if (stage->calls)
        layers_spent(&stage->calls->layers, ns);
}

void tree_batches(struct tree_stage *stage, int64_t time_ns, struct ss_text text)
{
    struct item item = {.kind = ITEM_BATCHES, .start_ns = time_ns, .of.text = text};
    struct jit_stage *next = next_of(stage); /* it may come before anything else */
    if (next)
        jit_item(next, &item);
}

void tree_flush(struct tree_stage *stage, int64_t stop_ns)
{
    emit_fact(stage, (struct item){.kind = ITEM_FLUSH, .start_ns = stop_ns});
}

void tree_release(struct tree_stage *stage)
{
    free(stage->levels);
}
