/* Nesting: who owns an instant (rules 6, 7). Spans arrive when they end, children before parents;
 * what is known below an open span waits in its level. */
#include "model/parts.h"

#include <stdlib.h>
#include <string.h>

static struct level *level_at(struct thread *thread, uint32_t depth)
{
    if (depth >= thread->level_count) {
        uint32_t count = depth < 6 ? 8 : depth + 8;
        struct level *grown = realloc(thread->levels, count * sizeof *grown);
        if (!grown) {
            thread->model->error = SS_E_NOMEM;
            return NULL;
        }
        memset(grown + thread->level_count, 0,
               (count - thread->level_count) * sizeof *grown);
        thread->levels = grown;
        thread->level_count = count;
    }
    return &thread->levels[depth];
}

static void clear_level(struct level *level)
{
    level->covered_ns = level->last_ns = 0;
    work_clear(&level->work);
}

/* A parent may be lost (dropped records): its children then hang one level too deep. */
static void fold_deeper(struct thread *thread, uint32_t depth)
{
    for (; thread->deepest > depth; thread->deepest--) {
        struct level *deep = &thread->levels[thread->deepest];
        if (deep->last_ns) {
            work_add(&deep[-1].work, &deep->work);
            deep[-1].last_ns = deep->last_ns;
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
static unsigned marks_of(const struct model_name *name)
{
    unsigned marks = is_leading(name->stage, name->scope) ? WORK_LEADS : 0;
    marks |= name->stage == SS_STAGE_DATA ? WORK_DATA : 0;
    marks |= name->stage == SS_STAGE_BACKWARD ? WORK_BACKWARD : 0;
    marks |= name->stage == SS_STAGE_SYNC ? WORK_SYNC : 0;
    marks |= name->role == SS_ROLE_UPDATE ? WORK_UPDATE : 0;
    marks |= name->role == SS_ROLE_TRAIN_CALL ? WORK_UPDATE | WORK_TRAIN_CALL : 0;
    return marks;
}

static void mark_forward(struct work *work, unsigned flags)
{
    bool eval = (flags & SS_FLAG_EVAL) && !(flags & SS_FLAG_TRAIN);
    work->marks |= eval ? WORK_EVAL_FORWARD : WORK_TRAIN_FORWARD;
    work->forwards++;
}

static void mark_update(struct work *work, const struct model_name *name,
                        const struct ss_record *record)
{
    work->updates++;
    if (name->role == SS_ROLE_TRAIN_CALL) {
        work->train_steps += record->u.arg > 0 ? record->u.arg : 1;
        work->update_owner = name->owner;
    } else {
        work->update_owner = work->update_owner ? work->update_owner : name->owner;
    }
}

/* What a span means for steps; nothing inside a closed span means anything (rule 6). */
static void mark_work(struct work *work, const struct model_name *name,
                      const struct ss_record *record)
{
    const unsigned flags = record->flags;
    work->marks |= flags & SS_FLAG_PERTURBED ? WORK_PERTURBED : 0;
    work->marks |= flags & SS_FLAG_UNFINISHED ? WORK_UNFINISHED : 0;
    if (flags & SS_FLAG_FAILED) {
        work->marks |= name->marks & WORK_SYNC;
        return;
    }
    work->marks |= name->marks;
    if (name->marks & WORK_UPDATE) {
        mark_update(work, name, record);
    }
    if (name->stage == SS_STAGE_DATA) {
        work->batches++;
    } else if (name->stage == SS_STAGE_FORWARD) {
        mark_forward(work, flags);
    } else if (name->stage == SS_STAGE_COMPUTE && !(flags & SS_FLAG_EVAL)) {
        work->marks |= WORK_TRAIN_COMPUTE;
    }
}

/* Puts a span's own time on its stage, or on the cut that it is. */
static void own_time(struct thread *thread, struct work *work, bool has_inside,
                     const struct model_name *name, const struct ss_record *record)
{
    int64_t duration = record->end_ns - record->start_ns;
    int64_t own = duration;
    if (has_inside) {
        own -= work_stage_total(work) + work_cut_total(work);
    }
    if (own < 0) { /* spans that were appended over others: the excess is our error */
        thread->model->negative_ns -= own;
        work_clear(work);
        own = duration;
    }
    unsigned around = record->nest & SS_NEST_STAGE;
    unsigned stage = name->stage;
    bool detail = (stage == SS_STAGE_SYNC || stage == SS_STAGE_TRANSFER) &&
                  (record->nest & SS_NEST_OPEN) && around == SS_STAGE_OPTIMIZER;
    int cut = record->nest & SS_NEST_CLOSED ? -1 : work_cut_of_stage(stage);
    if (cut >= 0) {
        work_clear(work);
        work->cut_ns[cut] = duration;
    } else {
        work_put(work, detail ? SS_STAGE_OPTIMIZER : stage, own);
    }
}

/* Inside a closed span only garbage collection keeps its own account. */
static void keep_gc_only(struct work *work)
{
    int64_t gc = work->stage_ns[SS_STAGE_GC];
    unsigned flagged = work->marks & (WORK_PERTURBED | WORK_UNFINISHED);
    work_clear(work);
    if (gc) {
        work_put(work, SS_STAGE_GC, gc);
    }
    work->marks = flagged;
}

static void add_to_name(struct model_name *name, const struct ss_record *record,
                        int64_t self)
{
    int64_t duration = record->end_ns - record->start_ns;
    if (name->count == 0) {
        name->marks = marks_of(name);
    }
    name->count++;
    name->failed += (record->flags & SS_FLAG_FAILED) != 0;
    name->total_ns += duration;
    name->self_ns += self > 0 ? self : 0;
    if (!(record->flags & SS_FLAG_UNFINISHED)) {
        sketch_add(&name->sketch, duration);
    }
}

static void emit(struct thread *thread, const struct ss_record *record, uint32_t number,
                 struct work *work)
{
    const struct model_name *name = &thread->model->names.name[number];
    struct item item = {.start_ns = record->start_ns,
                        .end_ns = record->end_ns,
                        .name = number,
                        .stage = name->stage,
                        .role = name->role,
                        .scope = name->scope,
                        .flags = record->flags,
                        .work = work};
    struct track *track = track_of(thread);
    if (track) {
        jit_item(track, &item);
    }
}

void tree_span(struct thread *thread, const struct ss_record *record)
{
    struct model *model = thread->model;
    uint32_t number = model_names_find(&model->names, thread->process, record->name);
    struct model_name *name = &model->names.name[number];
    int64_t duration = record->end_ns - record->start_ns;
    if (!level_at(thread, record->depth + 1u)) {
        return;
    }
    fold_deeper(thread, record->depth + 1u);
    thread->deepest = record->depth; /* what is below it will be taken */
    struct level *own = &thread->levels[record->depth];
    struct level *below = own + 1;
    if (below->last_ns && below->last_ns <= record->start_ns) {
        model->orphan_spans++; /* their parent was dropped */
        clear_level(below);
    }
    add_to_name(name, record, duration - below->covered_ns);
    own->covered_ns += duration;
    own->last_ns = record->end_ns;
    if (thread->track && thread->track->loop) {
        loop_add_name(thread->track, number, duration);
    }
    if (record->flags & (SS_FLAG_OVERLAY | SS_FLAG_PRODUCER) ||
        name->stage == SS_STAGE_PRODUCE) {
        if (record->flags & SS_FLAG_OVERLAY) {
            overlay_add(&model->processes[thread->process], record->start_ns,
                        record->end_ns);
        }
        clear_level(below);
        return;
    }
    if (name->stage ==
        SS_STAGE_USER) { /* transparent: what is in it belongs to what is around */
        work_add(&own->work, &below->work);
        clear_level(below);
        return;
    }
    struct work *work = &below->work; /* what nests in it becomes its own */
    own_time(thread, work, below->last_ns != 0, name, record);
    mark_work(work, name, record);
    if (record->nest & SS_NEST_CLOSED) {
        keep_gc_only(work);
    }
    if (record->nest & SS_NEST_OPAQUE) {
        work_add(&own->work, work);
    } else {
        emit(thread, record, number, work);
    }
    clear_level(below);
}
