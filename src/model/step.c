#include "model/step.h"

#include "model/loop.h"

enum {
    FOREIGN_DECIDE = 16, /* updates in a row by owners that the loop did not have: a new loop */
    WAITING_MOST = TURNS_DECIDE + FOREIGN_DECIDE
};

/* Evaluation outside steps that is in no epoch yet. */
static int64_t tell_eval(struct step_stage *stage)
{
    const int64_t eval_ns = stage->outside.cut_ns[CUT_EVAL];
    const int64_t more_ns = eval_ns > stage->told_ns ? eval_ns - stage->told_ns : 0;
    stage->told_ns = eval_ns;
    return more_ns;
}

/* Hands on an item with what was in no step before it. */
static void pass_with_outside(struct step_stage *stage, struct item *item)
{
    item->before = &stage->outside;
    item->eval_ns = tell_eval(stage);
    loop_item(stage->next, item);
    work_clear(&stage->outside);
    stage->told_ns = 0;
}

static void clear_tail(struct step_stage *stage, struct work *to)
{
    work_add(to, &stage->tail);
    work_clear(&stage->tail);
}

static void complete(struct step_stage *stage, int64_t end_ns, bool has_end)
{
    stage->has_open = false;
    clear_tail(stage, has_end ? &stage->open.work : &stage->outside);
    stage->open.item.end_ns = end_ns;
    stage->open.item.of.step.has_end = has_end;
    loop_item(stage->next, &stage->open.item);
}

static void open_step(struct step_stage *stage, const struct item *step)
{
    struct item begin = {.kind = ITEM_STEP_BEGIN, .start_ns = step->start_ns};
    held_set(&stage->open, step);
    stage->has_open = true;
    pass_with_outside(stage, &begin);
}

/* Train calls of others make no steps of their own. */
static void absorb(struct held *step, const struct item *next)
{
    const int64_t train_steps = step->work.train_steps;
    work_add(&step->work, next->work);
    step->work.train_steps = train_steps;
    step->item.of.step.last_ns = next->of.step.last_ns;
}

static enum step_source source_of(const struct work *work)
{
    return work->marks & WORK_TRAIN_CALL   ? SOURCE_TRAINER
           : work->marks & WORK_OPTIMIZER  ? SOURCE_UPDATES
           : work->marks & WORK_GRADIENT   ? SOURCE_GRADIENTS
           : work->marks & WORK_COLLECTIVE ? SOURCE_COLLECTIVES
                                           : SOURCE_JIT;
}

/* Whether the update in this work makes steps here; a source that loses only refines stages. */
static bool is_update(const struct step_stage *stage, const struct work *work)
{
    return (work->marks & WORK_UPDATE) && source_of(work) >= stage->source;
}

/* Whether it matters by whom updates are: optimizers, and functions that train. A trainer that
 * announces its loop knows itself what a step is. */
static bool tells_owners_apart(const struct step_stage *stage)
{
    return stage->owners.count > 0 && (stage->source == SOURCE_UPDATES ||
                                       (stage->source == SOURCE_TRAINER && !stage->announced));
}

static bool is_foreign(const struct step_stage *stage, const struct work *work)
{
    return !stage->announced && tells_owners_apart(stage) && source_of(work) == stage->source &&
           !owners_have(&stage->owners, work->update_owner);
}

/* Several functions train, and so far strictly by turns: whether each call is a step is not known
 * yet. */
static bool is_undecided(const struct step_stage *stage)
{
    return stage->source == SOURCE_TRAINER && tells_owners_apart(stage) &&
           owners_undecided(&stage->owners);
}

/* A start counts only if the next update is by the owner of the loop's first (step model 3.3). Of
 * functions only while they train strictly by turns: a script may also have one of its own for each
 * tenth step. */
static bool is_counted(const struct step_stage *stage, const struct work *work)
{
    return !tells_owners_apart(stage) || stage->owners.owner[0] == work->update_owner ||
           (stage->source == SOURCE_TRAINER && stage->owners.out_of_turn);
}

/* Work outside steps, as that of a step that does not count. */
static void drop_step(struct step_stage *stage, bool *has_step, const struct held *step)
{
    if (*has_step) {
        if (step == &stage->open)
            clear_tail(stage, &stage->outside);
        *has_step = false;
        work_add(&stage->outside, &step->work);
    }
}

/* What was before a step that waited is outside, as it would have been without waiting. */
static void return_before(struct step_stage *stage, const struct item *step)
{
    work_add(&stage->outside, step->before);
    stage->told_ns += step->eval_ns;
}

/* A loop that has made enough steps in its own way has been one, and is over. */
static void end_own_loop(struct step_stage *stage)
{
    struct item split = {.kind = ITEM_LOOP_SPLIT};
    if (stage->has_open)
        complete(stage, stage->open.item.of.step.last_ns, false);
    loop_item(stage->next, &split);
}

static void drop_waiting(struct step_stage *stage)
{
    for (uint32_t i = 0; i < stage->waiting.count; i++) {
        return_before(stage, &stage->waiting.entry[i].item);
        work_add(&stage->outside, &stage->waiting.entry[i].work);
    }
    stage->waiting.count = stage->foreign = 0;
}

/* The first of a better source: what was counted before is start-up, or another loop (step model
 * 3.1). */
static void raise_source(struct step_stage *stage, enum step_source source, int64_t now_ns)
{
    struct item raised = {.kind = ITEM_SOURCE, .owner = source, .start_ns = now_ns};
    if (source <= stage->source)
        return;
    if (!stage->announced && stage->source != SOURCE_JIT && stage->source != SOURCE_COLLECTIVES &&
        loop_steps(stage->next) >= FOREIGN_DECIDE)
        end_own_loop(stage);
    drop_step(stage, &stage->has_open, &stage->open);
    drop_waiting(stage);
    stage->owners = (struct owners){0};
    stage->source = source;
    loop_item(stage->next, &raised);
}

/* A start with its update. It becomes the open step, or is part of the one that is open. */
static void take_update(struct step_stage *stage, const struct item *next)
{
    raise_source(stage, source_of(next->work), next->start_ns);
    owners_note(&stage->owners, next->work->update_owner);
    if (is_counted(stage, next->work)) {
        if (stage->has_open)
            complete(stage, next->start_ns, true);
        open_step(stage, next);
    } else if (stage->has_open) {
        absorb(&stage->open, next);
    } else {
        work_add(&stage->outside, next->work);
    }
    owners_add(&stage->owners, next->work->update_owner);
    if (stage->has_open && next->end_ns)
        complete(stage, next->end_ns, true);
}

/* Whether one of the owners has two updates in a row, in what waits and with the one before it. */
static bool is_out_of_turn(const struct step_stage *stage, uint32_t count)
{
    uint32_t last = stage->owners.last;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t owner = stage->waiting.entry[i].work.update_owner;
        if (owner == last)
            return true;
        last = owner;
    }
    return false;
}

struct retake {
    struct step_stage *stage;
    bool out_of_turn;
};

static void retake_one(void *to, struct item *step)
{
    const struct retake *retake = to;
    return_before(retake->stage, step);
    if (retake->out_of_turn)
        owners_break_turn(&retake->stage->owners);
    take_update(retake->stage, step);
}

static void clear_outside(struct step_stage *stage)
{
    work_clear(&stage->outside);
    stage->told_ns = 0;
}

/* What was seen before the oldest update that waits. */
static void put_before(struct step_stage *stage, struct held *oldest)
{
    return_before(stage, &oldest->item);
    oldest->before = stage->outside;
    oldest->item.eval_ns = stage->told_ns;
    clear_outside(stage);
}

/* The first ones once more, now that it is known what those updates are. */
static void take_waiting(struct step_stage *stage, uint32_t count)
{
    struct retake retake = {stage, is_out_of_turn(stage, count)};
    const struct work after = stage->outside;
    const int64_t after_told_ns = stage->told_ns;
    clear_outside(stage);
    hold_pass(&stage->waiting, count, retake_one, &retake);
    if (stage->waiting.count > 0)
        put_before(stage, &stage->waiting.entry[0]);
    work_add(&stage->outside, &after);
    stage->told_ns += after_told_ns;
}

/* No more is known of the loop: it has ended, or begun. */
static void forget_loop(struct step_stage *stage)
{
    stage->source = SOURCE_NONE;
    stage->owners = (struct owners){0};
    stage->announced = stage->seen_setup = false;
}

/* Enough updates in a row by others: two models trained one after the other are two loops (step
 * model 5.2). */
static void split_loop(struct step_stage *stage)
{
    struct item split = {.kind = ITEM_LOOP_SPLIT};
    take_waiting(stage, stage->waiting.count - stage->foreign);
    if (stage->has_open)
        complete(stage, stage->open.item.of.step.last_ns, false);
    loop_item(stage->next, &split);
    forget_loop(stage);
    stage->foreign = 0;
    take_waiting(stage, stage->waiting.count);
}

static void hold_back(struct step_stage *stage, struct item *update)
{
    update->before = &stage->outside;
    update->eval_ns = stage->told_ns;
    hold_add(&stage->waiting, update);
    clear_outside(stage);
}

/* They are part of this loop after all, as a GAN's other optimizer. */
static void accept_foreign(struct step_stage *stage)
{
    for (uint32_t i = stage->waiting.count - stage->foreign; i < stage->waiting.count; i++)
        owners_add(&stage->owners, stage->waiting.entry[i].work.update_owner);
    stage->foreign = 0;
}

static void settle_waiting(struct step_stage *stage)
{
    if (stage->foreign > 0) /* all to the end: another loop */
        split_loop(stage);
    else if (stage->waiting.count > 0)
        take_waiting(stage, stage->waiting.count);
}

/* What waits is decided by an update of the loop's own: one that is out of turn, or enough that are
 * not. */
static void wait_or_take(struct step_stage *stage, struct item *update)
{
    const enum step_source source = source_of(update->work);
    hold_back(stage, update);
    if (!is_undecided(stage) || source != stage->source ||
        stage->owners.turns + (int)stage->waiting.count >= TURNS_DECIDE ||
        is_out_of_turn(stage, stage->waiting.count))
        take_waiting(stage, stage->waiting.count);
}

/* Where work goes that starts nothing; NULL: it is outside steps. */
static struct held *present_step(struct step_stage *stage)
{
    if (stage->has_begun)
        return &stage->begun;
    if (stage->waiting.count > 0) {
        struct held *last = hold_last(&stage->waiting);
        return last->item.end_ns ? NULL : last;
    }
    return stage->has_open ? &stage->open : NULL;
}

static void add_loose(struct step_stage *stage, const struct work *work, int64_t end_ns)
{
    struct held *step = present_step(stage);
    if (step == &stage->open && !work_shows_loop(work)) {
        work_add(&stage->tail, work);
        return;
    }
    if (step == &stage->open)
        clear_tail(stage, &step->work);
    work_add(step ? &step->work : &stage->outside, work);
    if (step)
        step->item.of.step.last_ns = end_ns;
}

static void take_begun(struct step_stage *stage)
{
    struct item *update = &stage->begun.item;
    stage->has_begun = false;
    if (is_foreign(stage, update->work)) {
        hold_back(stage, update);
        if (++stage->foreign == FOREIGN_DECIDE)
            split_loop(stage);
        return;
    }
    accept_foreign(stage);
    if (stage->waiting.count > 0 || is_undecided(stage))
        wait_or_take(stage, update);
    else
        take_update(stage, update);
}

static void take_loose(struct step_stage *stage, const struct work *work, int64_t end_ns)
{
    add_loose(stage, work, end_ns);
    if (stage->has_begun && is_update(stage, work)) {
        stage->begun.work.update_owner = work->update_owner; /* one that lost may be in it */
        take_begun(stage);
    }
}

static void begin_step(struct step_stage *stage, int64_t start_ns)
{
    stage->begun.item = (struct item){.kind = ITEM_STEP,
                                      .start_ns = start_ns,
                                      .work = &stage->begun.work,
                                      .of.step.last_ns = start_ns};
    work_clear(&stage->begun.work);
    stage->has_begun = true;
}

static bool has_setup(const struct item *phase)
{
    return phase->of.lead.start_ns < phase->start_ns;
}

/* Step model 4.3, the first step of a loop that was not announced: which one that will be is only
 * known at its update, so the place where it would start moves on until then. */
static bool starts_first(struct step_stage *stage, const struct item *phase)
{
    const unsigned marks = phase->work->marks;
    bool anchor = has_setup(phase) || (!stage->seen_setup && (marks & WORK_DATA));
    stage->seen_setup = stage->seen_setup || has_setup(phase);
    if (anchor)
        drop_step(stage, &stage->has_begun, &stage->begun);
    return anchor ||
           (marks & (WORK_TRAIN_FORWARD | WORK_TRAIN_COMPUTE | WORK_UPDATE | WORK_BACKWARD));
}

static void take_phase(struct step_stage *stage, const struct item *phase)
{
    bool starts = stage->source != SOURCE_USER;
    if (starts && step_is_first(stage))
        starts = starts_first(stage, phase);
    if (has_setup(phase))
        add_loose(stage, phase->before, phase->of.lead.end_ns);
    if (starts && !stage->has_begun)
        begin_step(stage, phase->start_ns);
    take_loose(stage, phase->work, phase->end_ns);
}

static void take_mark(struct step_stage *stage, const struct item *mark)
{
    struct work none = {.marks = 0};
    const struct item step = {
        .kind = ITEM_STEP,
        .start_ns = mark->start_ns,
        .work = &none,
        .of.step = {.last_ns = mark->start_ns, .samples = mark->of.step.samples}};
    drop_step(stage, &stage->has_begun, &stage->begun);
    raise_source(stage, SOURCE_USER, mark->start_ns);
    if (stage->has_open)
        complete(stage, mark->start_ns, true);
    open_step(stage, &step);
}

/* A mark before an iterator that had nothing left starts no step. */
static bool is_empty(const struct step_stage *stage)
{
    return stage->source == SOURCE_USER && !(stage->open.work.marks & WORK_LEADS);
}

static void end_early(struct step_stage *stage, int64_t now_ns, bool failed)
{
    const int64_t end_ns = stage->has_begun ? stage->begun.item.start_ns : now_ns;
    if (stage->waiting.count > 0) {
        struct item *last = &hold_last(&stage->waiting)->item;
        last->end_ns = last->end_ns ? last->end_ns : end_ns;
    } else if (stage->has_open && failed && is_empty(stage)) {
        drop_step(stage, &stage->has_open, &stage->open);
    } else if (stage->has_open) {
        complete(stage, end_ns, true);
    }
    /* What was begun after the last update made no step: it is time between. */
    drop_step(stage, &stage->has_begun, &stage->begun);
}

/* An epoch is over: what was by turns is so. */
static void end_turns(struct step_stage *stage)
{
    if (stage->foreign > 0)
        return;
    settle_waiting(stage);
    if (is_undecided(stage))
        owners_decide(&stage->owners);
}

/* Nothing more comes for this loop, without an end. */
static void close_steps(struct step_stage *stage, int64_t stop_ns)
{
    settle_waiting(stage);
    if (stage->has_open && is_empty(stage))
        if (stop_ns >= stage->open.item.start_ns)
            complete(stage, stop_ns, true);
        else
            drop_step(stage, &stage->has_open, &stage->open);
    else if (stage->has_open)
        complete(stage, stage->open.item.of.step.last_ns, false);
    drop_step(stage, &stage->has_begun, &stage->begun);
}

static void take_epoch(struct step_stage *stage, struct item *item)
{
    if (item->kind == ITEM_EPOCH_END)
        end_early(stage, item->end_ns, false);
    end_turns(stage);
    item->eval_ns = tell_eval(stage);
    loop_item(stage->next, item);
}

static void take_loop(struct step_stage *stage, struct item *item)
{
    switch (item->kind) {
    case ITEM_LOOP_BEGIN:
        close_steps(stage, 0);
        pass_with_outside(stage, item);
        break;
    case ITEM_LOOP_END:
        settle_waiting(stage);
        end_early(stage, item->start_ns, false);
        if (loop_has_steps(stage->next))
            pass_with_outside(stage, item);
        else
            loop_item(stage->next, item);
        break;
    default:
        close_steps(stage, item->start_ns);
        loop_item(stage->next, item);
        break;
    }
    forget_loop(stage);
    stage->announced = item->kind == ITEM_LOOP_BEGIN;
}

void step_item(struct step_stage *stage, struct item *item)
{
    switch (item->kind) {
    case ITEM_PHASE:
        take_phase(stage, item);
        break;
    case ITEM_LOOSE:
        take_loose(stage, item->work, item->end_ns);
        break;
    case ITEM_ITERATION_END:
        end_early(stage, item->start_ns, true);
        break;
    case ITEM_MARK:
        take_mark(stage, item);
        break;
    case ITEM_EPOCH_BEGIN:
    case ITEM_EPOCH_END:
        take_epoch(stage, item);
        break;
    case ITEM_LOOP_BEGIN:
    case ITEM_LOOP_END:
    case ITEM_LOOP_SPLIT:
    case ITEM_FLUSH:
        take_loop(stage, item);
        break;
    default:
        loop_item(stage->next, item);
        break;
    }
}

bool step_init(struct step_stage *stage, struct loop_stage *next)
{
    *stage = (struct step_stage){.next = next};
    return hold_init(&stage->waiting, WAITING_MOST);
}

void step_release(struct step_stage *stage)
{
    hold_release(&stage->waiting);
}
