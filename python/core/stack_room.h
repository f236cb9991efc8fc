/* Whether the C stack has room for another call of Python code from here.
 *
 * From 3.11 on a Python function that calls another one uses no C stack, so scripts raise the limit of
 * recursion far beyond what that has room for; with a call of ours in between it is used after all. 3.12
 * counts such calls itself, before that nobody does. */
#ifndef PYTHON_STACK_ROOM_H
#define PYTHON_STACK_ROOM_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

#if PY_VERSION_HEX < 0x030c0000
/* Below this address of the calling thread it gets narrow; UINTPTR_MAX: not known yet. */
extern _Thread_local uintptr_t stack_room_end __attribute__((tls_model(SS_TLS_MODEL)));

/* The rest of the below: false with RecursionError. */
bool stack_room_look(uintptr_t here);

static inline bool stack_has_room(void)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    return LIKELY(here >= stack_room_end) || stack_room_look(here);
}
#else
static inline bool stack_has_room(void)
{
    return true;
}
#endif

#endif
