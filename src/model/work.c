#include "model/work.h"

#include <string.h>

void work_add(struct work *to, const struct work *from)
{
    for (int i = 0; i < SS_STAGE_COUNT; i++) {
        to->stage_ns[i] += from->stage_ns[i];
    }
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
    memset(work, 0, sizeof *work);
}

int64_t work_stage_total(const struct work *work)
{
    int64_t total = 0;
    for (int i = 0; i < SS_STAGE_COUNT; i++) {
        total += work->stage_ns[i];
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
