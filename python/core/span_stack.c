#include "span_stack.h"

#include "base/compiler.h"
#include "record/session.h"

static bool is_recording(const struct pen *pen)
{
    return pen->lane && pen->gate == gate_now();
}

/* How many spans are open between `top` and the innermost one of this name below it; -1: there is none. */
static int count_inside(const struct pen *pen, const struct ss_open_span *top,
                        uint16_t id)
{
    const struct ss_open_span *bottom = &pen->block->open[0];

    for (const struct ss_open_span *open = top - 1; open > bottom; open--)
        if (open->head.name == id)
            return (int)(top - 1 - open);
    return -1;
}

ATTR_NOINLINE static void end_slow(ss_name name, unsigned flags)
{
    const struct pen *pen = &session_tls;

    if (!is_recording(pen))
        return;
    /* Past the full stack the innermost one is only counted: then there is nothing to look for. */
    if (pen->too_deep == 0) {
        int inside = count_inside(pen, pen->top, SS_NAME_ID(name));
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

bool span_stack_take_back(ss_name name)
{
    struct pen *pen = &session_tls;
    const uint16_t id = SS_NAME_ID(name);

    if (!is_recording(pen) || pen->too_deep > 0 || count_inside(pen, pen->top, id) != 0 ||
        count_inside(pen, pen->top - 1, id) < 0)
        return false;
    pen_pop(pen, pen_load_head(&pen->top[-1].head));
    return true;
}
