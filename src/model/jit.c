#include "model/jit.h"

#include <string.h>

#include "model/model_state.h"
#include "model/phase.h"
#include "model/thread.h"

enum {
    CYCLES_DECIDE = 20,     /* step model 3.5 */
    GRADIENTS_DECIDE = 128, /* step model 3.6 */
    HELD_MOST = 1024,       /* until then, at most */
    STRANGERS_MOST = 16     /* in a row: a new loop */
};

static int find_function(const struct jit_state *now, uint32_t owner)
{
    for (int i = 0; i < now->functions; i++)
        if (now->function[i].owner == owner)
            return i;
    return -1;
}

/* Of a jitted function, or of all ranks at once. */
static bool is_call(const struct item *item)
{
    return item->role == SS_ROLE_JIT_CALL || item->role == SS_ROLE_COLLECTIVE;
}

/* Returns how often it has been called. */
static int count_call(struct jit_state *now, const struct item *item)
{
    int i = find_function(now, item->owner);
    if (!is_call(item) || (i < 0 && now->functions == JIT_FUNCTIONS))
        return 0;
    if (i < 0) {
        i = now->functions++;
        now->function[i].owner = item->owner;
        now->function[i].last_cycle = -1;
        now->function[i].is_collective = item->role == SS_ROLE_COLLECTIVE;
    }
    now->function[i].calls++;
    now->function[i].train_calls += (item->flags & SS_FLAG_TRAIN) != 0;
    now->function[i].ns += item->end_ns - item->start_ns;
    return now->function[i].calls;
}

/* How surely it makes the updates. A gradient alone may be taken several times for one; and a
 * collective trains nothing. */
static int trains_surely(const struct jit_stage *stage, const struct jit_function *function)
{
    if (function->is_collective)
        return -1;
    const bool updates = model_names_updates(&stage->thread->model->names, function->owner);
    return 2 * updates + (function->train_calls > 0);
}

/* Training first, then the most frequent, then the one that takes longest. */
static int pick_training(const struct jit_stage *stage)
{
    const struct jit_function *function = stage->now.function;
    int best = 0;
    for (int i = 1; i < stage->now.functions; i++) {
        const int sure = trains_surely(stage, &function[i]);
        const int best_sure = trains_surely(stage, &function[best]);
        const bool more =
            function[i].calls > function[best].calls ||
            (function[i].calls == function[best].calls && function[i].ns > function[best].ns);
        if (sure != best_sure ? sure > best_sure : more)
            best = i;
    }
    return best;
}

/* Counts in how many cycles of the training function each one is called. */
static int count_cycles(struct jit_stage *stage, uint32_t training)
{
    struct jit_state *now = &stage->now;
    int cycle = 0;
    for (uint32_t k = 0; k < stage->hold.count; k++) {
        const struct item *item = &stage->hold.entry[k].item;
        const int i = find_function(now, item->owner);
        if (item->role != SS_ROLE_JIT_CALL || i < 0)
            continue;
        cycle += item->owner == training ? 1 : 0;
        if (now->function[i].last_cycle != cycle) {
            now->function[i].last_cycle = cycle;
            now->function[i].cycles++;
        }
    }
    return cycle;
}

/* Whether it is called in most cycles, and not several times in each, as a metric may be. */
static bool is_once_a_cycle(const struct jit_function *function, int cycles)
{
    return function->cycles * 2 >= cycles && function->calls * 2 <= cycles * 3;
}

/* A cycle starts with the member that was called first of all; the one called before its second
 * call ends it. */
static uint32_t last_of_cycle(const struct jit_stage *stage, int cycles)
{
    const struct jit_state *now = &stage->now;
    uint32_t first = 0, last = 0;
    for (uint32_t k = 0; k < stage->hold.count; k++) {
        const struct item *item = &stage->hold.entry[k].item;
        const int i = find_function(now, item->owner);
        if (item->role != SS_ROLE_JIT_CALL || i < 0 || !is_once_a_cycle(&now->function[i], cycles))
            continue;
        if (item->owner == first)
            break;
        first = first ? first : item->owner;
        last = item->owner;
    }
    return last;
}

/* What a call means, now that it is known who trains. */
static void mark_call(const struct jit_state *now, struct item *item)
{
    const int i = find_function(now, item->owner);
    const bool is_collective = item->role == SS_ROLE_COLLECTIVE;
    if (item->flags & SS_FLAG_FAILED || (is_collective && item->owner != now->last))
        return;
    if (item->owner == now->last) {
        item->work->marks |= is_collective ? WORK_COLLECTIVE | WORK_LEADS : 0;
        item->work->marks |= WORK_UPDATE;
        item->work->updates++;
        item->work->update_owner = item->owner;
    } else if ((i < 0 || now->function[i].rare) && !(item->flags & SS_FLAG_TRAIN)) {
        item->work->marks &= ~(unsigned)WORK_TRAIN_COMPUTE;
        item->work->marks |= WORK_EVAL_CALL;
    }
}

static bool is_gradient(const struct item *item)
{
    return item->kind == ITEM_SPAN && (item->work->marks & WORK_BACKWARD);
}

static void mark_gradient(struct item *item)
{
    if (!(item->flags & SS_FLAG_FAILED)) {
        item->work->marks |= WORK_UPDATE | WORK_GRADIENT;
        item->work->updates++;
    }
}

static void pass_on(struct jit_stage *stage, struct item *item)
{
    if (stage->now.by_hand && is_gradient(item))
        mark_gradient(item);
    else if (is_call(item) && stage->now.decided)
        mark_call(&stage->now, item);
    phase_item(stage->next, item);
}

static void pass_held(void *to, struct item *item)
{
    pass_on(to, item);
}

static void pass_all_held(struct jit_stage *stage)
{
    stage->now.strangers = 0;
    hold_pass_all(&stage->hold, pass_held, stage);
    hold_release(&stage->hold); /* it is large, and most likely not needed again */
}

static void decide(struct jit_stage *stage)
{
    struct jit_state *now = &stage->now;
    const struct jit_function *training =
        now->functions > 0 ? &now->function[pick_training(stage)] : NULL;
    if (training && training->is_collective && now->gradients <= 1) {
        now->last = training->owner;
        now->decided = true;
    } else if (training && !training->is_collective) {
        int cycles = count_cycles(stage, training->owner);
        now->last = last_of_cycle(stage, cycles);
        for (int i = 0; i < now->functions; i++)
            now->function[i].rare = now->function[i].cycles * 2 < cycles;
        now->decided = true;
    } else if (now->gradients > 1) {
        now->by_hand = now->decided = true;
    }
    pass_all_held(stage);
}

static void forget(struct jit_stage *stage)
{
    memset(&stage->now, 0, sizeof stage->now);
}

/* Functions that train, all unknown to the loop: another loop (step model 5.2), and all is open
 * again. */
static void start_over(struct jit_stage *stage)
{
    struct item split = {.kind = ITEM_LOOP_SPLIT};
    forget(stage);
    phase_item(stage->next, &split);
    for (uint32_t k = 0; k < stage->hold.count; k++)
        (void)count_call(&stage->now, &stage->hold.entry[k].item);
}

/* With what there is. */
static void decide_now(struct jit_stage *stage)
{
    if (stage->now.strangers > 0)
        start_over(stage);
    if (stage->hold.count > 0)
        decide(stage);
}

static void turn_off(struct jit_stage *stage)
{
    stage->now.off = true;
    stage->now.decided = stage->now.by_hand = false;
    pass_all_held(stage);
}

static bool hold_back(struct jit_stage *stage, const struct item *item)
{
    if (!stage->hold.entry && !hold_init(&stage->hold, HELD_MOST)) {
        stage->thread->model->error = SS_E_NOMEM;
        return false;
    }
    hold_add(&stage->hold, item);
    return true;
}

static bool is_stranger(const struct jit_state *now, const struct item *item)
{
    return item->role == SS_ROLE_JIT_CALL && (item->flags & SS_FLAG_TRAIN) && !now->announced &&
           find_function(now, item->owner) < 0;
}

/* Whether an item must wait until more is known. */
static bool must_wait(struct jit_stage *stage, const struct item *item)
{
    struct jit_state *now = &stage->now;
    if (!now->decided)
        return stage->hold.count > 0 || is_call(item) || is_gradient(item);
    if (is_stranger(now, item)) {
        now->strangers++;
        return true;
    }
    return now->strangers > 0 && item->role != SS_ROLE_JIT_CALL;
}

/* Counts what was held back. Returns whether that is enough. */
static bool is_enough(struct jit_stage *stage, const struct item *item)
{
    struct jit_state *now = &stage->now;
    if (stage->hold.count == HELD_MOST)
        return true;
    if (now->decided)
        return false;
    now->gradients += is_gradient(item);
    return count_call(now, item) > CYCLES_DECIDE || now->gradients > GRADIENTS_DECIDE;
}

static void take(struct jit_stage *stage, struct item *item)
{
    struct jit_state *now = &stage->now;
    if (item->kind == ITEM_SPAN && (item->work->marks & WORK_UPDATE) && !now->off)
        turn_off(stage);
    if (now->off || !must_wait(stage, item)) {
        if (stage->hold.count > 0) /* one that is known: the loop goes on */
            pass_all_held(stage);
        pass_on(stage, item);
        return;
    }
    if (!hold_back(stage, item))
        pass_on(stage, item);
    else if (now->strangers == STRANGERS_MOST)
        start_over(stage);
    else if (is_enough(stage, item))
        decide_now(stage);
}

void jit_item(struct jit_stage *stage, struct item *item)
{
    switch (item->kind) {
    case ITEM_SPAN:
    case ITEM_EPOCH_BEGIN:
    case ITEM_EPOCH_END:
        take(stage, item);
        return;
    case ITEM_MARK:
        turn_off(stage);
        break;
    case ITEM_LOOP_BEGIN: /* calls before it prepare something */
        turn_off(stage);
        forget(stage);
        stage->now.announced = true;
        break;
    case ITEM_LOOP_END:
    case ITEM_FLUSH:
        decide_now(stage);
        forget(stage);
        break;
    default:
        break;
    }
    phase_item(stage->next, item);
}

void jit_init(struct jit_stage *stage, struct thread *thread, struct phase_stage *next)
{
    *stage = (struct jit_stage){.next = next, .thread = thread};
}

void jit_release(struct jit_stage *stage)
{
    hold_release(&stage->hold);
}
