/* Loops: their steps as series, their epochs, and the books of their thread. */
#include "model/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

enum { WINDOW_LONGEST = 1000 }; /* steps without a sync: the window ends all the same */

/* Tells the samples of replicas apart, whatever the numbers of their lanes. */
static uint64_t series_source(const struct thread *thread)
{
    const struct model_process_facts *process =
        &thread->model->processes[thread->process];
    uint64_t replica = process->known ? (uint64_t)(process->facts.rank + 1) : 0;
    return replica << 32 | thread->tid;
}

static struct loop *new_loop(struct track *track, int64_t begin_ns)
{
    struct loop *loop = calloc(1, sizeof *loop);
    if (!loop || series_init(&loop->series, series_source(track->thread)) != SS_E_OK) {
        free(loop);
        track->thread->model->error = SS_E_NOMEM;
        return NULL;
    }
    loop->process = track->thread->process;
    loop->lane = track->thread->lane;
    loop->tid = track->thread->tid;
    loop->begin_ns = begin_ns;
    memcpy(loop->plan, track->plan, sizeof loop->plan);
    *(track->last_loop ? &track->last_loop->next : &track->loops) = loop;
    track->last_loop = loop;
    track->loop = loop;
    track->loop_count++;
    return loop;
}

/* A script that trains thousands of models must not fill the memory: the shortest loop goes, its
 * time stays in the books of the thread. */
static void forget_shortest(struct track *track)
{
    struct loop **shortest = &track->loops;
    for (struct loop **link = &track->loops; *link; link = &(*link)->next) {
        shortest = (*link)->step_ns < (*shortest)->step_ns ? link : shortest;
    }
    struct loop *loop = *shortest;
    if (!loop) {
        return;
    }
    *shortest = loop->next;
    if (track->last_loop == loop) {
        track->last_loop = NULL;
        for (struct loop *last = track->loops; last; last = last->next) {
            track->last_loop = last;
        }
    }
    track->thread->model->forgotten_loops += loop->steps > 0;
    track->thread->model->negative_ns += loop->negative_ns;
    loop_free(loop);
    track->loop_count--;
}

void loop_free(struct loop *loop)
{
    series_release(&loop->series);
    calls_release(&loop->calls);
    free(loop);
}

int64_t loop_first_ns(const struct loop *loop)
{
    return loop->explicit_begin ? loop->begin_ns : loop->first_step_ns;
}

struct loop *loop_current(struct track *track, int64_t start_ns)
{
    return track->loop ? track->loop : new_loop(track, start_ns);
}

bool loop_has_owner(const struct loop *loop, uint32_t owner)
{
    for (int i = 0; i < loop->owner_count; i++) {
        if (loop->owners[i] == owner) {
            return true;
        }
    }
    return false;
}

void loop_add_owner(struct loop *loop, uint32_t owner)
{
    if (owner && loop->owner_count < OWNERS_MAX && !loop_has_owner(loop, owner)) {
        loop->owners[loop->owner_count++] = owner;
    }
}

static void count_epoch(struct loop *loop, int64_t steps, int64_t time_ns,
                        int64_t eval_ns)
{
    if (loop->epoch_open) {
        struct epoch_row *row = &loop->epochs[(loop->epoch_count - 1) % EPOCHS_KEPT];
        row->steps += steps;
        row->step_ns += time_ns;
        row->eval_ns += eval_ns;
    }
}

/* Evaluation outside of steps, as at the end of an epoch. */
static void count_gap_eval(struct track *track)
{
    int64_t eval_ns = track->gap.cut_ns[CUT_EVAL];
    if (track->loop && eval_ns > track->gap_eval_ns) {
        count_epoch(track->loop, 0, 0, eval_ns - track->gap_eval_ns);
    }
    track->gap_eval_ns = eval_ns;
}

/* Takes at most what is left. */
static int64_t take(int64_t *left, int64_t wanted)
{
    int64_t taken = wanted < *left ? wanted : *left;
    *left -= taken;
    return taken;
}

/* What the loop itself has of a gap that lies inside of it. */
static void close_loop_gap(struct loop *loop, const struct track *track,
                           const int64_t *cut_ns, int64_t compile_ns, int64_t between_ns)
{
    for (int i = 0; i < CUT_COUNT; i++) {
        loop->cut_ns[i] += cut_ns[i];
    }
    loop->compile_ns += compile_ns;
    loop->between_ns += between_ns;
    if (loop->steps > 0) {
        work_add(&loop->between, &track->gap);
    }
}

static void book_samples(const struct track *track, int64_t until_ns, bool in_step)
{
    if (UNLIKELY(track->thread->hot != NULL)) {
        hot_book(&track->thread->model->hot, track->thread->hot, until_ns, in_step);
    }
}

/* Puts the time from the cursor on into the books: cuts and compilation by what they are, the rest
 * as `kind`. */
void loop_close_gap(struct track *track, int64_t until_ns, enum model_segment kind)
{
    struct loop *loop = track->loop;
    int64_t left = until_ns - track->cursor_ns;
    int64_t cut_ns[CUT_COUNT];
    for (int i = 0; i < CUT_COUNT; i++) {
        cut_ns[i] = take(&left, track->gap.cut_ns[i]);
        track->books[SEGMENT_EVAL_NS + i] += cut_ns[i];
    }
    bool before_steps = kind == SEGMENT_STARTUP_NS || kind == SEGMENT_IDLE_NS;
    int64_t compile_ns =
        before_steps ? take(&left, track->gap.stage_ns[SS_STAGE_COMPILE]) : 0;
    track->books[SEGMENT_COMPILE_NS] += compile_ns;
    track->books[kind] += left;
    if (loop && (loop->steps > 0 || loop->explicit_begin)) {
        close_loop_gap(loop, track, cut_ns, compile_ns,
                       kind == SEGMENT_BETWEEN_NS ? left : 0);
        calls_book(track, until_ns, loop->steps > 0 ? CALLED_BETWEEN : CALLED_BEFORE,
                   true);
    } else {
        calls_book(track, until_ns, CALLED_NOWHERE, true);
    }
    book_samples(track, until_ns, false);
    count_gap_eval(track);
    work_clear(&track->gap);
    track->gap_eval_ns = 0;
    track->cursor_ns = until_ns;
    track->booked = true;
}

static enum model_segment gap_before(const struct track *track, const struct loop *loop)
{
    if (loop && loop->steps > 0) {
        return SEGMENT_BETWEEN_NS;
    }
    bool inside = loop && loop->explicit_begin;
    return track->had_loop && !inside ? SEGMENT_IDLE_NS : SEGMENT_STARTUP_NS;
}

static void forget_tables(struct loop *loop)
{
    for (int i = 0; i < EPOCHS_KEPT; i++) {
        loop->epochs[i].steps = loop->epochs[i].step_ns = 0;
    }
    calls_release(&loop->calls);
    loop->recompiles = (struct recompiles){0};
}

/* All steps so far were none: their time is what it would have been without them. */
static void forget_steps(struct track *track, struct loop *loop)
{
    track->books[SEGMENT_STEADY_NS] -= loop->step_ns;
    track->books[SEGMENT_BETWEEN_NS] -= loop->between_ns;
    int64_t time_ns = loop->step_ns + loop->between_ns;
    loop->steps = 0;
    track->books[gap_before(track, loop)] += time_ns;
    series_release(&loop->series);
    if (series_init(&loop->series, series_source(track->thread)) != SS_E_OK) {
        track->thread->model->error = SS_E_NOMEM;
    }
    loop->updates = loop->batches = loop->samples = 0;
    loop->usual_samples = loop->usual_votes = 0;
    loop->flagged_steps = loop->step_ns = loop->between_ns = 0;
    loop->window_steps_max = 0;
    loop->synced = false;
    memset(&loop->window, 0, sizeof loop->window);
    work_clear(&loop->between);
    forget_tables(loop);
    if (!loop->explicit_begin) { /* it has not begun yet */
        memset(loop->cut_ns, 0, sizeof loop->cut_ns);
        loop->compile_ns = 0;
    }
}

/* A source that wins later makes what was counted before it start-up. */
void loop_raise_source(struct track *track, enum step_source source)
{
    struct loop *loop = track->loop;
    if (loop->steps > 0) {
        forget_steps(track, loop);
    }
    loop->owner_count = 0;
    loop->last_owner = 0;
    loop->out_of_turn = false;
    loop->turns = loop->repeats = 0;
    loop->source = source;
    loop->async = source == SOURCE_JIT;
}

void loop_begin(struct track *track, const struct ss_record *record)
{
    struct model *model = track->thread->model;
    if (track->loop && track->loop->explicit_begin) {
        track->loop_depth++; /* a loop inside a loop is part of it */
        return;
    }
    jit_turn_off(track); /* calls before it prepare something */
    phase_point(track, record->time_ns);
    step_close(track);
    loop_end(track, track->cursor_ns, false);
    loop_close_gap(track, track->last_ns, gap_before(track, NULL));
    struct loop *loop = new_loop(track, track->last_ns);
    if (loop) {
        loop->explicit_begin = true;
        loop->name =
            model_names_find(&model->names, track->thread->process, record->name);
        track->loop_depth = 0;
    }
}

static void close_window(struct track *track, bool counted)
{
    struct loop *loop = track->loop;
    struct series_window *window = &loop->window;
    if (window->steps == 0) {
        return;
    }
    if (UNLIKELY(track->thread->model->seen_window != NULL)) {
        observe_window(track, counted);
    }
    if (!counted) {
        loop->flagged_steps += window->steps;
    } else {
        if (window->steps > loop->window_steps_max) {
            loop->window_steps_max = window->steps;
        }
        if (series_add(&loop->series, window)) {
            calls_merge_chunks(&loop->calls);
        }
    }
    memset(window, 0, sizeof *window);
    loop->window_flagged = false;
}

void loop_end(struct track *track, int64_t now_ns, bool is_explicit)
{
    struct loop *loop = track->loop;
    if (loop) {
        /* Calls that nobody waited for: when their work was done is not known. */
        close_window(track, !loop->window_flagged && !loop->synced);
        loop->end_ns = now_ns;
        loop->ended = true;
        track->had_loop = track->had_loop || loop->steps > 0;
        if (is_explicit && loop->steps > 0) {
            loop_close_gap(track, now_ns, SEGMENT_BETWEEN_NS);
        }
        track->loop = NULL;
        if (track->loop_count > LOOPS_KEPT) {
            forget_shortest(track);
        }
    }
    track->saw_update = track->seen_setup = false;
    jit_clear(track);
}

static void add_to_window(struct track *track, const struct step *step, int64_t time_ns,
                          const int64_t *stage_ns, int64_t steps)
{
    struct loop *loop = track->loop;
    struct series_window *window = &loop->window;
    if (window->steps == 0) {
        window->start_ns = step->start_ns;
    }
    window->steps += steps;
    window->time_ns += time_ns;
    window->stages |= step->work.stages;
    for (uint32_t left = window->stages; left; left &= left - 1) {
        const int i = LOWEST_BIT(left);
        window->stage_ns[i] += stage_ns[i];
    }
    window->samples += step->samples;
    window->batches += work_batches(&step->work);
    window->bytes += step->work.bytes;
    bool sync = step->work.marks & WORK_SYNC;
    loop->synced = loop->synced || (loop->async && sync);
    if (!loop->async || sync || window->steps >= WINDOW_LONGEST) {
        close_window(track, !loop->window_flagged);
    }
}

bool loop_open_step(struct track *track, int64_t start_ns)
{
    struct loop *loop = loop_current(track, start_ns);
    if (!loop) {
        return false;
    }
    loop_close_gap(track, start_ns, gap_before(track, loop));
    if (loop->steps == 0) {
        loop->first_step_ns = start_ns;
    }
    return true;
}

/* What no span covers is `other`. Stages that are more than their step are an error of ours: shown,
 * and taken off the largest. */
static void balance(struct loop *loop, struct step *step)
{
    int64_t rest = step->end_ns - step->start_ns - work_total(&step->work);
    if (rest < 0) {
        loop->negative_ns -= rest;
        work_shorten(&step->work, SS_STAGE_OTHER, -rest);
        rest = 0;
    }
    work_put(&step->work, SS_STAGE_OTHER, rest);
}

/* Books what is no part of the step itself. Returns the step's own time. */
static int64_t cut_out(struct track *track, struct loop *loop, struct step *step)
{
    int64_t time_ns = step->end_ns - step->start_ns;
    struct work *work = &step->work;
    for (int i = 0; i < CUT_COUNT; i++) {
        track->books[SEGMENT_EVAL_NS + i] += work->cut_ns[i];
        loop->cut_ns[i] += work->cut_ns[i];
        time_ns -= work->cut_ns[i];
    }
    if (loop->steps == 0) { /* rule 11 */
        int64_t early_ns = work->stage_ns[SS_STAGE_COMPILE] - work->late_compile_ns;
        track->books[SEGMENT_COMPILE_NS] += early_ns;
        loop->compile_ns += early_ns;
        time_ns -= early_ns;
        work_put(work, SS_STAGE_COMPILE, -early_ns);
    }
    return time_ns;
}

static bool is_disturbed(const struct track *track, const struct step *step)
{
    const struct thread *thread = track->thread;
    const struct model_process_facts *process =
        &thread->model->processes[thread->process];
    return (step->work.marks & (WORK_PERTURBED | WORK_UNFINISHED)) ||
           (track->gap_end_ns > step->start_ns && track->gap_start_ns < step->end_ns) ||
           (process->perturbed_end_ns > step->start_ns &&
            process->perturbed_start_ns < step->end_ns);
}

/* Boyer and Moore: what most have is left over, whatever the others are. */
static void vote(struct loop *loop, int64_t samples)
{
    if (loop->usual_votes == 0) {
        loop->usual_samples = samples;
    }
    loop->usual_votes += samples == loop->usual_samples ? 1 : -1;
}

void loop_add_step(struct track *track, struct step *step, bool has_end)
{
    struct loop *loop = track->loop;
    balance(loop, step);
    step->samples = step->samples ? step->samples : step->work.samples;
    int64_t time_ns = cut_out(track, loop, step);
    int64_t steps = loop->source == SOURCE_TRAINER && step->work.train_steps > 0
                        ? step->work.train_steps
                        : 1;
    bool counted = has_end && !is_disturbed(track, step);
    if (!has_end && !loop->synced) {
        close_window(track, !loop->window_flagged); /* those before it had an end */
    }
    if (track->thread->model->seen) {
        observe_step(track->thread->model, loop, step, steps, time_ns, counted);
    }
    calls_book(track, step->end_ns, CALLED_IN_STEP, counted);
    book_samples(track, step->end_ns, true);
    track->books[SEGMENT_STEADY_NS] += time_ns;
    track->cursor_ns = step->end_ns;
    loop->steps += steps;
    loop->step_ns += time_ns;
    loop->updates += step->work.updates;
    loop->batches += work_batches(&step->work);
    loop->samples += step->samples;
    vote(loop, step->samples / steps);
    count_epoch(loop, steps, time_ns, step->work.cut_ns[CUT_EVAL]);
    loop->window_flagged = loop->window_flagged || !counted;
    add_to_window(track, step, time_ns, step->work.stage_ns, steps);
}

static void end_epoch(struct track *track, int64_t now_ns)
{
    phase_point(track, now_ns);
    step_early_end(track, now_ns, false);
    step_end_turns(track);
    struct loop *loop = track->loop;
    count_gap_eval(track);
    if (loop && loop->epoch_open) {
        loop->epochs[(loop->epoch_count - 1) % EPOCHS_KEPT].end_ns = now_ns;
        loop->epoch_open = false;
    }
}

void loop_epoch(struct track *track, const struct item *item)
{
    if (item->kind == SS_KIND_EPOCH_END) {
        end_epoch(track, item->end_ns);
        return;
    }
    step_end_turns(track);
    struct loop *loop = loop_current(track, item->start_ns);
    if (loop) {
        count_gap_eval(track);
        struct epoch_row row = {.number = (int64_t)item->epoch,
                                .start_ns = item->start_ns};
        loop->epochs[loop->epoch_count++ % EPOCHS_KEPT] = row;
        loop->epoch_open = true;
    }
}
