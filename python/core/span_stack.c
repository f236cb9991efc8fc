#include "span_stack.h"

#include "base/compiler.h"
#include "record/session.h"

/* How many spans are open inside the innermost one of this name; -1: there is none. */
static int count_inside(const struct pen *pen, uint16_t id)
{
    const struct ss_open_span *bottom = &pen->block->open[0];

    for (const struct ss_open_span *open = pen->top - 1; open > bottom; open--)
        if (open->head.name == id)
            return (int)(pen->top - 1 - open);
    return -1;
}

ATTR_NOINLINE static void end_slow(ss_name name, unsigned flags)
{
    const struct pen *pen = &session_tls;

    if (!pen->lane || pen->gate != gate_now())
        return;
    /* Past the full stack the innermost one is only counted: then there is nothing to look for. */
    if (pen->too_deep == 0) {
        int inside = count_inside(pen, SS_NAME_ID(name));
        if (inside < 0)
            return;
        for (; inside > 0; inside--)
            ss_end(SS_FLAG_UNFINISHED, 0);
    }
    ss_end(flags, 0);
}

void span_stack_end(ss_name name, unsigned flags)
{
    struct pen *pen = &session_tls;

    if (LIKELY(pen->fast_gate == gate_now() && pen_can_end(pen) &&
               pen->top[-1].head.name == SS_NAME_ID(name)))
        pen_end(pen, ticks_counter(), flags, 0);
    else
        end_slow(name, flags);
}
