/* Rule 9: which jitted function trains. Until enough calls have been seen, items wait; then the
 * last function of a cycle counts as the update, and functions called in fewer than half of the
 * cycles, and without gradients, are evaluation. From there on the rules for updates apply. */
#include "model/parts.h"

#include <stdlib.h>
#include <string.h>

static int find_function(const struct jit *jit, uint32_t owner)
{
    for (int i = 0; i < jit->functions; i++) {
        if (jit->function[i].owner == owner) {
            return i;
        }
    }
    return -1;
}

/* Returns how often it has been called. */
static int count_call(struct jit *jit, const struct item *item)
{
    int i = find_function(jit, item->owner);
    if (item->role != SS_ROLE_JIT_CALL || (i < 0 && jit->functions == JIT_FUNCTIONS)) {
        return 0;
    }
    if (i < 0) {
        i = jit->functions++;
        jit->function[i].owner = item->owner;
        jit->function[i].last_cycle = -1;
    }
    jit->function[i].calls++;
    jit->function[i].train_calls += (item->flags & SS_FLAG_TRAIN) != 0;
    jit->function[i].ns += item->end_ns - item->start_ns;
    return jit->function[i].calls;
}

/* Training first, then the most frequent, then the one that takes longest. */
static int pick_training(const struct jit *jit)
{
    int best = 0;
    for (int i = 1; i < jit->functions; i++) {
        bool trains = jit->function[i].train_calls > 0;
        bool best_trains = jit->function[best].train_calls > 0;
        bool more = jit->function[i].calls > jit->function[best].calls ||
                    (jit->function[i].calls == jit->function[best].calls &&
                     jit->function[i].ns > jit->function[best].ns);
        if (trains != best_trains ? trains : more) {
            best = i;
        }
    }
    return best;
}

/* Counts in how many cycles of the training function each one is called. */
static int count_cycles(struct jit *jit, uint32_t training)
{
    int cycle = 0;
    for (size_t k = 0; k < jit->held_count; k++) {
        const struct item *item = &jit->held[k].item;
        const int i = find_function(jit, item->owner);
        if (item->role != SS_ROLE_JIT_CALL || i < 0) {
            continue;
        }
        cycle += item->owner == training ? 1 : 0;
        if (jit->function[i].last_cycle != cycle) {
            jit->function[i].last_cycle = cycle;
            jit->function[i].cycles++;
        }
    }
    return cycle;
}

/* A cycle starts with the member that was called first of all; the one called before its second
 * call ends it. */
static uint32_t last_of_cycle(const struct jit *jit, int cycles)
{
    uint32_t first = 0, last = 0;
    for (size_t k = 0; k < jit->held_count; k++) {
        const uint32_t owner = jit->held[k].item.owner;
        const int i = find_function(jit, owner);
        if (jit->held[k].item.role != SS_ROLE_JIT_CALL || i < 0 ||
            jit->function[i].cycles * 2 < cycles) {
            continue;
        }
        if (owner == first) {
            break;
        }
        first = first ? first : owner;
        last = owner;
    }
    return last;
}

/* What a call means, now that it is known who trains. */
static void mark_call(const struct jit *jit, struct item *item)
{
    const int i = find_function(jit, item->owner);
    if (item->flags & SS_FLAG_FAILED) {
        return;
    }
    if (item->owner == jit->last) {
        item->work->marks |= WORK_UPDATE;
        item->work->updates++;
        item->work->update_owner = item->owner;
    } else if ((i < 0 || jit->function[i].rare) && !(item->flags & SS_FLAG_TRAIN)) {
        item->work->marks &= ~(unsigned)WORK_TRAIN_COMPUTE;
        item->work->marks |= WORK_EVAL_CALL;
    }
}

static void pass_on(struct track *track, struct item *item)
{
    if (item->kind != SS_KIND_SPAN) {
        loop_epoch(track, item);
        return;
    }
    if (item->role == SS_ROLE_JIT_CALL && track->jit.decided) {
        mark_call(&track->jit, item);
    }
    phase_item(track, item);
}

static void release_held(struct track *track)
{
    struct jit *jit = &track->jit;
    struct held_item *held = jit->held;
    size_t count = jit->held_count;
    jit->held = NULL;
    jit->held_count = 0;
    jit->strangers = 0;
    for (size_t k = 0; k < count; k++) {
        held[k].item.work = &held[k].work;
        pass_on(track, &held[k].item);
    }
    free(held);
}

static void decide(struct track *track)
{
    struct jit *jit = &track->jit;
    if (jit->functions > 0) {
        int cycles = count_cycles(jit, jit->function[pick_training(jit)].owner);
        jit->last = last_of_cycle(jit, cycles);
        for (int i = 0; i < jit->functions; i++) {
            jit->function[i].rare = jit->function[i].cycles * 2 < cycles;
        }
        jit->decided = true;
    }
    release_held(track);
}

/* Functions that train, all unknown to the loop: another loop (rule 5), and all is open again. */
static void start_over(struct track *track)
{
    struct jit *jit = &track->jit;
    struct held_item *held = jit->held;
    size_t count = jit->held_count;
    jit->held = NULL;
    step_close(track);
    loop_end(track, track->cursor_ns, false);
    jit->held = held;
    jit->held_count = count;
    for (size_t k = 0; k < count; k++) {
        (void)count_call(jit, &held[k].item);
    }
}

void jit_decide(struct track *track)
{
    if (track->jit.strangers > 0) {
        start_over(track);
    }
    if (track->jit.held_count > 0) {
        decide(track);
    }
}

void jit_turn_off(struct track *track)
{
    track->jit.off = true;
    track->jit.decided = false;
    release_held(track);
}

void jit_clear(struct track *track)
{
    free(track->jit.held);
    memset(&track->jit, 0, sizeof track->jit);
}

static bool hold(struct track *track, const struct item *item)
{
    struct jit *jit = &track->jit;
    if (!jit->held) {
        jit->held = malloc(JIT_HELD * sizeof *jit->held);
    }
    if (!jit->held) {
        track->thread->model->error = SS_E_NOMEM;
        return false;
    }
    jit->held[jit->held_count++] = (struct held_item){*item, *item->work};
    return true;
}

static bool is_stranger(const struct track *track, const struct item *item)
{
    return item->role == SS_ROLE_JIT_CALL && (item->flags & SS_FLAG_TRAIN) &&
           !(track->loop && track->loop->explicit_begin) &&
           find_function(&track->jit, item->owner) < 0;
}

/* Whether an item must wait until more is known. */
static bool must_wait(struct track *track, const struct item *item)
{
    struct jit *jit = &track->jit;
    if (!jit->decided) {
        return jit->held_count > 0 || item->role == SS_ROLE_JIT_CALL;
    }
    if (is_stranger(track, item)) {
        jit->strangers++;
        return true;
    }
    return jit->strangers > 0 && item->role != SS_ROLE_JIT_CALL;
}

void jit_item(struct track *track, struct item *item)
{
    struct jit *jit = &track->jit;
    bool other_source = (item->work->marks & WORK_UPDATE) ||
                        (track->loop && track->loop->source > SOURCE_JIT);
    if (other_source && !jit->off) {
        jit_turn_off(track);
    }
    if (jit->off || !must_wait(track, item)) {
        if (jit->held_count > 0) { /* one that is known: the loop goes on */
            release_held(track);
        }
        pass_on(track, item);
        return;
    }
    if (!hold(track, item)) {
        pass_on(track, item);
    } else if (jit->strangers == FOREIGN_UPDATES) {
        start_over(track);
    } else if (jit->held_count == JIT_HELD ||
               (!jit->decided && count_call(jit, item) > JIT_CYCLES)) {
        jit_decide(track);
    }
}
