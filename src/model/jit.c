/* Rule 9: which jitted function trains. Until enough calls have been seen, items wait; then the
 * last function of a cycle counts as the update, and functions called in fewer than half of the
 * cycles are evaluation. From there on the rules for updates apply. */
#include "model/parts.h"

#include <stdlib.h>

static int find_function(struct jit *jit, uint32_t owner)
{
    for (int i = 0; i < jit->functions; i++) {
        if (jit->function[i].owner == owner) {
            return i;
        }
    }
    return -1;
}

static int count_call(struct jit *jit, uint32_t owner, const struct item *item)
{
    int i = find_function(jit, owner);
    if (i < 0) {
        if (jit->functions == JIT_FUNCTIONS) {
            return 0;
        }
        i = jit->functions++;
        jit->function[i].owner = owner;
        jit->function[i].last_cycle = -1;
    }
    jit->function[i].calls++;
    jit->function[i].train_calls += (item->flags & SS_FLAG_TRAIN) != 0;
    jit->function[i].ns += item->end_ns - item->start_ns;
    return jit->function[i].calls;
}

static uint32_t owner_of(const struct track *track, const struct item *item)
{
    return track->thread->model->names.name[item->name].owner;
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

static bool is_member(const struct jit *jit, uint32_t owner, int cycles)
{
    for (int i = 0; i < jit->functions; i++) {
        if (jit->function[i].owner == owner) {
            return jit->function[i].cycles * 2 >= cycles;
        }
    }
    return false;
}

/* Counts in how many cycles of the training function each one is called. */
static int count_cycles(struct track *track, uint32_t training)
{
    struct jit *jit = &track->jit;
    int cycle = 0;
    for (size_t k = 0; k < jit->held_count; k++) {
        const struct item *item = &jit->held[k].item;
        if (item->role != SS_ROLE_JIT_CALL) {
            continue;
        }
        const uint32_t owner = owner_of(track, item);
        const int i = find_function(jit, owner);
        cycle += owner == training ? 1 : 0;
        if (i >= 0 && jit->function[i].last_cycle != cycle) {
            jit->function[i].last_cycle = cycle;
            jit->function[i].cycles++;
        }
    }
    return cycle;
}

/* A cycle starts with the member that was called first of all; the one called before its second
 * call ends it. */
static uint32_t last_of_cycle(const struct track *track, int cycles)
{
    const struct jit *jit = &track->jit;
    uint32_t first = 0, last = 0;
    for (size_t k = 0; k < jit->held_count; k++) {
        if (jit->held[k].item.role != SS_ROLE_JIT_CALL) {
            continue;
        }
        uint32_t owner = owner_of(track, &jit->held[k].item);
        if (!is_member(jit, owner, cycles)) {
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

/* `function.cycles` of the rare ones becomes 0, so that later calls are told apart quickly. */
static void pass_on(struct track *track, struct item *item)
{
    struct jit *jit = &track->jit;
    if (item->role == SS_ROLE_JIT_CALL && !jit->off) {
        uint32_t owner = owner_of(track, item);
        int i = find_function(jit, owner);
        if (i < 0 || jit->function[i].cycles == 0) {
            item->work->marks &= ~(unsigned)WORK_TRAIN_COMPUTE;
            item->work->marks |= WORK_EVAL_FORWARD;
        } else if (owner == jit->last) {
            item->work->marks |= WORK_UPDATE;
            item->work->updates++;
            item->work->update_owner = owner;
        }
    }
    phase_item(track, item);
}

static void release_held(struct track *track)
{
    struct jit *jit = &track->jit;
    for (size_t k = 0; k < jit->held_count; k++) {
        jit->held[k].item.work = &jit->held[k].work;
        pass_on(track, &jit->held[k].item);
    }
    free(jit->held);
    jit->held = NULL;
    jit->held_count = 0;
}

void jit_decide(struct track *track)
{
    struct jit *jit = &track->jit;
    if (jit->decided || jit->off || jit->held_count == 0) {
        return;
    }
    jit->decided = true;
    jit->training = jit->function[pick_training(jit)].owner;
    int cycles = count_cycles(track, jit->training);
    jit->last = last_of_cycle(track, cycles);
    for (int i = 0; i < jit->functions; i++) {
        if (jit->function[i].cycles * 2 < cycles) {
            jit->function[i].cycles = 0;
        }
    }
    release_held(track);
}

static bool hold(struct jit *jit, const struct item *item)
{
    if (!jit->held) {
        jit->held = calloc(JIT_HELD, sizeof *jit->held);
    }
    if (!jit->held || jit->held_count == JIT_HELD) {
        return false;
    }
    jit->held[jit->held_count++] = (struct held_item){*item, *item->work};
    return true;
}

void jit_turn_off(struct track *track)
{
    track->jit.off = true;
    release_held(track);
}

void jit_item(struct track *track, struct item *item)
{
    struct jit *jit = &track->jit;
    bool other_source = (item->work->marks & WORK_UPDATE) ||
                        (track->loop && track->loop->source > SOURCE_JIT);
    if (other_source && !jit->off && !jit->decided) {
        jit_turn_off(track);
    }
    bool waiting = !jit->off && !jit->decided &&
                   (jit->held_count > 0 || item->role == SS_ROLE_JIT_CALL);
    if (!waiting) {
        pass_on(track, item);
        return;
    }
    int calls =
        item->role == SS_ROLE_JIT_CALL ? count_call(jit, owner_of(track, item), item) : 0;
    bool held = hold(jit, item);
    if (!held || calls > JIT_CYCLES || jit->held_count == JIT_HELD) {
        jit_decide(track);
    }
    if (!held) {
        pass_on(track, item);
    }
}
