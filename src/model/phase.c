/* Batches: a phase starts with a batch, or with the first leading item after an update. Evaluation
 * that nobody named is found here and cut out (rule 8). */
#include "model/parts.h"

#include <stdlib.h>

enum { TRAINS = WORK_BACKWARD | WORK_TRAIN_COMPUTE | WORK_UPDATE };

struct track *track_of(struct thread *thread)
{
    if (!thread->track) {
        thread->track = calloc(1, sizeof *thread->track);
        if (!thread->track) {
            thread->model->error = SS_E_NOMEM;
            return NULL;
        }
        thread->track->thread = thread;
        thread->track->cursor_ns = thread->begin_ns;
        thread->track->last_ns = INT64_MIN;
    }
    return thread->track;
}

static void close_eval(struct track *track)
{
    if (track->eval_open) {
        struct work cut = {.marks = 0};
        work_set_cut(&cut, CUT_EVAL, track->eval_end_ns - track->eval_start_ns);
        calls_cut(track, track->eval_start_ns, track->eval_end_ns, CUT_EVAL);
        track->eval_open = false;
        step_loose(track, &cut, track->eval_end_ns);
    }
}

static void extend_eval(struct track *track, int64_t start_ns, int64_t end_ns)
{
    if (!track->eval_open) {
        track->eval_open = true;
        track->eval_start_ns = start_ns;
    }
    track->eval_end_ns = end_ns;
}

static void release_held(struct track *track)
{
    if (track->held_valid) {
        track->held_valid = false;
        step_phase(track, &track->held);
    }
}

static bool has_setup(const struct phase *phase)
{
    return phase->lead_start_ns < phase->start_ns;
}

/* Held batches are part of an evaluation that was under way, or began with an iterator of theirs. */
static void evaluate_held(struct track *track)
{
    if (track->held_valid && (track->eval_open || has_setup(&track->held))) {
        track->held_valid = false;
        extend_eval(track, track->held.lead_start_ns, track->held.end_ns);
    }
}

/* Batches without backward or update: evaluation if their iterator ends before the next update,
 * else part of the next step. */
static void hold(struct track *track, const struct phase *phase)
{
    if (track->held_valid && has_setup(phase) && !has_setup(&track->held)) {
        close_eval(track); /* those before are of an older iterator */
        release_held(track);
    }
    if (!track->held_valid) {
        track->held_valid = true;
        track->held = *phase;
        return;
    }
    work_add(&track->held.work, &phase->lead_in);
    work_add(&track->held.work, &phase->work);
    track->held.end_ns = phase->end_ns;
}

/* A batch with gradients off, or a run of a jitted function that does not train. */
static bool is_evaluation(unsigned marks)
{
    const unsigned batch = WORK_DATA | WORK_EVAL_FORWARD;
    return !(marks & TRAINS) && ((marks & batch) == batch || (marks & WORK_EVAL_CALL));
}

static void flush(struct track *track)
{
    if (!track->in_phase) {
        return;
    }
    track->in_phase = false;
    const struct phase *phase = &track->phase;
    const unsigned marks = phase->work.marks;
    if (is_evaluation(marks)) {
        evaluate_held(track);
        release_held(track);
        extend_eval(track, phase->lead_start_ns, phase->end_ns);
    } else if (!(marks & TRAINS) && (marks & WORK_DATA)) {
        hold(track, phase);
    } else {
        close_eval(track);
        release_held(track);
        step_phase(track, phase);
    }
}

static void start_phase(struct track *track, const struct item *item)
{
    flush(track);
    struct phase *phase = &track->phase;
    phase->start_ns = phase->lead_start_ns = phase->lead_end_ns = item->start_ns;
    work_clear(&phase->lead_in);
    work_clear(&phase->work);
    if (track->setup_pending) {
        track->setup_pending = false;
        phase->lead_start_ns = track->setup.start_ns;
        phase->lead_end_ns = track->setup.end_ns;
        phase->lead_in = track->setup.work;
    }
    track->in_phase = true;
}

static void add_work(struct track *track, const struct work *work, int64_t end_ns)
{
    if (track->in_phase) {
        work_add(&track->phase.work, work);
        track->phase.end_ns = end_ns;
    } else {
        step_loose(track, work, end_ns);
    }
}

/* Set-up that no batch followed stays where it was. */
static void drop_setup(struct track *track)
{
    if (track->setup_pending) {
        track->setup_pending = false;
        add_work(track, &track->setup.work, track->setup.end_ns);
    }
}

/* Set-up waits for its first batch, with what comes in between. */
static void keep_setup(struct track *track, const struct item *item)
{
    if (!track->setup_pending) {
        track->setup_pending = true;
        track->setup.start_ns = item->start_ns;
        work_clear(&track->setup.work);
    }
    work_add(&track->setup.work, item->work);
    track->setup.end_ns = item->end_ns;
}

/* The iterator has ended and so has the step, with what was begun and had no update. */
static void end_step(struct track *track)
{
    if (track->ended_valid) {
        track->ended_valid = false;
        release_held(track);
        step_early_end(track, track->ended.start_ns, true);
        step_loose(track, &track->ended.work, track->ended.end_ns);
    }
}

void phase_settle(struct track *track)
{
    end_step(track);
    drop_setup(track);
    flush(track);
    close_eval(track);
    release_held(track);
}

void phase_point(struct track *track, int64_t now_ns)
{
    phase_settle(track);
    track->point_ns = now_ns;
    track->last_ns = now_ns > track->last_ns ? now_ns : track->last_ns;
}

/* The end of an iterator, or of an epoch in a compiled call. */
static void end_iteration(struct track *track, const struct item *item)
{
    drop_setup(track);
    flush(track);
    evaluate_held(track);
    if (track->eval_open) {
        track->eval_end_ns = item->end_ns;
        close_eval(track);
        return;
    }
    track->ended_valid = true;
    track->ended.start_ns = item->start_ns;
    track->ended.end_ns = item->end_ns;
    track->ended.work = *item->work;
    if (item->stage != SS_STAGE_DATA) {
        end_step(track);
    }
}

/* Whether training goes on after the end of an iterator, with batches that were got ahead of it, or
 * with an update for those that are left. */
static bool goes_on(const struct track *track, const struct item *item)
{
    const unsigned marks = item->work->marks;
    const bool begun = track->held_valid || track->has_next;
    return item->stage != SS_STAGE_DATA && !track->setup_pending &&
           ((marks & (WORK_TRAIN_FORWARD | WORK_BACKWARD | WORK_TRAIN_COMPUTE)) ||
            (begun && (marks & WORK_UPDATE)));
}

/* After the end of an iterator: true if the item waits with it until that is known. */
static bool wait_with_end(struct track *track, const struct item *item)
{
    if (goes_on(track, item)) {
        track->ended_valid = false;
        release_held(track);
        step_loose(track, &track->ended.work, track->ended.end_ns);
        return false;
    }
    if (item->stage == SS_STAGE_DATA || item->stage == SS_STAGE_SETUP ||
        (item->work->marks & (WORK_LEADS | WORK_UPDATE))) {
        end_step(track);
        return false;
    }
    work_add(&track->ended.work, item->work);
    track->ended.end_ns = item->end_ns;
    return true;
}

/* Two loops of a process that compute at once: nobody knows whose the waits were. */
static void share_data(struct track *track, const struct model_process_facts *process,
                       const struct item *item)
{
    const struct model *model = track->thread->model;
    const struct thread *other = process->compute_lane < model->lane_count
                                     ? model->lanes[process->compute_lane]
                                     : NULL;
    if (other && other != track->thread && process->compute_end_ns > item->start_ns) {
        if (track->loop) {
            track->loop->data_shared = true;
        }
        if (other->track && other->track->loop) {
            other->track->loop->data_shared = true;
        }
    }
}

/* Several steps, or several replicas: while one waits for its batch, others need not. */
static void note_waits(struct track *track, const struct item *item)
{
    if (track->loop && item->work->batches_inside > 0 &&
        (item->work->batches_inside > 1 || item->work->train_steps > 1)) {
        track->loop->data_beside = true;
    }
}

static void move_overlay(struct item *item, struct overlays *overlays,
                         enum ss_stage stage)
{
    int64_t taken = overlay_take(overlays, item->start_ns, item->end_ns);
    int64_t compute = item->work->stage_ns[SS_STAGE_COMPUTE];
    taken = taken < compute ? taken : compute;
    work_put(item->work, SS_STAGE_COMPUTE, -taken);
    work_put(item->work, stage, taken);
}

/* Rule 10: what other threads waited for data, or compiled, inside this call. */
static void move_overlays(struct track *track, struct item *item)
{
    struct model *model = track->thread->model;
    struct model_process_facts *process = &model->processes[track->thread->process];
    const bool trains =
        item->stage == SS_STAGE_COMPUTE && (item->work->marks & WORK_TRAIN_COMPUTE);
    if (trains || item->stage == SS_STAGE_DATA) {
        overlay_add_batches(&process->waits, item);
    }
    if (!trains) {
        return;
    }
    share_data(track, process, item);
    note_waits(track, item);
    move_overlay(item, &process->waits, SS_STAGE_DATA);
    move_overlay(item, &process->compiles, SS_STAGE_COMPILE);
    process->compute_end_ns = item->end_ns;
    process->compute_lane = track->thread->lane;
}

static bool starts_phase(const struct track *track, const struct item *item)
{
    const unsigned marks = item->work->marks;
    const unsigned seen = track->phase.work.marks;
    if (!(marks & WORK_LEADS)) {
        return false;
    }
    if (!track->in_phase || item->stage == SS_STAGE_DATA || (seen & WORK_UPDATE)) {
        return true;
    }
    const bool first = step_is_first(track); /* rule 4: what is before it is start-up */
    if (first && track->setup_pending) {
        return true;
    }
    if (seen & (TRAINS | WORK_DATA | WORK_TRAIN_FORWARD)) {
        return false;
    }
    return (first && (marks & (WORK_TRAIN_FORWARD | WORK_TRAIN_COMPUTE))) ||
           ((seen & WORK_EVAL_CALL) && (marks & WORK_TRAIN_COMPUTE)); /* trains again */
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A mark, or the end of an epoch or loop, was inside the item: its time before that is in the step
 * before, and spans are not split. */
static void clip(const struct track *track, struct item *item)
{
    if (item->start_ns < track->point_ns) {
        int64_t before = track->point_ns - item->start_ns;
        int64_t duration = item->end_ns - item->start_ns;
        work_shorten(item->work, item->stage, before < duration ? before : duration);
    }
    item->start_ns = later(item->start_ns, track->last_ns);
    item->end_ns = later(item->end_ns, track->last_ns);
}

/* A jitted function that does not train, called in the middle of a cycle, is cut out by itself. */
static void cut_call(struct track *track, struct item *item)
{
    const unsigned seen = track->in_phase ? track->phase.work.marks : 0;
    if ((item->work->marks & WORK_EVAL_CALL) && (seen & TRAINS) &&
        !(seen & WORK_UPDATE)) {
        int64_t time_ns = work_total(item->work);
        work_clear(item->work);
        work_set_cut(item->work, CUT_EVAL, time_ns);
        calls_cut(track, item->start_ns, item->end_ns, CUT_EVAL);
    }
}

void phase_item(struct track *track, struct item *item)
{
    move_overlays(track, item);
    clip(track, item);
    cut_call(track, item);
    track->last_ns = item->end_ns;
    if (track->ended_valid && wait_with_end(track, item)) {
        return;
    }
    const bool failed = item->flags & SS_FLAG_FAILED;
    if (failed && (item->stage == SS_STAGE_DATA || item->stage == SS_STAGE_COMPUTE)) {
        end_iteration(track, item);
    } else if (item->stage == SS_STAGE_SETUP ||
               (track->setup_pending &&
                !(item->work->marks & (WORK_LEADS | WORK_UPDATE)))) {
        keep_setup(track, item);
    } else if (starts_phase(track, item)) {
        start_phase(track, item);
        add_work(track, item->work, item->end_ns);
    } else {
        drop_setup(track);
        add_work(track, item->work, item->end_ns);
    }
}
