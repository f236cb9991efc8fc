/* Nesting: who owns an instant (rules 6, 7). Spans arrive when they end, children before parents;
 * what is known below an open span waits in its level. */
#include "model/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

static bool make_levels(struct thread *thread, uint32_t count)
{
    if (count <= thread->level_count) {
        return true;
    }
    count = count < 8 ? 8 : count + 8;
    struct level *grown = realloc(thread->levels, count * sizeof *grown);
    if (!grown) {
        thread->model->error = SS_E_NOMEM;
        return false;
    }
    memset(grown + thread->level_count, 0, (count - thread->level_count) * sizeof *grown);
    thread->levels = grown;
    thread->level_count = count;
    return true;
}

static void clear_level(struct level *level)
{
    if (level->used) {
        level->used = false;
        level->covered_ns = 0;
        work_clear(&level->work);
    }
}

static void note_level(struct level *level, int64_t first_ns, int64_t last_ns,
                       int64_t covered_ns)
{
    level->first_ns =
        level->used && level->first_ns < first_ns ? level->first_ns : first_ns;
    level->last_ns = level->used && level->last_ns > last_ns ? level->last_ns : last_ns;
    level->covered_ns += covered_ns;
    level->used = true;
}

/* A parent may be lost (dropped records): its children then hang one level too deep. */
static void fold_deeper(struct thread *thread, uint32_t depth)
{
    for (uint32_t i = thread->deepest; i > depth; i--) {
        struct level *deep = &thread->levels[i];
        if (deep->used) {
            work_add(&deep[-1].work, &deep->work);
            note_level(&deep[-1], deep->first_ns, deep->last_ns, deep->covered_ns);
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

static void first_seen(struct model_name *name)
{
    name->marks = marks_of(name, false);
    name->eval_marks = marks_of(name, true);
    name->cut = (int8_t)work_cut_of_stage(name->stage);
    name->may_be_detail =
        name->stage == SS_STAGE_SYNC || name->stage == SS_STAGE_TRANSFER;
}

/* A train call stands for all updates in it. So does an optimizer for that of one inside it: it wraps
 * that one. */
static void mark_update(struct work *work, const struct model_name *name, int64_t arg)
{
    if (name->role == SS_ROLE_TRAIN_CALL) {
        int32_t steps = arg < 1                  ? 1
                        : arg > TRAIN_STEPS_MOST ? TRAIN_STEPS_MOST
                                                 : (int)arg;
        work->train_steps += steps;
        work->updates = steps;
        work->update_owner = name->owner;
    } else {
        work->updates = 1;
        work->update_owner = name->owner;
    }
}

/* `sync` and `transfer` directly inside an optimizer are a detail of it (rule 7). */
static bool is_detail(const struct model_name *name, const struct ss_record *record)
{
    return name->may_be_detail && (record->nest & SS_NEST_OPEN) &&
           (record->nest & SS_NEST_STAGE) == SS_STAGE_OPTIMIZER;
}

/* What a span means for steps; nothing inside a closed span means anything (rule 6). */
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
    if (name->marks & WORK_UPDATE) {
        mark_update(work, name, record->u.arg);
    }
}

/* More inside a span than it is long: some of that was in another one, whose record is lost, or was
 * appended over others, which is our error. */
static void drop_times(struct thread *thread, struct work *work, bool orphans,
                       int64_t excess_ns)
{
    if (orphans) {
        thread->model->orphan_spans++;
    } else {
        thread->model->negative_ns += excess_ns;
    }
    work_clear_times(work);
}

/* Puts a span's own time on its stage, or on the cut that it is. */
static void own_time(const struct thread *thread, struct work *work,
                     const struct model_name *name, const struct ss_record *record,
                     int64_t own_ns)
{
    int cut = record->nest & SS_NEST_CLOSED ? -1 : name->cut;
    if (cut >= 0) {
        work_clear(work);
        work_set_cut(work, cut, record->end_ns - record->start_ns);
        if (thread->track) {
            calls_cut(thread->track, record->start_ns, record->end_ns, cut);
        }
    } else {
        work_put(work, is_detail(name, record) ? SS_STAGE_OPTIMIZER : name->stage,
                 own_ns);
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

/* Makes the work below a span that of the span itself. */
static void close_span(struct thread *thread, struct level *below,
                       const struct model_name *name, const struct ss_record *record)
{
    struct work *work = &below->work;
    int64_t own_ns = record->end_ns - record->start_ns;
    if (below->used) {
        int64_t inside_ns = work_total(work);
        if (inside_ns > own_ns) {
            drop_times(thread, work, below->first_ns < record->start_ns,
                       inside_ns - own_ns);
        } else {
            own_ns -= inside_ns;
        }
    }
    own_time(thread, work, name, record, own_ns);
    mark_work(work, name, record, thread->samples);
    if (record->nest & SS_NEST_CLOSED) {
        keep_gc_only(work);
    }
    below->used = true;
}

static void add_to_name(struct model_name *name, const struct ss_record *record,
                        int64_t self)
{
    int64_t duration = record->end_ns - record->start_ns;
    if (UNLIKELY(name->count == 0)) {
        first_seen(name);
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
                        .kind = SS_KIND_SPAN,
                        .owner = name->owner,
                        .stage = name->stage,
                        .role = name->role,
                        .flags = record->flags,
                        .work = work};
    struct track *track = track_of(thread);
    if (track) {
        jit_item(track, &item);
    }
}

/* A lane may begin in the middle: its first record is then inside a span that began before. */
static void begin_earlier(struct thread *thread, int64_t start_ns)
{
    struct track *track = thread->track;
    if (!track || !track->booked) {
        thread->begin_ns = start_ns;
        if (track) {
            track->cursor_ns = start_ns;
        }
    }
}

/* The level of a span, and the one below it with what nests in the span. */
static struct level *enter_level(struct thread *thread, const struct ss_record *record)
{
    if (!make_levels(thread, record->depth + 2u)) {
        return NULL;
    }
    if (thread->deepest > record->depth + 1u) {
        fold_deeper(thread, record->depth + 1u);
    }
    thread->deepest = record->depth;
    struct level *own = &thread->levels[record->depth];
    struct level *below = own + 1;
    if (below->used && below->first_ns < record->start_ns &&
        below->last_ns <= record->start_ns) {
        thread->model->orphan_spans++; /* their parent was dropped */
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

static void add_beside(struct thread *thread, const struct ss_record *record,
                       uint32_t number)
{
    struct model_name *name = &thread->model->names.name[number];
    const int64_t duration = record->end_ns - record->start_ns;
    add_to_name(name, record, duration);
    name->is_beside = true;
    if (thread->track && !(record->flags & SS_FLAG_EVAL)) {
        calls_beside(thread->track, number, duration);
    }
}

static void log_batch(struct thread *thread, unsigned stage,
                      const struct ss_record *record)
{
    const bool is_made = stage == SS_STAGE_PRODUCE;
    if ((is_made || stage == SS_STAGE_DATA) &&
        !(record->flags & (SS_FLAG_FAILED | SS_FLAG_OVERLAY)) &&
        !(record->nest & SS_NEST_CLOSED)) {
        batch_log_add(&thread->log, is_made, record);
    }
}

void tree_span(struct thread *thread, const struct ss_record *record)
{
    struct model *model = thread->model;
    uint32_t number = model_names_find(&model->names, thread->process, record->name);
    struct model_name *name = &model->names.name[number];
    int64_t duration = record->end_ns - record->start_ns;
    if (UNLIKELY(is_beside(record))) {
        add_beside(thread, record, number);
        return;
    }
    struct level *own = enter_level(thread, record);
    if (!own) {
        return;
    }
    struct level *below = own + 1;
    if (record->start_ns < thread->begin_ns) {
        begin_earlier(thread, record->start_ns);
    }
    add_to_name(name, record, duration - below->covered_ns);
    note_level(own, record->start_ns, record->end_ns, duration);
    if (thread->track) {
        calls_note(thread->track, number, record);
    }
    if (UNLIKELY(record->u.arg > 0)) {
        log_batch(thread, name->stage, record);
    }
    if (record->flags & (SS_FLAG_OVERLAY | SS_FLAG_PRODUCER) ||
        name->stage == SS_STAGE_PRODUCE) {
        if (record->flags & SS_FLAG_OVERLAY) {
            overlay_add(thread, name->stage, record);
        }
    } else if (name->stage == SS_STAGE_USER) {
        work_add(&own->work, &below->work); /* transparent */
        if (below->used) { /* it may hold spans from before, whose parent is lost */
            note_level(own, below->first_ns, below->last_ns, 0);
        }
    } else {
        close_span(thread, below, name, record);
        if (record->nest & SS_NEST_OPAQUE) {
            work_add(&own->work, &below->work);
        } else {
            emit(thread, record, number, &below->work);
        }
    }
    clear_level(below);
}
