#include "model/outside.h"

int64_t outside_take(int64_t *left, int64_t wanted)
{
    int64_t taken = wanted < *left ? wanted : *left;
    *left -= taken;
    return taken;
}

struct outside outside_split(const struct work *work, int64_t time_ns, enum model_segment kind)
{
    struct outside outside = {.rest_ns = time_ns};
    const bool before_steps = kind == SEGMENT_STARTUP_NS || kind == SEGMENT_IDLE_NS;
    for (int i = 0; i < CUT_COUNT; i++)
        outside.cut_ns[i] = outside_take(&outside.rest_ns, work->cut_ns[i]);
    if (before_steps)
        outside.compile_ns = outside_take(&outside.rest_ns, work->stage_ns[SS_STAGE_COMPILE]);
    return outside;
}

void outside_add(int64_t books[MODEL_SEGMENT_COUNT], const struct outside *outside,
                 enum model_segment kind)
{
    for (int i = 0; i < CUT_COUNT; i++)
        books[SEGMENT_EVAL_NS + i] += outside->cut_ns[i];
    books[SEGMENT_COMPILE_NS] += outside->compile_ns;
    books[kind] += outside->rest_ns;
}
