/* The spans of hooks, where the fast path in hook_visit.c does not do. */
#include "hook.h"

#include <errno.h>

void hook_begin_slow(ss_name name, unsigned flags, struct hook_visit *visit)
{
    const struct pen *pen = &session_tls;
    ss_begin(name, flags);
    visit->open = NULL;
    if (pen->gate == gate_now()) {
        visit->open = pen->top - 1;
        visit->start_ticks = visit->open->start_ticks;
        visit->depth = hook_depth(pen);
        if (pen->gate != hook_told) {
            hook_tell();
        }
    }
}

/* What was left open inside is counted from the outside: spans too deep to be recorded count too. */
void hook_end_slow(const struct hook_visit *visit, unsigned flags, int64_t arg)
{
    const int error = errno;
    const struct pen *pen = hook_pen();
    if (hook_is_open(visit, pen)) {
        uint32_t depth = hook_depth(pen);
        for (; depth > visit->depth; depth--) {
            ss_end(SS_FLAG_UNFINISHED, 0);
        }
        if (depth == visit->depth) {
            ss_end(flags, arg);
        }
    }
    errno = error;
}
