/* Which phases make a step: rules 2, 3, 4 and 5. A step is open until the next one is sure to
 * count, that is until the next update by the optimizer that made the loop's first update. */
#include "model/parts.h"

static void start_step(struct step *step, int64_t start_ns)
{
    step->start_ns = step->last_end_ns = start_ns;
    step->end_ns = 0;
    step->samples = 0;
    work_clear(&step->work);
}

static void add_phase(struct step *step, const struct phase *phase)
{
    work_add(&step->work, &phase->work);
    step->last_end_ns = phase->end_ns;
}

static void absorb(struct step *step, const struct step *next)
{
    work_add(&step->work, &next->work);
    step->last_end_ns = next->last_end_ns;
}

static void complete(struct track *track, struct step *step, int64_t end_ns, bool has_end)
{
    step->end_ns = end_ns;
    loop_add_step(track, step, has_end);
}

static enum step_source source_of(const struct track *track, const struct work *work)
{
    if (work->marks & WORK_TRAIN_CALL) {
        return SOURCE_TRAINER;
    }
    return track->jit.decided && !track->jit.off ? SOURCE_JIT : SOURCE_UPDATES;
}

static enum step_source present_source(const struct track *track)
{
    return track->loop ? track->loop->source : SOURCE_NONE;
}

/* Whether the update in this work makes steps here; a source that loses only refines stages. */
static bool is_update(const struct track *track, const struct work *work)
{
    return (work->marks & WORK_UPDATE) && source_of(track, work) >= present_source(track);
}

/* Rule 5 is for loops that nobody announced, and for optimizers that can be told apart. */
static bool is_foreign(const struct track *track, const struct work *work)
{
    const struct loop *loop = track->loop;
    return loop && !loop->explicit_begin && loop->owner_count > 0 && work->update_owner &&
           source_of(track, work) == SOURCE_UPDATES &&
           !loop_has_owner(loop, work->update_owner);
}

static void note_update(struct track *track, const struct step *step)
{
    struct loop *loop = loop_current(track, step->start_ns);
    track->saw_update = true;
    if (loop) {
        loop_raise_source(track, source_of(track, &step->work));
        loop_add_owner(loop, step->work.update_owner);
    }
}

/* Sixteen updates in a row by others: two models trained one after the other are two loops. */
static void foreign_loop(struct track *track)
{
    if (track->has_step) {
        track->has_step = false;
        complete(track, &track->step, track->step.last_end_ns, false);
    }
    int count = track->foreign_count;
    track->foreign_count = 0;
    loop_end(track, track->cursor_ns, false);
    for (int i = 0; i < count; i++) {
        struct step *step = &track->foreign[i];
        note_update(track, step);
        if (step->end_ns) {
            complete(track, step, step->end_ns, true);
        } else {
            track->step = *step;
            track->has_step = track->updated = true;
        }
    }
}

static void push_foreign(struct track *track, const struct step *step)
{
    track->foreign[track->foreign_count++] = *step;
    if (track->foreign_count == FOREIGN_UPDATES) {
        foreign_loop(track);
    }
}

/* They were part of this loop after all: of the open step (a GAN's other optimizer), or steps. */
static void take_back_foreign(struct track *track)
{
    for (int i = 0; i < track->foreign_count; i++) {
        struct step *step = &track->foreign[i];
        loop_add_owner(track->loop, step->work.update_owner);
        if (track->has_step && track->updated) {
            absorb(&track->step, step);
        } else {
            complete(track, step, step->end_ns ? step->end_ns : step->last_end_ns, true);
        }
    }
    track->foreign_count = 0;
}

static struct step *open_foreign(struct track *track)
{
    struct step *last =
        track->foreign_count ? &track->foreign[track->foreign_count - 1] : NULL;
    return last && !last->end_ns ? last : NULL;
}

/* Where work goes that starts nothing. */
static struct work *present_work(struct track *track)
{
    if (track->has_tentative) {
        return &track->tentative.work;
    }
    struct step *foreign = open_foreign(track);
    if (foreign) {
        return &foreign->work;
    }
    return track->has_step ? &track->step.work : &track->gap;
}

void step_loose(struct track *track, const struct work *work, int64_t end_ns)
{
    work_add(present_work(track), work);
    if (track->has_step && !track->has_tentative && !track->foreign_count) {
        track->step.last_end_ns = end_ns;
    }
    if (is_update(track, work) && present_source(track) != SOURCE_USER &&
        track->has_step && !track->updated && !track->has_tentative) {
        track->updated = true;
        note_update(track, &track->step);
    }
}

static void move_to_gap(struct track *track)
{
    work_add(&track->gap, &track->step.work);
    track->has_step = false;
}

/* Rule 4, the first step of a loop that nobody announced: the step that will be the first is only
 * known at its update, so the place where it would start moves on until then. */
static void find_first_step(struct track *track, const struct phase *phase)
{
    const unsigned marks = phase->work.marks;
    bool after_setup = phase->lead_start_ns < phase->start_ns;
    bool anchor = after_setup || (!track->seen_setup && (marks & WORK_DATA));
    if (anchor && track->has_step) {
        move_to_gap(track);
    }
    work_add(track->has_step ? &track->step.work : &track->gap, &phase->lead_in);
    track->seen_setup = track->seen_setup || after_setup;
    bool starts =
        anchor ||
        (marks & (WORK_TRAIN_FORWARD | WORK_TRAIN_COMPUTE | WORK_UPDATE | WORK_BACKWARD));
    if (!track->has_step && starts) {
        start_step(&track->step, phase->start_ns);
        track->has_step = true;
        track->updated = false;
    }
    if (track->has_step) {
        add_phase(&track->step, phase);
    } else {
        work_add(&track->gap, &phase->work);
    }
}

static bool is_first(const struct track *track)
{
    return !track->saw_update && !(track->loop && track->loop->explicit_begin);
}

/* The open step has no update yet: the phase belongs to it, or opens it. */
static void feed_step(struct track *track, const struct phase *phase)
{
    if (is_first(track)) {
        find_first_step(track, phase);
    } else {
        work_add(present_work(track), &phase->lead_in);
        if (!track->has_step) {
            start_step(&track->step, phase->start_ns);
            track->has_step = true;
            track->updated = false;
        }
        add_phase(&track->step, phase);
    }
    if (!track->has_step || !is_update(track, &phase->work)) {
        return;
    }
    if (is_foreign(track, &track->step.work)) {
        track->has_step = false;
        push_foreign(track, &track->step);
        return;
    }
    if (track->foreign_count) {
        bool open = track->has_step;
        track->has_step = false; /* those before it are steps of their own */
        take_back_foreign(track);
        track->has_step = open;
    }
    track->updated = true;
    note_update(track, &track->step);
}

/* The open step has its update: the phase may begin the next one. */
static void feed_tentative(struct track *track, const struct phase *phase)
{
    if (!track->has_tentative) {
        work_add(present_work(track), &phase->lead_in);
        start_step(&track->tentative, phase->start_ns);
        track->has_tentative = true;
    } else {
        work_add(&track->tentative.work, &phase->lead_in);
    }
    add_phase(&track->tentative, phase);
    if (!is_update(track, &phase->work)) {
        return;
    }
    const struct loop *loop = track->loop;
    uint32_t owner = track->tentative.work.update_owner;
    bool counts = !owner || source_of(track, &phase->work) != SOURCE_UPDATES ||
                  owner == loop->owners[0];
    track->has_tentative = false;
    if (is_foreign(track, &track->tentative.work)) {
        push_foreign(track, &track->tentative);
        return;
    }
    if (track->foreign_count) {
        take_back_foreign(track);
    }
    if (counts) {
        complete(track, &track->step, track->tentative.start_ns, true);
        track->step = track->tentative;
        note_update(track, &track->step);
    } else { /* another optimizer of the same iteration */
        loop_add_owner(track->loop, owner);
        absorb(&track->step, &track->tentative);
    }
}

void step_phase(struct track *track, const struct phase *phase)
{
    if (present_source(track) == SOURCE_USER) {
        struct work *work = present_work(track);
        work_add(work, &phase->lead_in);
        work_add(work, &phase->work);
        track->step.last_end_ns = phase->end_ns;
        return;
    }
    struct step *foreign = open_foreign(track);
    if (foreign && !track->has_tentative) {
        work_add(&foreign->work, &phase->lead_in);
        foreign->end_ns = phase->start_ns;
        struct phase rest = *phase;
        work_clear(&rest.lead_in);
        rest.lead_start_ns = rest.start_ns;
        (track->has_step ? feed_tentative : feed_step)(track, &rest);
        return;
    }
    (track->has_step && track->updated ? feed_tentative : feed_step)(track, phase);
}

void step_mark(struct track *track, int64_t now_ns, uint64_t samples)
{
    phase_split(track);
    if (present_source(track) != SOURCE_USER) {
        if (track->has_step) {
            move_to_gap(track);
        }
        track->has_tentative = false;
        track->foreign_count = 0;
        if (!loop_current(track, now_ns)) {
            return;
        }
        loop_raise_source(track, SOURCE_USER);
    }
    if (track->has_step) {
        complete(track, &track->step, now_ns, true);
    }
    track->saw_update = true;
    track->has_step = track->updated = true;
    start_step(&track->step, now_ns);
    track->step.samples = (int64_t)samples;
}

/* What was begun after the last update made no step: it is time between. */
static void drop_tentative(struct track *track)
{
    if (track->has_tentative) {
        track->has_tentative = false;
        work_add(&track->gap, &track->tentative.work);
    }
}

void step_early_end(struct track *track, int64_t now_ns)
{
    struct step *foreign = open_foreign(track);
    int64_t end_ns = track->has_tentative ? track->tentative.start_ns : now_ns;
    if (foreign) {
        foreign->end_ns = end_ns;
    }
    if (track->has_step && !track->foreign_count) {
        track->has_step = false;
        if (track->updated) {
            complete(track, &track->step, end_ns, true);
        } else {
            work_add(&track->gap, &track->step.work);
        }
    }
    drop_tentative(track);
}

void step_finish(struct track *track)
{
    jit_decide(track);
    phase_split(track);
    if (track->foreign_count) { /* all to the end: another loop */
        foreign_loop(track);
    }
    drop_tentative(track);
    bool user = present_source(track) == SOURCE_USER;
    bool counts = user ? (track->step.work.marks & WORK_LEADS) != 0 : track->updated;
    if (track->has_step && counts) {
        complete(track, &track->step, track->step.last_end_ns, false);
    } else if (track->has_step) {
        work_add(&track->gap, &track->step.work);
    }
    track->has_step = false;
}
