/* Which phases make a step: rules 2, 3, 4 and 5. The open step has its update; what follows it is
 * the next one, if its own update is by the optimizer or function that made the loop's first. */
#include "model/parts.h"

#include <string.h>

static void start_step(struct step *step, int64_t start_ns)
{
    step->start_ns = step->last_end_ns = start_ns;
    step->end_ns = 0;
    step->samples = 0;
    work_clear(&step->work);
}

/* Train calls of others make no steps of their own. */
static void absorb(struct step *step, const struct step *next)
{
    const int64_t train_steps = step->work.train_steps;
    work_add(&step->work, &next->work);
    step->work.train_steps = train_steps;
    step->last_end_ns = next->last_end_ns;
}

static void complete(struct track *track, int64_t end_ns, bool has_end)
{
    track->has_step = false;
    track->step.end_ns = end_ns;
    loop_add_step(track, &track->step, has_end);
}

static void open_step(struct track *track, const struct step *step)
{
    track->step = *step;
    track->has_step = loop_open_step(track, step->start_ns);
}

static enum step_source source_of(const struct work *work)
{
    return work->marks & WORK_TRAIN_CALL  ? SOURCE_TRAINER
           : work->marks & WORK_OPTIMIZER ? SOURCE_UPDATES
                                          : SOURCE_JIT;
}

static enum step_source present_source(const struct track *track)
{
    return track->loop ? track->loop->source : SOURCE_NONE;
}

/* Whether the update in this work makes steps here; a source that loses only refines stages. */
static bool is_update(const struct track *track, const struct work *work)
{
    return (work->marks & WORK_UPDATE) && source_of(work) >= present_source(track);
}

/* Whether it matters by whom updates are: optimizers, and functions that train. A trainer that announces
 * its loop knows itself what a step is. */
static bool tells_owners_apart(const struct loop *loop)
{
    return loop->owner_count > 0 &&
           (loop->source == SOURCE_UPDATES ||
            (loop->source == SOURCE_TRAINER && !loop->explicit_begin));
}

/* Rule 5 is for loops that nobody announced. */
static bool is_foreign(const struct track *track, const struct work *work)
{
    const struct loop *loop = track->loop;
    return loop && !loop->explicit_begin && tells_owners_apart(loop) &&
           source_of(work) == loop->source && !loop_has_owner(loop, work->update_owner);
}

/* What so many updates have shown stays so for a while: data that ends in the middle of an iteration, which begins
 * anew then, is no other way to train. */
static void note_turn(struct loop *loop, uint32_t owner)
{
    loop->repeats = loop->last_owner == owner ? loop->repeats + 1 : 0;
    loop->out_of_turn =
        loop->out_of_turn ||
        loop->repeats >= (loop->turns < TURNS_DECIDE ? 1 : REPEATS_DECIDE);
    loop->last_owner = owner;
    loop->turns += loop->turns < TURNS_DECIDE;
}

/* A start counts only if the next update is by whom the loop's first was (rule 3). Of functions only while they
 * train strictly by turns: a script may also have one of its own for each tenth step. */
static bool is_counted(const struct loop *loop, const struct work *work)
{
    return !tells_owners_apart(loop) || loop->owners[0] == work->update_owner ||
           (loop->source == SOURCE_TRAINER && loop->out_of_turn);
}

/* Work outside of steps, as that of a step that does not count. */
static void drop_step(struct track *track, bool *has_step, const struct step *step)
{
    if (*has_step) {
        *has_step = false;
        work_add(&track->gap, &step->work);
    }
}

/* The first of a better source: all that was counted before is start-up. */
static void raise_source(struct track *track, enum step_source source)
{
    if (source > present_source(track)) {
        drop_step(track, &track->has_step, &track->step);
        for (int i = 0; i < track->waiting_count; i++) {
            work_add(&track->gap, &track->waiting[i].gap);
            work_add(&track->gap, &track->waiting[i].step.work);
            track->gap_eval_ns += track->waiting[i].gap_eval_ns;
        }
        track->waiting_count = track->foreign_count = 0;
        loop_raise_source(track, source);
    }
}

/* A start with its update. It becomes the open step, or is part of the one that is open. */
static void take_update(struct track *track, const struct step *next)
{
    struct loop *loop = loop_current(track, next->start_ns);
    if (!loop) {
        return;
    }
    raise_source(track, source_of(&next->work));
    track->saw_update = true;
    note_turn(loop, next->work.update_owner);
    if (is_counted(loop, &next->work)) {
        if (track->has_step) {
            complete(track, next->start_ns, true);
        }
        open_step(track, next);
    } else if (track->has_step) {
        absorb(&track->step, next);
    } else {
        work_add(&track->gap, &next->work);
    }
    loop_add_owner(loop, next->work.update_owner);
    if (track->has_step && next->end_ns) {
        complete(track, next->end_ns, true);
    }
}

/* Whether somebody has two updates in a row, in what waits and with the one before it. */
static bool is_out_of_turn(const struct track *track, int count)
{
    uint32_t last = track->loop ? track->loop->last_owner : 0;
    for (int i = 0; i < count; i++) {
        const uint32_t owner = track->waiting[i].step.work.update_owner;
        if (owner == last) {
            return true;
        }
        last = owner;
    }
    return false;
}

static void put_before(struct waiting_update *update, const struct work *gap,
                       int64_t gap_eval_ns)
{
    struct work all = *gap;
    work_add(&all, &update->gap);
    update->gap = all;
    update->gap_eval_ns += gap_eval_ns;
}

/* The first ones once more, now that it is known what those updates are. */
static void replay(struct track *track, int count)
{
    const bool out_of_turn = is_out_of_turn(track, count);
    const struct work after = track->gap;
    const int64_t after_eval_ns = track->gap_eval_ns;
    const int left = track->waiting_count - count;
    work_clear(&track->gap);
    track->gap_eval_ns = 0;
    track->waiting_count = 0;
    for (int i = 0; i < count; i++) {
        work_add(&track->gap, &track->waiting[i].gap);
        track->gap_eval_ns += track->waiting[i].gap_eval_ns;
        if (track->loop && track->loop->turns < TURNS_DECIDE) {
            track->loop->out_of_turn = track->loop->out_of_turn || out_of_turn;
        }
        take_update(track, &track->waiting[i].step);
    }
    track->waiting_count = left;
    if (left > 0) {
        memmove(track->waiting, track->waiting + count,
                (size_t)left * sizeof track->waiting[0]);
        put_before(&track->waiting[0], &track->gap, track->gap_eval_ns);
        work_clear(&track->gap);
        track->gap_eval_ns = 0;
    }
    work_add(&track->gap, &after);
    track->gap_eval_ns += after_eval_ns;
}

/* Sixteen updates in a row by others: two models trained one after the other are two loops. */
static void foreign_loop(struct track *track)
{
    replay(track, track->waiting_count - track->foreign_count);
    if (track->has_step) {
        complete(track, track->step.last_end_ns, false);
    }
    loop_end(track, track->cursor_ns, false);
    track->foreign_count = 0;
    replay(track, track->waiting_count);
}

static void push_waiting(struct track *track, const struct step *step)
{
    struct waiting_update *last = &track->waiting[track->waiting_count++];
    last->step = *step;
    last->gap = track->gap;
    last->gap_eval_ns = track->gap_eval_ns;
    work_clear(&track->gap);
    track->gap_eval_ns = 0;
}

/* They are part of this loop after all, as a GAN's other optimizer. */
static void accept_foreign(struct track *track)
{
    for (int i = track->waiting_count - track->foreign_count; i < track->waiting_count;
         i++) {
        loop_add_owner(track->loop, track->waiting[i].step.work.update_owner);
    }
    track->foreign_count = 0;
}

static void settle_waiting(struct track *track)
{
    if (track->foreign_count > 0) { /* all to the end: another loop */
        foreign_loop(track);
    } else if (track->waiting_count > 0) {
        replay(track, track->waiting_count);
    }
}

/* Several functions train, and so far strictly by turns: whether each call is a step is not known yet. */
static bool is_undecided(const struct loop *loop)
{
    return loop && loop->source == SOURCE_TRAINER && tells_owners_apart(loop) &&
           loop->owner_count > 1 && !loop->out_of_turn && loop->turns < TURNS_DECIDE;
}

/* What waits is decided by an update of the loop's own: one that is out of turn, or enough that are not. */
static void wait_or_replay(struct track *track, const struct step *next)
{
    push_waiting(track, next);
    if (!is_undecided(track->loop) || source_of(&next->work) != track->loop->source ||
        track->loop->turns + track->waiting_count >= TURNS_DECIDE ||
        is_out_of_turn(track, track->waiting_count)) {
        replay(track, track->waiting_count);
    }
}

/* Where work goes that starts nothing; NULL: it is outside of steps. */
static struct step *present_step(struct track *track)
{
    if (track->has_next) {
        return &track->next;
    }
    if (track->waiting_count > 0) {
        struct step *last = &track->waiting[track->waiting_count - 1].step;
        return last->end_ns ? NULL : last;
    }
    return track->has_step ? &track->step : NULL;
}

static void add_loose(struct track *track, const struct work *work, int64_t end_ns)
{
    struct step *step = present_step(track);
    work_add(step ? &step->work : &track->gap, work);
    if (step) {
        step->last_end_ns = end_ns;
    }
}

static void end_next(struct track *track)
{
    const struct step next = track->next;
    track->has_next = false;
    if (is_foreign(track, &next.work)) {
        push_waiting(track, &next);
        if (++track->foreign_count == FOREIGN_UPDATES) {
            foreign_loop(track);
        }
        return;
    }
    accept_foreign(track);
    if (track->waiting_count > 0 || is_undecided(track->loop)) {
        wait_or_replay(track, &next);
    } else {
        take_update(track, &next);
    }
}

void step_loose(struct track *track, const struct work *work, int64_t end_ns)
{
    add_loose(track, work, end_ns);
    if (track->has_next && is_update(track, work)) {
        track->next.work.update_owner =
            work->update_owner; /* one that lost may be in it */
        end_next(track);
    }
}

bool step_is_first(const struct track *track)
{
    return !track->saw_update && !(track->loop && track->loop->explicit_begin);
}

/* Rule 4, the first step of a loop that nobody announced: the step that will be the first is only
 * known at its update, so the place where it would start moves on until then. */
static bool starts_first(struct track *track, const struct phase *phase)
{
    const unsigned marks = phase->work.marks;
    bool after_setup = phase->lead_start_ns < phase->start_ns;
    bool anchor = after_setup || (!track->seen_setup && (marks & WORK_DATA));
    track->seen_setup = track->seen_setup || after_setup;
    if (anchor) {
        drop_step(track, &track->has_next, &track->next);
    }
    return anchor || (marks & (WORK_TRAIN_FORWARD | WORK_TRAIN_COMPUTE | WORK_UPDATE |
                               WORK_BACKWARD));
}

void step_phase(struct track *track, const struct phase *phase)
{
    bool starts = present_source(track) != SOURCE_USER;
    if (starts && step_is_first(track)) {
        starts = starts_first(track, phase);
    }
    if (phase->lead_start_ns < phase->start_ns) {
        add_loose(track, &phase->lead_in, phase->lead_end_ns);
    }
    if (starts && !track->has_next) {
        track->has_next = true;
        start_step(&track->next, phase->start_ns);
    }
    step_loose(track, &phase->work, phase->end_ns);
}

void step_mark(struct track *track, int64_t now_ns, uint64_t samples)
{
    const struct step step = {
        .start_ns = now_ns,
        .last_end_ns = now_ns,
        .samples = samples < (uint64_t)SAMPLES_MOST ? (int64_t)samples : SAMPLES_MOST};
    phase_point(track, now_ns);
    drop_step(track, &track->has_next, &track->next);
    if (!loop_current(track, now_ns)) {
        return;
    }
    raise_source(track, SOURCE_USER);
    if (track->has_step) {
        complete(track, now_ns, true);
    }
    track->saw_update = true;
    open_step(track, &step);
}

/* A mark before an iterator that had nothing left starts no step. */
static bool is_empty(const struct track *track)
{
    return present_source(track) == SOURCE_USER && !(track->step.work.marks & WORK_LEADS);
}

void step_early_end(struct track *track, int64_t now_ns, bool failed)
{
    int64_t end_ns = track->has_next ? track->next.start_ns : now_ns;
    if (track->waiting_count > 0) {
        struct step *last = &track->waiting[track->waiting_count - 1].step;
        last->end_ns = last->end_ns ? last->end_ns : end_ns;
    } else if (track->has_step && failed && is_empty(track)) {
        drop_step(track, &track->has_step, &track->step);
    } else if (track->has_step) {
        complete(track, end_ns, true);
    }
    /* What was begun after the last update made no step: it is time between. */
    drop_step(track, &track->has_next, &track->next);
}

void step_end_turns(struct track *track)
{
    if (track->foreign_count > 0) {
        return;
    }
    settle_waiting(track);
    if (is_undecided(track->loop)) {
        track->loop->turns = TURNS_DECIDE;
    }
}

void step_end_loop(struct track *track, int64_t now_ns)
{
    phase_point(track, now_ns);
    settle_waiting(track);
    step_early_end(track, now_ns, false);
}

void step_close(struct track *track)
{
    phase_settle(track);
    settle_waiting(track);
    if (track->has_step && is_empty(track)) {
        if (track->stop_ns >= track->step.start_ns) {
            complete(track, track->stop_ns, true);
        } else {
            drop_step(track, &track->has_step, &track->step);
        }
    } else if (track->has_step) {
        complete(track, track->step.last_end_ns, false);
    }
    drop_step(track, &track->has_next, &track->next);
}
