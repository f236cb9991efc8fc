#include "model/work.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

void work_add(struct work *to, const struct work *from)
{
    for (uint32_t left = from->stages; left; left &= left - 1) {
        const int i = LOWEST_BIT(left);
        to->stage_ns[i] += from->stage_ns[i];
    }
    to->stages |= from->stages;
    for (int i = 0; i < CUT_COUNT; i++) {
        to->cut_ns[i] += from->cut_ns[i];
    }
    to->batches += from->batches;
    to->forwards += from->forwards;
    to->updates += from->updates;
    to->update_owner = to->update_owner ? to->update_owner : from->update_owner;
    to->train_steps += from->train_steps;
    to->marks |= from->marks;
}

void work_clear(struct work *work)
{
    for (uint32_t left = work->stages; left; left &= left - 1) {
        work->stage_ns[LOWEST_BIT(left)] = 0;
    }
    memset(work, 0, offsetof(struct work, stage_ns));
}

int64_t work_stage_total(const struct work *work)
{
    int64_t total = 0;
    for (uint32_t left = work->stages; left; left &= left - 1) {
        total += work->stage_ns[LOWEST_BIT(left)];
    }
    return total;
}

int64_t work_cut_total(const struct work *work)
{
    int64_t total = 0;
    for (int i = 0; i < CUT_COUNT; i++) {
        total += work->cut_ns[i];
    }
    return total;
}

int work_cut_of_stage(unsigned stage)
{
    switch (stage) {
    case SS_STAGE_EVAL:
        return CUT_EVAL;
    case SS_STAGE_INFER:
        return CUT_INFER;
    case SS_STAGE_CHECKPOINT:
        return CUT_CHECKPOINT;
    default:
        return -1;
    }
}
