#include "support/play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

unsigned play_name(struct script *s, const char *text, unsigned stage)
{
    return script_name(s, text, stage, SS_ROLE_NONE, SS_SCOPE_NONE, "");
}

unsigned play_optimizer(struct script *s, const char *object)
{
    return script_name(s, "step", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, SS_SCOPE_NONE, object);
}

unsigned play_jitted(struct script *s, const char *function)
{
    return script_name(s, function, SS_STAGE_COMPUTE, SS_ROLE_JIT_CALL, SS_SCOPE_NONE, function);
}

struct play play_new(void)
{
    struct script *s = script_new();
    return (struct play){.s = s,
                         .setup = play_name(s, "iter", SS_STAGE_SETUP),
                         .data = play_name(s, "next", SS_STAGE_DATA),
                         .transfer = play_name(s, "to", SS_STAGE_TRANSFER),
                         .forward = play_name(s, "forward", SS_STAGE_FORWARD),
                         .backward = play_name(s, "backward", SS_STAGE_BACKWARD),
                         .adam = play_optimizer(s, "Adam"),
                         .sgd = play_optimizer(s, "SGD"),
                         .zero = play_name(s, "zero_grad", SS_STAGE_OPTIMIZER),
                         .sync = play_name(s, "item", SS_STAGE_SYNC),
                         .save = play_name(s, "save", SS_STAGE_CHECKPOINT),
                         .compile = play_name(s, "trace", SS_STAGE_COMPILE),
                         .evaluate = play_name(s, "evaluate", SS_STAGE_EVAL),
                         .compute = play_name(s, "fused", SS_STAGE_COMPUTE),
                         .user = play_name(s, "block", SS_STAGE_USER),
                         .fit = script_name(s, "fit", SS_STAGE_USER, SS_ROLE_LOOP, 0, "")};
}

void play_update(const struct play *p, unsigned by)
{
    script_span(p->s, p->forward, TRAIN, 20);
    script_span(p->s, p->backward, 0, 30);
    script_span(p->s, by, 0, 5);
}

void play_batch(const struct play *p, unsigned by)
{
    script_span(p->s, p->data, 0, 10);
    play_update(p, by);
}

void play_end_of_iterator(const struct play *p)
{
    script_span(p->s, p->data, FAILED, 1);
}

const struct snap_loop *play_only_loop(const struct snapshot *snapshot)
{
    assert_int_equal(snapshot->loop_count, 1);
    return &snapshot->loops[0];
}

int64_t play_segment(const struct snapshot *snapshot, enum model_segment which)
{
    return snapshot->threads[0].segment_ns[which];
}
