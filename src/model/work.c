#include "model/work.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/saturate.h"

static void add_count(int32_t *sum, int32_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = INT32_MAX;
}

void work_add(struct work *to, const struct work *from)
{
    if (UNLIKELY(from->stages >> SS_STAGE_COMPILE & 1)) {
        to->late_compile_ns +=
            to->marks & WORK_UPDATE ? from->stage_ns[SS_STAGE_COMPILE] : from->late_compile_ns;
    }
    for (uint32_t left = from->stages; left; left &= left - 1) {
        const int i = LOWEST_BIT(left);
        to->stage_ns[i] += from->stage_ns[i];
    }
    to->stages |= from->stages;
    if (UNLIKELY(from->marks & WORK_CUTS))
        for (int i = 0; i < CUT_COUNT; i++)
            to->cut_ns[i] += from->cut_ns[i];
    saturate_add(&to->samples, from->samples);
    saturate_add(&to->bytes, from->bytes);
    add_count(&to->batches, from->batches);
    add_count(&to->batches_inside, from->batches_inside);
    add_count(&to->updates, from->updates);
    to->update_owner = to->update_owner ? to->update_owner : from->update_owner;
    saturate_add(&to->train_steps, from->train_steps);
    to->marks |= from->marks;
}

static void clear_stages(struct work *work)
{
    for (uint32_t left = work->stages; left; left &= left - 1)
        work->stage_ns[LOWEST_BIT(left)] = 0;
    work->stages = 0;
}

void work_clear(struct work *work)
{
    clear_stages(work);
    memset(work, 0, offsetof(struct work, stage_ns));
}

void work_clear_times(struct work *work)
{
    clear_stages(work);
    memset(work->cut_ns, 0, sizeof work->cut_ns);
    work->late_compile_ns = 0;
}

int64_t work_total(const struct work *work)
{
    int64_t total = 0;
    for (uint32_t left = work->stages; left; left &= left - 1)
        total += work->stage_ns[LOWEST_BIT(left)];
    for (int i = 0; work->marks & WORK_CUTS && i < CUT_COUNT; i++)
        total += work->cut_ns[i];
    return total;
}

static int64_t *largest_of(struct work *work)
{
    int64_t *largest = &work->stage_ns[0];
    for (int i = 1; i < SS_STAGE_COUNT; i++)
        largest = work->stage_ns[i] > *largest ? &work->stage_ns[i] : largest;
    for (int i = 0; i < CUT_COUNT; i++)
        largest = work->cut_ns[i] > *largest ? &work->cut_ns[i] : largest;
    return largest;
}

void work_shorten(struct work *work, unsigned stage, int64_t ns)
{
    int64_t *from = &work->stage_ns[stage];
    for (from = *from > 0 ? from : largest_of(work); ns > 0 && *from > 0; from = largest_of(work)) {
        int64_t part = *from < ns ? *from : ns;
        *from -= part;
        ns -= part;
    }
    if (work->late_compile_ns > work->stage_ns[SS_STAGE_COMPILE])
        work->late_compile_ns = work->stage_ns[SS_STAGE_COMPILE];
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
