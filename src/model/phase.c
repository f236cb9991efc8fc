#include "model/phase.h"

#include "model/calls.h"
#include "model/model_state.h"
#include "model/step.h"
#include "model/thread.h"

enum { TRAINS = WORK_BACKWARD | WORK_TRAIN_COMPUTE | WORK_UPDATE };

static void pass_loose(struct phase_stage *stage, struct work *work, int64_t end_ns)
{
    struct item loose = {.kind = ITEM_LOOSE, .end_ns = end_ns, .work = work};
    step_item(stage->next, &loose);
}

static void pass_held(void *to, struct item *item)
{
    const struct phase_stage *stage = to;
    step_item(stage->next, item);
}

static void close_eval(struct phase_stage *stage)
{
    if (stage->eval_open) {
        struct work cut = {.marks = 0};
        work_set_cut(&cut, CUT_EVAL, stage->eval_end_ns - stage->eval_start_ns);
        calls_cut(stage->calls, stage->eval_start_ns, stage->eval_end_ns, CUT_EVAL);
        stage->eval_open = false;
        pass_loose(stage, &cut, stage->eval_end_ns);
    }
}

static void extend_eval(struct phase_stage *stage, int64_t start_ns, int64_t end_ns)
{
    if (!stage->eval_open) {
        stage->eval_open = true;
        stage->eval_start_ns = start_ns;
    }
    stage->eval_end_ns = end_ns;
}

static void pass_batches(struct phase_stage *stage)
{
    hold_pass_all(&stage->batches, pass_held, stage);
}

static bool has_setup(const struct item *phase)
{
    return phase->of.lead.start_ns < phase->start_ns;
}

/* Whether the script has only gone through batches, as to count labels (step model 2.2). */
static bool is_only_data(const struct phase_stage *stage)
{
    if (stage->batches.count == 0)
        return false;
    const struct item *held = &hold_last(&stage->batches)->item;
    return !(held->work->marks & (WORK_TRAIN_FORWARD | WORK_EVAL_FORWARD)) &&
           held->work->stage_ns[SS_STAGE_DATA] > (held->end_ns - held->start_ns) / 2;
}

/* Held batches are part of an evaluation that was under way, or began with an iterator of
 * theirs. */
static void evaluate_batches(struct phase_stage *stage)
{
    if (stage->batches.count == 0)
        return;
    const struct item *first = &hold_last(&stage->batches)->item;
    if (stage->eval_open || has_setup(first)) {
        stage->batches.count = 0;
        extend_eval(stage, first->of.lead.start_ns, first->end_ns);
    }
}

/* Batches without backward or update: evaluation if their iterator ends before the next update,
 * else part of the next step. */
static void hold_batch(struct phase_stage *stage, const struct item *phase)
{
    if (stage->batches.count > 0 && has_setup(phase) &&
        !has_setup(&hold_last(&stage->batches)->item)) {
        close_eval(stage); /* those before are of an older iterator */
        pass_batches(stage);
    }
    if (stage->batches.count == 0) {
        hold_add(&stage->batches, phase);
        return;
    }
    hold_extend(&stage->batches, phase->before, phase->end_ns);
    hold_extend(&stage->batches, phase->work, phase->end_ns);
}

/* A batch with gradients off, or a run of a jitted function that does not train. */
static bool is_evaluation(unsigned marks)
{
    const unsigned batch = WORK_DATA | WORK_EVAL_FORWARD;
    return !(marks & TRAINS) && ((marks & batch) == batch || (marks & WORK_EVAL_CALL));
}

/* Forwards with gradients off, and nothing yet that trains or has got a batch (step model 2.4). */
static bool is_quiet(unsigned marks)
{
    return (marks & (WORK_EVAL_FORWARD | WORK_TRAIN_FORWARD | WORK_DATA | TRAINS)) ==
           WORK_EVAL_FORWARD;
}

static bool is_quiet_evaluation(const struct phase_stage *stage, unsigned marks)
{
    return is_quiet(marks) && quiet_evaluates(&stage->quiet);
}

static void close_phase(struct phase_stage *stage)
{
    if (!stage->is_open)
        return;
    stage->is_open = false;
    struct item *phase = &stage->open.item;
    const unsigned marks = phase->work->marks;
    const bool is_eval = is_evaluation(marks) || is_quiet_evaluation(stage, marks);
    if (marks & WORK_UPDATE)
        quiet_note(&stage->quiet, phase->work->update_owner, marks & WORK_EVAL_FORWARD);
    if (is_eval) {
        evaluate_batches(stage);
        pass_batches(stage);
        extend_eval(stage, phase->of.lead.start_ns, phase->end_ns);
    } else if (!(marks & TRAINS) && (marks & WORK_DATA)) {
        hold_batch(stage, phase);
    } else {
        close_eval(stage);
        pass_batches(stage);
        step_item(stage->next, phase);
    }
}

static void open_phase(struct phase_stage *stage, const struct item *first)
{
    close_phase(stage);
    struct item *phase = &stage->open.item;
    phase->start_ns = phase->of.lead.start_ns = phase->of.lead.end_ns = first->start_ns;
    work_clear(phase->before);
    work_clear(phase->work);
    if (stage->setup.count > 0) {
        const struct held *setup = hold_last(&stage->setup);
        stage->setup.count = 0;
        phase->of.lead.start_ns = setup->item.start_ns;
        phase->of.lead.end_ns = setup->item.end_ns;
        *phase->before = setup->work;
    }
    stage->is_open = true;
}

static void add_work(struct phase_stage *stage, struct work *work, int64_t end_ns)
{
    if (stage->is_open && (stage->open.work.marks & WORK_UPDATE) && !work_shows_loop(work))
        close_phase(stage);
    if (stage->is_open) {
        work_add(&stage->open.work, work);
        if ((work->marks & WORK_EVAL_FORWARD) && is_quiet(stage->open.work.marks))
            stage->quiet.now++;
        stage->open.item.end_ns = end_ns;
    } else {
        pass_loose(stage, work, end_ns);
    }
}

static void add_held(void *to, struct item *item)
{
    add_work(to, item->work, item->end_ns);
}

/* Set-up that no batch followed stays where it was. */
static void drop_setup(struct phase_stage *stage)
{
    hold_pass_all(&stage->setup, add_held, stage);
}

static void hold_stretch(struct hold *hold, const struct item *item)
{
    if (hold->count > 0)
        hold_extend(hold, item->work, item->end_ns);
    else
        hold_add(hold, item);
}

static void end_iteration(void *to, struct item *ended)
{
    struct phase_stage *stage = to;
    struct item end = {.kind = ITEM_ITERATION_END, .start_ns = ended->start_ns};
    pass_batches(stage);
    step_item(stage->next, &end);
    pass_loose(stage, ended->work, ended->end_ns);
}

/* The iterator has ended and so has the step, with what was begun and had no update. */
static void end_step(struct phase_stage *stage)
{
    hold_pass_all(&stage->ended, end_iteration, stage);
}

/* What is held back goes on as it is. */
static void settle(struct phase_stage *stage)
{
    end_step(stage);
    drop_setup(stage);
    close_phase(stage);
    close_eval(stage);
    pass_batches(stage);
}

/* The same: something ends here. */
static void settle_at(struct phase_stage *stage, int64_t now_ns)
{
    settle(stage);
    stage->point_ns = now_ns;
    stage->last_ns = now_ns > stage->last_ns ? now_ns : stage->last_ns;
}

/* The end of an iterator, or of an epoch in a compiled call. */
static void take_failed(struct phase_stage *stage, const struct item *item)
{
    drop_setup(stage);
    close_phase(stage);
    if (stage->eval_open || !is_only_data(stage))
        evaluate_batches(stage);
    if (stage->eval_open) {
        stage->eval_end_ns = item->end_ns;
        close_eval(stage);
        return;
    }
    hold_add(&stage->ended, item);
    if (item->stage != SS_STAGE_DATA)
        end_step(stage);
}

/* Whether training goes on after the end of an iterator, with batches that were got ahead of it, or
 * with an update for those that are left. */
static bool goes_on(const struct phase_stage *stage, const struct item *item)
{
    const unsigned marks = item->work->marks;
    const bool begun = stage->batches.count > 0 || step_has_begun(stage->next);
    return item->stage != SS_STAGE_DATA && stage->setup.count == 0 &&
           ((marks & (WORK_TRAIN_FORWARD | WORK_BACKWARD | WORK_TRAIN_COMPUTE)) ||
            (begun && (marks & WORK_UPDATE)));
}

/* After the end of an iterator: true if the item waits with it until that is known. */
static bool wait_with_end(struct phase_stage *stage, const struct item *item)
{
    if (goes_on(stage, item)) {
        pass_batches(stage);
        hold_pass_all(&stage->ended, add_held, stage);
        return false;
    }
    if (item->stage == SS_STAGE_DATA || item->stage == SS_STAGE_SETUP ||
        (item->work->marks & (WORK_LEADS | WORK_UPDATE))) {
        end_step(stage);
        return false;
    }
    hold_extend(&stage->ended, item->work, item->end_ns);
    return true;
}

static void pass_input(struct phase_stage *stage, enum item_input input)
{
    struct item item = {.kind = ITEM_INPUT, .flags = (uint16_t)input};
    step_item(stage->next, &item);
}

/* Two loops of a process that compute at once: whose the waits were is not known. */
static void share_data(struct phase_stage *stage, const struct model_process_facts *process,
                       const struct item *item)
{
    struct phase_stage *other = process->computing;
    if (other && other != stage && process->compute_end_ns > item->start_ns) {
        pass_input(stage, INPUT_SHARED);
        pass_input(other, INPUT_SHARED);
    }
}

static void move_overlay(struct item *item, struct overlays *overlays, enum ss_stage stage)
{
    int64_t taken = overlay_take(overlays, item->start_ns, item->end_ns);
    int64_t compute = item->work->stage_ns[SS_STAGE_COMPUTE];
    taken = taken < compute ? taken : compute;
    work_put(item->work, SS_STAGE_COMPUTE, -taken);
    work_put(item->work, stage, taken);
}

/* What other threads waited for data, or compiled, inside this call (step model 1.7). */
static void move_overlays(struct phase_stage *stage, struct item *item)
{
    struct model_process_facts *process = &stage->thread->model->processes[stage->thread->process];
    const bool trains = item->stage == SS_STAGE_COMPUTE && (item->work->marks & WORK_TRAIN_COMPUTE);
    if (trains || item->stage == SS_STAGE_DATA)
        overlay_add_batches(&process->waits, item);
    if (!trains)
        return;
    share_data(stage, process, item);
    /* Several steps, or several replicas: while one waits for its batch, others need not. */
    if (item->work->batches_inside > 1 ||
        (item->work->batches_inside > 0 && item->work->train_steps > 1))
        pass_input(stage, INPUT_BESIDE);
    move_overlay(item, &process->waits, SS_STAGE_DATA);
    move_overlay(item, &process->compiles, SS_STAGE_COMPILE);
    process->compute_end_ns = item->end_ns;
    process->computing = stage;
}

static bool starts_phase(const struct phase_stage *stage, const struct item *item)
{
    const unsigned marks = item->work->marks;
    const unsigned seen = stage->open.work.marks;
    if (!(marks & WORK_LEADS))
        return false;
    if (!stage->is_open || item->stage == SS_STAGE_DATA || (seen & WORK_UPDATE))
        return true;
    const bool first =
        step_is_first(stage->next); /* step model 4.3: what is before it is start-up */
    if (first && stage->setup.count > 0)
        return true;
    if (seen & (TRAINS | WORK_DATA | WORK_TRAIN_FORWARD))
        return false;
    if ((marks & (TRAINS | WORK_TRAIN_FORWARD)) && is_quiet_evaluation(stage, seen))
        return true;
    return (first && (marks & (WORK_TRAIN_FORWARD | WORK_TRAIN_COMPUTE))) ||
           ((seen & WORK_EVAL_CALL) && (marks & WORK_TRAIN_COMPUTE)); /* trains again */
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A mark, or the end of an epoch or loop, was inside the item: its time before that is in the step
 * before, and spans are not split. */
static void clip(const struct phase_stage *stage, struct item *item)
{
    if (item->start_ns < stage->point_ns) {
        int64_t before = stage->point_ns - item->start_ns;
        int64_t duration = item->end_ns - item->start_ns;
        work_shorten(item->work, item->stage, before < duration ? before : duration);
    }
    item->start_ns = later(item->start_ns, stage->last_ns);
    item->end_ns = later(item->end_ns, stage->last_ns);
}

/* A jitted function that does not train, called in the middle of a cycle, is cut out by itself. */
static void cut_call(struct phase_stage *stage, struct item *item)
{
    const unsigned seen = stage->is_open ? stage->open.work.marks : 0;
    if ((item->work->marks & WORK_EVAL_CALL) && (seen & TRAINS) && !(seen & WORK_UPDATE)) {
        int64_t time_ns = work_total(item->work);
        work_clear(item->work);
        work_set_cut(item->work, CUT_EVAL, time_ns);
        calls_cut(stage->calls, item->start_ns, item->end_ns, CUT_EVAL);
    }
}

/* Gradients that are set to zero are the next step's, no part of the evaluation before it. */
static void end_quiet(struct phase_stage *stage, const struct item *item)
{
    if (item->stage == SS_STAGE_OPTIMIZER && stage->is_open &&
        is_quiet_evaluation(stage, stage->open.work.marks)) {
        close_phase(stage);
        close_eval(stage);
    }
}

static void take_span(struct phase_stage *stage, struct item *item)
{
    move_overlays(stage, item);
    clip(stage, item);
    cut_call(stage, item);
    stage->last_ns = item->end_ns;
    if (stage->ended.count > 0 && wait_with_end(stage, item))
        return;
    const bool failed = item->flags & SS_FLAG_FAILED;
    if (failed && (item->stage == SS_STAGE_DATA || item->stage == SS_STAGE_COMPUTE)) {
        take_failed(stage, item);
    } else if (item->stage == SS_STAGE_SETUP ||
               (stage->setup.count > 0 && !(item->work->marks & (WORK_LEADS | WORK_UPDATE)))) {
        hold_stretch(&stage->setup, item); /* with what comes before its first batch */
    } else if (starts_phase(stage, item)) {
        open_phase(stage, item);
        add_work(stage, item->work, item->end_ns);
    } else {
        drop_setup(stage);
        end_quiet(stage, item);
        add_work(stage, item->work, item->end_ns);
    }
}

void phase_item(struct phase_stage *stage, struct item *item)
{
    switch (item->kind) {
    case ITEM_SPAN:
        take_span(stage, item);
        return;
    case ITEM_MARK:
    case ITEM_EPOCH_END:
    case ITEM_LOOP_END:
        settle_at(stage, item->start_ns);
        break;
    case ITEM_LOOP_BEGIN:
        settle_at(stage, item->start_ns);
        stage->quiet = (struct quiet_runs){0};
        item->start_ns = stage->last_ns;
        break;
    case ITEM_LOOP_SPLIT:
        settle(stage);
        stage->quiet = (struct quiet_runs){0};
        break;
    case ITEM_FLUSH:
        settle(stage);
        break;
    default:
        break;
    }
    step_item(stage->next, item);
}

bool phase_init(struct phase_stage *stage, struct thread *thread, struct call_log *calls,
                struct step_stage *next)
{
    const struct item phase = {.kind = ITEM_PHASE};
    *stage = (struct phase_stage){
        .next = next, .thread = thread, .calls = calls, .last_ns = INT64_MIN, .open.item = phase};
    stage->open.item.work = &stage->open.work;
    stage->open.item.before = &stage->open.before;
    return hold_init(&stage->batches, 1) && hold_init(&stage->setup, 1) &&
           hold_init(&stage->ended, 1);
}

void phase_release(struct phase_stage *stage)
{
    hold_release(&stage->batches);
    hold_release(&stage->setup);
    hold_release(&stage->ended);
}
