#include "model/loop.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/saturate.h"
#include "model/arms.h"
#include "model/hot.h"
#include "model/model_state.h"
#include "model/observe.h"
#include "model/outside.h"
#include "model/thread.h"

enum {
    WINDOW_LONGEST = 1000, /* steps without a sync: the window ends all the same */
    QUEUE_LONGEST = 32,    /* the same, of a loop that never waits: more calls XLA does not take
                              before the oldest of them is done (step model 7.1) */
    LOOPS_KEPT = 64        /* of a thread; beyond that the shortest are only in the books */
};

/* Tells the replicas apart, whatever the numbers of their lanes. */
static uint64_t replica_of(const struct thread *thread)
{
    const struct model_process_facts *process = &thread->model->processes[thread->process];
    uint64_t replica = process->known ? (uint64_t)(process->facts.rank + 1) : 0;
    return replica << 32 | thread->tid;
}

static void set_open(struct loop_stage *stage, struct loop *loop)
{
    stage->open = loop;
    stage->calls->loop = loop;
}

/* NULL: no memory. */
static struct loop *open_loop(struct loop_stage *stage, int64_t begin_ns)
{
    const struct thread *thread = stage->thread;
    struct loop *loop = calloc(1, sizeof *loop);
    if (!loop || series_init(&loop->series, replica_of(thread)) != SS_E_OK) {
        free(loop);
        thread->model->error = SS_E_NOMEM;
        return NULL;
    }
    loop->process = thread->process;
    loop->lane = thread->lane;
    loop->tid = thread->tid;
    loop->begin_ns = begin_ns;
    loop->parts = 1;
    loop->part[0].start_ns = begin_ns;
    memcpy(loop->plan, stage->plan, sizeof loop->plan);
    *(stage->last ? &stage->last->next : &stage->loops) = loop;
    stage->last = loop;
    stage->count++;
    set_open(stage, loop);
    return loop;
}

/* A script that trains thousands of models must not fill the memory: the shortest loop goes, its
 * time stays in the books of the thread. */
static void forget_shortest(struct loop_stage *stage)
{
    struct loop **shortest = &stage->loops;
    for (struct loop **link = &stage->loops; *link; link = &(*link)->next)
        shortest = (*link)->step_ns < (*shortest)->step_ns ? link : shortest;
    struct loop *loop = *shortest;
    if (!loop)
        return;
    *shortest = loop->next;
    if (stage->last == loop) {
        stage->last = NULL;
        for (struct loop *last = stage->loops; last; last = last->next)
            stage->last = last;
    }
    stage->thread->model->forgotten_loops += loop->steps > 0;
    stage->thread->model->negative_ns += loop->negative_ns;
    loop_free(loop);
    stage->count--;
}

static struct loop *present_loop(struct loop_stage *stage, int64_t start_ns)
{
    return stage->open ? stage->open : open_loop(stage, start_ns);
}

static void book_samples(const struct loop_stage *stage, int64_t until_ns, bool in_step)
{
    if (UNLIKELY(stage->thread->hot != NULL))
        hot_book(&stage->thread->model->hot, stage->thread->hot, until_ns, in_step);
}

/* Ranks know a step by its number, which counts those in no statistics too. */
static void share_window(const struct loop_stage *stage, struct loop *loop)
{
    const struct thread *thread = stage->thread;
    const struct model_process_facts *process = &thread->model->processes[thread->process];
    const struct series_window *window = &loop->window;
    const double steps = (double)window->steps, comm_ns = (double)window->stage_ns[SS_STAGE_COMM];
    const struct shared_step step = {.number = loop->steps - window->steps,
                                     .own_ns = ((double)window->time_ns - comm_ns) / steps,
                                     .comm_ns = comm_ns / steps};

    if (process->known && process->facts.rank >= 0)
        shared_steps_add(&loop->shared, window->start_ns, &step);
}

static void close_window(struct loop_stage *stage, bool counted)
{
    struct loop *loop = stage->open;
    struct series_window *window = &loop->window;
    if (window->steps == 0)
        return;
    if (UNLIKELY(stage->thread->model->seen_window != NULL))
        observe_window(stage->thread->model, loop, stage->cursor_ns, counted);
    if (!counted) {
        loop->flagged_steps += window->steps;
    } else {
        if (window->steps > loop->window_steps_max)
            loop->window_steps_max = window->steps;
        share_window(stage, loop);
        if (series_add(&loop->series, window))
            calls_merge_chunks(&loop->calls);
    }
    memset(window, 0, sizeof *window);
    loop->window_flagged = false;
}

/* A wait, which is the end of all steps before it. What a queue still held was part of windows that
 * have ended. */
static void close_at_sync(struct loop_stage *stage)
{
    struct loop *loop = stage->open;
    const bool counted = !loop->window_flagged && !loop->queued;
    loop->synced = true;
    loop->queued = false;
    close_window(stage, counted);
}

/* A loop that has not waited in this many steps never does. */
static bool is_full(const struct loop *loop)
{
    const bool is_queue = loop->source == SOURCE_JIT && !loop->synced && loop->series.steps > 0;
    return loop->window.steps >= (is_queue ? QUEUE_LONGEST : WINDOW_LONGEST);
}

/* Calls that return early were worked on until this wait, which their iterator's end or that of the
 * epoch came before: it is theirs (step model 7.1). */
static void add_late_wait(struct loop_stage *stage, struct work *work, int64_t until_ns)
{
    struct loop *loop = stage->open;
    if (!loop || !loop->async || loop->window.steps == 0 || !(work->marks & WORK_SYNC))
        return;
    int64_t left_ns = until_ns - stage->cursor_ns;
    const int64_t waited_ns = outside_take(&left_ns, work->stage_ns[SS_STAGE_SYNC]);
    work_put(work, SS_STAGE_SYNC, -waited_ns);
    loop->window.stage_ns[SS_STAGE_SYNC] += waited_ns;
    loop->window.stages |= 1u << SS_STAGE_SYNC;
    loop->window.time_ns += waited_ns;
    loop->step_ns += waited_ns;
    loop_last_part(loop)->step_ns += waited_ns;
    stage->books[SEGMENT_STEADY_NS] += waited_ns;
    stage->cursor_ns += waited_ns;
    close_at_sync(stage);
}

/* Puts the time from the cursor on into the books; the item says what was seen in it. */
static void book_outside(struct loop_stage *stage, const struct item *item, int64_t until_ns,
                         enum model_segment kind)
{
    struct loop *loop = stage->open;
    add_late_wait(stage, item->before, until_ns);
    const struct outside outside = outside_split(item->before, until_ns - stage->cursor_ns, kind);
    outside_add(stage->books, &outside, kind);
    if (loop && (loop->steps > 0 || loop->explicit_begin)) {
        loop_add_outside(loop, item->before, &outside, kind);
        calls_book(stage->calls, until_ns, loop->steps > 0 ? CALLED_BETWEEN : CALLED_BEFORE, true);
    } else {
        calls_book(stage->calls, until_ns, CALLED_NOWHERE, true);
    }
    book_samples(stage, until_ns, false);
    if (loop)
        loop_count_epoch(loop, 0, 0, item->eval_ns);
    stage->cursor_ns = until_ns;
    stage->booked = true;
}

void loop_books(const struct loop_stage *stage, const struct work *outside, int64_t end_ns,
                int64_t books[MODEL_SEGMENT_COUNT])
{
    const enum model_segment kind = loop_has_steps(stage) ? SEGMENT_STEADY_NS
                                    : stage->had_loop     ? SEGMENT_TEARDOWN_NS
                                                          : SEGMENT_STARTUP_NS;
    const struct outside rest = outside_split(outside, end_ns - stage->cursor_ns, kind);
    memcpy(books, stage->books, sizeof stage->books);
    outside_add(books, &rest, kind);
}

static enum model_segment outside_before(const struct loop_stage *stage, const struct loop *loop)
{
    if (loop && loop->steps > 0)
        return SEGMENT_BETWEEN_NS;
    bool inside = loop && loop->explicit_begin;
    return stage->had_loop && !inside ? SEGMENT_IDLE_NS : SEGMENT_STARTUP_NS;
}

/* All steps so far were none: their time is what it would have been without them. */
static void forget_steps(struct loop_stage *stage, struct loop *loop)
{
    stage->books[SEGMENT_STEADY_NS] -= loop->step_ns;
    stage->books[SEGMENT_BETWEEN_NS] -= loop->between_ns;
    int64_t time_ns = loop->step_ns + loop->between_ns;
    loop->steps = 0;
    stage->books[outside_before(stage, loop)] += time_ns;
    series_release(&loop->series);
    shared_steps_release(&loop->shared);
    if (series_init(&loop->series, replica_of(stage->thread)) != SS_E_OK)
        stage->thread->model->error = SS_E_NOMEM;
    loop->updates = loop->batches = loop->samples = 0;
    loop->usual_samples = loop->usual_votes = 0;
    loop->flagged_steps = loop->step_ns = loop->between_ns = 0;
    loop->window_steps_max = 0;
    loop->synced = loop->queued = false;
    memset(&loop->window, 0, sizeof loop->window);
    work_clear(&loop->between);
    loop_forget_tables(loop);
    if (!loop->explicit_begin) { /* it has not begun yet */
        memset(loop->cut_ns, 0, sizeof loop->cut_ns);
        loop->compile_ns = 0;
    }
}

/* A source that wins later makes what was counted before it start-up. */
static void take_source(struct loop_stage *stage, const struct item *item)
{
    struct loop *loop = present_loop(stage, item->start_ns);
    if (!loop)
        return;
    const bool goes_on = loop->resumed && loop->source == (enum step_source)item->owner;
    loop->resumed = false;
    if (goes_on)
        return;
    if (loop->steps > 0)
        forget_steps(stage, loop);
    loop->source = (enum step_source)item->owner;
    loop->async = loop->source == SOURCE_JIT ||
                  (loop->source == SOURCE_TRAINER &&
                   stage->thread->model->processes[loop->process].calls_return_early);
}

static void close_loop(struct loop_stage *stage, int64_t now_ns)
{
    struct loop *loop = stage->open;
    /* Calls that nothing waited for: when their work was done is not known. */
    close_window(stage, !loop->window_flagged && !loop->synced);
    loop->end_ns = loop_last_part(loop)->end_ns = now_ns;
    loop->ended = true;
    stage->had_loop = stage->had_loop || loop->steps > 0;
}

static void leave_loop(struct loop_stage *stage)
{
    set_open(stage, NULL);
    if (stage->count > LOOPS_KEPT)
        forget_shortest(stage);
}

/* It was not announced, and ends with its last step. */
static void end_loop(struct loop_stage *stage)
{
    if (stage->open) {
        close_loop(stage, stage->cursor_ns);
        leave_loop(stage);
    }
}

/* The last loop, if the one that begins is a further part of it (step model 5.3); NULL: it is not.
 */
static struct loop *loop_to_resume(const struct loop_stage *stage, const struct item *begin)
{
    const struct model_names *names = &stage->thread->model->names;
    struct loop *last = stage->last;
    const bool is_same = last && last->explicit_begin && last->steps > 0 && !stage->paused &&
                         last->name == begin->owner && begin->owner > 0;
    return is_same && names->name[begin->owner].object[0] ? last : NULL;
}

static void resume_loop(struct loop_stage *stage, struct loop *loop, const struct item *begin)
{
    set_open(stage, loop);
    loop->ended = false;
    loop->resumed = true;
    loop->parts++;
    *loop_last_part(loop) = (struct loop_part){.start_ns = begin->start_ns};
    loop->earlier_steps = loop->steps;
    loop->earlier_epochs = loop->epoch_count;
    book_outside(stage, begin, begin->start_ns, SEGMENT_BETWEEN_NS);
}

static void take_loop_begin(struct loop_stage *stage, const struct item *item)
{
    end_loop(stage);
    struct loop *resumed = loop_to_resume(stage, item);
    stage->paused = false;
    if (resumed) {
        resume_loop(stage, resumed, item);
        return;
    }
    book_outside(stage, item, item->start_ns, outside_before(stage, NULL));
    struct loop *loop = open_loop(stage, item->start_ns);
    if (loop) {
        loop->explicit_begin = true;
        loop->name = item->owner;
    }
}

static void take_loop_end(struct loop_stage *stage, const struct item *item)
{
    stage->paused = !stage->open || !stage->open->explicit_begin;
    if (!stage->open)
        return;
    memset(stage->plan, 0, sizeof stage->plan); /* what follows was not planned by it */
    if (stage->open->steps > 0)
        add_late_wait(stage, item->before, item->start_ns);
    close_loop(stage, item->start_ns);
    if (stage->open->steps > 0)
        book_outside(stage, item, item->start_ns, SEGMENT_BETWEEN_NS);
    leave_loop(stage);
}

static void add_to_window(struct loop_stage *stage, const struct item *step, int64_t time_ns,
                          int64_t steps)
{
    struct loop *loop = stage->open;
    const struct work *work = step->work;
    struct series_window *window = &loop->window;
    if (window->steps == 0)
        window->start_ns = step->start_ns;
    window->steps += steps;
    window->time_ns += time_ns;
    window->stages |= work->stages;
    for (uint32_t left = window->stages; left; left &= left - 1) {
        const int i = LOWEST_BIT(left);
        window->stage_ns[i] += work->stage_ns[i];
    }
    window->samples += step->of.step.samples;
    window->batches += work_batches(work);
    window->bytes += work->bytes;
    if (!loop->async) {
        close_window(stage, !loop->window_flagged);
    } else if (work->marks & WORK_SYNC) {
        close_at_sync(stage);
    } else if (is_full(loop)) {
        loop->queued = !loop->synced;
        close_window(stage, !loop->window_flagged);
    }
}

static void take_step_begin(struct loop_stage *stage, const struct item *item)
{
    struct loop *loop = stage->open;
    if (!loop)
        return;
    book_outside(stage, item, item->start_ns, outside_before(stage, loop));
    if (loop->steps == 0)
        loop->first_step_ns = item->start_ns;
}

/* What no span covers is `other`. Stages that are more than their step are an error of ours: shown,
 * and taken off the largest. */
static void balance(struct loop *loop, const struct item *step)
{
    int64_t rest;
    if (__builtin_sub_overflow(step->end_ns - step->start_ns, work_total(step->work), &rest))
        rest = -INT64_MAX;
    if (rest < 0) {
        saturate_add(&loop->negative_ns, -rest);
        work_shorten(step->work, SS_STAGE_OTHER, -rest);
        rest = 0;
    }
    work_put(step->work, SS_STAGE_OTHER, rest);
}

/* Books what is no part of the step itself. Returns the step's own time. */
static int64_t cut_out(struct loop_stage *stage, struct loop *loop, const struct item *step)
{
    int64_t time_ns = step->end_ns - step->start_ns;
    struct work *work = step->work;
    for (int i = 0; i < CUT_COUNT; i++) {
        stage->books[SEGMENT_EVAL_NS + i] += work->cut_ns[i];
        loop->cut_ns[i] += work->cut_ns[i];
        time_ns -= work->cut_ns[i];
    }
    if (loop->steps == 0) { /* step model 4.10 */
        int64_t early_ns = work->stage_ns[SS_STAGE_COMPILE] - work->late_compile_ns;
        stage->books[SEGMENT_COMPILE_NS] += early_ns;
        loop->compile_ns += early_ns;
        time_ns -= early_ns;
        work_put(work, SS_STAGE_COMPILE, -early_ns);
    }
    return time_ns;
}

static bool is_disturbed(const struct loop_stage *stage, const struct item *step)
{
    const struct thread *thread = stage->thread;
    const struct model_process_facts *process = &thread->model->processes[thread->process];
    return (step->work->marks & (WORK_PERTURBED | WORK_UNFINISHED)) ||
           (stage->missing_end_ns > step->start_ns && stage->missing_start_ns < step->end_ns) ||
           (process->perturbed_end_ns > step->start_ns &&
            process->perturbed_start_ns < step->end_ns);
}

static void count_step(struct loop *loop, const struct item *step, int64_t steps, int64_t time_ns)
{
    loop->steps += steps;
    loop->step_ns += time_ns;
    loop_last_part(loop)->steps += steps;
    loop_last_part(loop)->step_ns += time_ns;
    loop->updates += step->work->updates;
    loop->batches += work_batches(step->work);
    loop->samples += step->of.step.samples;
    loop_vote(loop, step->of.step.samples / steps);
    loop_count_epoch(loop, steps, time_ns, step->work->cut_ns[CUT_EVAL]);
}

/* The last one that was told before that time. */
static struct input_source source_before(const struct loop_stage *stage, int64_t time_ns)
{
    for (uint64_t i = stage->sources; i > 0 && i + LOOP_SOURCES > stage->sources; i--) {
        const struct told_source *told = &stage->source[(i - 1) % LOOP_SOURCES];
        if (told->time_ns < time_ns)
            return told->source;
    }
    return (struct input_source){.kind = INPUT_UNKNOWN};
}

static void take_step(struct loop_stage *stage, struct item *step)
{
    struct loop *loop = stage->open;
    struct work *work = step->work;
    if (!loop)
        return;
    if (loop->steps == 0)
        loop->batches_from = source_before(stage, step->end_ns);
    balance(loop, step);
    step->of.step.samples = step->of.step.samples ? step->of.step.samples : work->samples;
    int64_t time_ns = cut_out(stage, loop, step);
    int64_t steps = loop->source == SOURCE_TRAINER && work->train_steps > 0 ? work->train_steps : 1;
    /* Steps before it wait for its wait: that is the end of all of them. */
    const bool has_end = step->of.step.has_end ||
                         (loop->async && loop->window.steps > 0 && (work->marks & WORK_SYNC));
    bool counted = has_end && !is_disturbed(stage, step);
    if (!has_end && !loop->synced)
        close_window(stage, !loop->window_flagged); /* those before it had an end */
    if (UNLIKELY(stage->thread->arms != NULL))
        counted = arms_step(stage->thread->arms, step, steps, time_ns, counted);
    if (stage->thread->model->seen)
        observe_step(stage->thread, loop, step, steps, time_ns, counted);
    calls_book(stage->calls, step->end_ns, CALLED_IN_STEP, counted);
    book_samples(stage, step->end_ns, true);
    stage->books[SEGMENT_STEADY_NS] += time_ns;
    stage->cursor_ns = step->end_ns;
    count_step(loop, step, steps, time_ns);
    loop->window_flagged = loop->window_flagged || !counted;
    add_to_window(stage, step, time_ns, steps);
}

static void take_epoch_begin(struct loop_stage *stage, const struct item *item)
{
    struct loop *loop = present_loop(stage, item->start_ns);
    if (loop) {
        struct epoch_row row = {.number = (int64_t)item->of.epoch, .start_ns = item->start_ns};
        loop_count_epoch(loop, 0, 0, item->eval_ns);
        loop->epochs[loop->epoch_count++ % EPOCHS_KEPT] = row;
        loop->epoch_open = true;
    }
}

static void take_epoch_end(const struct loop_stage *stage, const struct item *item)
{
    struct loop *loop = stage->open;
    if (loop && loop->epoch_open) {
        loop_count_epoch(loop, 0, 0, item->eval_ns);
        loop->epochs[(loop->epoch_count - 1) % EPOCHS_KEPT].end_ns = item->end_ns;
        loop->epoch_open = false;
    }
}

/* The step that goes on over missing records is in no statistics. Windows in one step become
 * one. */
static void take_missing(struct loop_stage *stage, const struct item *item)
{
    if (stage->missing_end_ns <= stage->cursor_ns)
        stage->missing_start_ns = item->start_ns;
    stage->missing_end_ns = item->end_ns;
}

static void take_earlier(struct loop_stage *stage, const struct item *item)
{
    if (!stage->booked)
        stage->thread->begin_ns = stage->cursor_ns = item->start_ns;
}

static void take_plan(struct loop_stage *stage, const struct item *item)
{
    memcpy(stage->plan, item->of.plan, sizeof stage->plan);
    struct loop *loop = stage->open;
    if (!loop)
        return;
    memcpy(loop->plan, stage->plan, sizeof stage->plan);
    loop->plan[0] += loop->plan[0] ? (uint64_t)loop->earlier_steps : 0;
    loop->plan[1] += loop->plan[1] ? (uint64_t)loop->earlier_epochs : 0;
}

static void take_fact(struct loop_stage *stage, const struct item *item)
{
    switch (item->kind) {
    case ITEM_PLAN:
        take_plan(stage, item);
        break;
    case ITEM_MISSING:
        take_missing(stage, item);
        break;
    case ITEM_EARLIER:
        take_earlier(stage, item);
        break;
    case ITEM_RECOMPILE:
        if (stage->open)
            recompiles_add(&stage->open->recompiles, item->of.text);
        break;
    case ITEM_INPUT:
        if (stage->open)
            stage->open->input |= item->flags;
        break;
    case ITEM_BATCHES:
        stage->source[stage->sources++ % LOOP_SOURCES] =
            (struct told_source){item->start_ns, input_source_parse(item->of.text)};
        break;
    default:
        break;
    }
}

void loop_item(struct loop_stage *stage, struct item *item)
{
    switch (item->kind) {
    case ITEM_STEP_BEGIN:
        take_step_begin(stage, item);
        break;
    case ITEM_STEP:
        take_step(stage, item);
        break;
    case ITEM_EPOCH_BEGIN:
        take_epoch_begin(stage, item);
        break;
    case ITEM_EPOCH_END:
        take_epoch_end(stage, item);
        break;
    case ITEM_LOOP_BEGIN:
        take_loop_begin(stage, item);
        break;
    case ITEM_LOOP_END:
        take_loop_end(stage, item);
        break;
    case ITEM_LOOP_SPLIT:
    case ITEM_FLUSH:
        end_loop(stage);
        break;
    case ITEM_SOURCE:
        take_source(stage, item);
        break;
    default:
        take_fact(stage, item);
        break;
    }
}

void loop_init(struct loop_stage *stage, struct thread *thread, struct call_log *calls)
{
    *stage = (struct loop_stage){.thread = thread, .calls = calls, .cursor_ns = thread->begin_ns};
}

void loop_release(struct loop_stage *stage)
{
    for (struct loop *loop = stage->loops, *next; loop; loop = next) {
        next = loop->next;
        loop_free(loop);
    }
}
