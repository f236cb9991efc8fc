#include "model/arms.h"

#include <stdlib.h>
#include <string.h>

#include "model/model_state.h"
#include "model/thread.h"

enum {
    BLOCKS_KEPT = 16, /* steps come a little later than the records around them */
    ROUNDS_KEPT = 512 /* beyond that two neighbouring rounds become one */
};
/* Beyond this part of the loop's own time, other threads work for it: then what its thread waited
 * for a core does not tell how long a step would be on a quiet machine (method 13.2). */
static const double helpers_most = 0.1;

struct arms_block {
    size_t arm;
    uint64_t round;
    bool is_settling;
    int64_t start_ns, end_ns; /* INT64_MAX: goes on */
    struct arms_reading from, to;
    int64_t steps;
    double step_ns;
};

static struct arms *new_arms(struct model *model)
{
    struct arms *arms = calloc(1, sizeof *arms);
    struct arms_block *blocks = calloc(BLOCKS_KEPT, sizeof *blocks);

    if (!arms || !blocks) {
        free(arms);
        free(blocks);
        model->error = SS_E_NOMEM;
        return NULL;
    }
    arms->blocks = blocks;
    for (int clock = 0; clock < ARMS_CLOCKS; clock++)
        rounds_init(&arms->rounds[clock], ROUNDS_ARMS_MOST);
    return arms;
}

void arms_free(struct arms *arms)
{
    if (!arms)
        return;
    for (size_t i = 0; i < arms->count; i++)
        free(arms->sum[i].label);
    for (int clock = 0; clock < ARMS_CLOCKS; clock++)
        rounds_release(&arms->rounds[clock]);
    free(arms->blocks);
    free(arms);
}

static struct arms *arms_of(struct thread *thread)
{
    if (!thread->arms)
        thread->arms = new_arms(thread->model);
    return thread->arms;
}

void arms_clock(struct thread *thread, const struct ss_record *record)
{
    struct arms *const arms = arms_of(thread);

    if (arms)
        arms->last = (struct arms_reading){.time_ns = record->time_ns,
                                           .waited_ns = record->u.waited_ns,
                                           .others_ns = record->subject,
                                           .is_known = true};
}

/* SIZE_MAX: there are too many, or no memory. */
static size_t find_arm(struct arms *arms, const char *label)
{
    for (size_t i = 0; i < arms->count; i++)
        if (strcmp(arms->sum[i].label, label) == 0)
            return i;
    if (arms->count == ROUNDS_ARMS_MOST)
        return SIZE_MAX;
    char *const copy = strdup(label);
    if (!copy)
        return SIZE_MAX;
    arms->sum[arms->count].label = copy;
    return arms->count++;
}

/* Where a round is found, after as many were put together as there had to be. */
static size_t place_of_round(struct arms *arms, uint64_t round)
{
    while (arms->halved < 63 && round >> arms->halved >= ROUNDS_KEPT) {
        for (int clock = 0; clock < ARMS_CLOCKS; clock++)
            rounds_halve(&arms->rounds[clock]);
        arms->halved++;
    }
    return (size_t)(round >> arms->halved) % ROUNDS_KEPT;
}

/* What its thread waited for a core, of all of its time; -1: not known. */
static double waited_share(const struct arms_block *block)
{
    const double length = (double)(block->to.time_ns - block->from.time_ns);

    if (!block->from.is_known || !block->to.is_known || length <= 0 ||
        block->to.waited_ns < block->from.waited_ns)
        return -1;
    const double share = (double)(block->to.waited_ns - block->from.waited_ns) / length;
    return share < 1 ? share : 1;
}

/* All of its steps have been seen. */
static void take_block(struct arms *arms, const struct arms_block *block)
{
    const double waited = waited_share(block), units = (double)block->steps;
    const double quiet_ns = block->step_ns * (waited > 0 ? 1 - waited : 1);

    if (block->is_settling || block->steps == 0)
        return;
    const size_t round = place_of_round(arms, block->round);
    (void)rounds_add(&arms->rounds[ARMS_WALL], round, block->arm, block->step_ns, units);
    (void)rounds_add(&arms->rounds[ARMS_QUIET], round, block->arm, quiet_ns, units);
    struct arms_sum *const sum = &arms->sum[block->arm];
    sum->steps += block->steps;
    sum->wall_ns += block->step_ns;
    sum->quiet_ns += quiet_ns;
    if (waited < 0)
        sum->lacks_quiet = true;
    else if (block->to.others_ns > block->from.others_ns) /* two clocks, read one after the other */
        sum->others_ns += (double)(block->to.others_ns - block->from.others_ns);
}

static void take_oldest(struct arms *arms)
{
    take_block(arms, &arms->blocks[0]);
    arms->block_count--;
    memmove(arms->blocks, arms->blocks + 1, arms->block_count * sizeof arms->blocks[0]);
}

void arms_switch(struct thread *thread, const struct ss_record *record)
{
    const struct model_names *const names = &thread->model->names;
    const uint32_t name = model_names_find(names, thread->process, record->name);
    struct arms *const arms = arms_of(thread);
    const size_t arm = arms ? find_arm(arms, names->name[name].text) : SIZE_MAX;

    if (!arms)
        return;
    const struct arms_reading now = arms->last; /* written right before */
    arms->last.is_known = false;
    if (arms->block_count > 0) {
        struct arms_block *const before = &arms->blocks[arms->block_count - 1];
        before->end_ns = record->time_ns;
        before->to = now;
    }
    if (arms->block_count == BLOCKS_KEPT)
        take_oldest(arms);
    if (arm == SIZE_MAX)
        return;
    arms->blocks[arms->block_count++] =
        (struct arms_block){.arm = arm,
                            .round = record->u.round,
                            .is_settling = (record->flags & SS_FLAG_PERTURBED) != 0,
                            .start_ns = record->time_ns,
                            .end_ns = INT64_MAX,
                            .from = now};
}

static struct arms_block *block_of(const struct arms *arms, const struct item *step)
{
    const int64_t middle_ns = step->start_ns + (step->end_ns - step->start_ns) / 2;

    for (size_t i = arms->block_count; i-- > 0;)
        if (arms->blocks[i].start_ns <= middle_ns)
            return middle_ns < arms->blocks[i].end_ns ? &arms->blocks[i] : NULL;
    return NULL;
}

bool arms_step(struct arms *arms, const struct item *step, int64_t steps, int64_t time_ns,
               bool counted)
{
    while (arms->block_count > 0 && arms->blocks[0].end_ns <= step->start_ns)
        take_oldest(arms);
    struct arms_block *const block = block_of(arms, step);
    if (!block)
        return counted;
    if (counted) {
        block->steps += steps;
        block->step_ns += (double)time_ns;
    }
    return counted && block->arm == 0 && !block->is_settling;
}

const char *arms_of_step(const struct arms *arms, const struct item *step)
{
    const struct arms_block *const block = arms ? block_of(arms, step) : NULL;

    return block ? arms->sum[block->arm].label : NULL;
}

bool arms_is_quiet(const struct arms *arms, size_t arm)
{
    const struct arms_sum *const sum = &arms->sum[arm];

    return !sum->lacks_quiet && sum->others_ns <= helpers_most * sum->quiet_ns;
}
