#include "stack_room.h"

#include <errno.h>
#include <pthread.h>

#if PY_VERSION_HEX < 0x030c0000
enum {
    SPARE_MOST = 256 * 1024
}; /* for what is called meanwhile, or a quarter of the stack */

_Thread_local uintptr_t stack_room_end __attribute__((tls_model(SS_TLS_MODEL))) =
    UINTPTR_MAX;
static _Thread_local uintptr_t low __attribute__((tls_model(SS_TLS_MODEL)));

/* If it can not be told, there is always room. */
static void learn(void)
{
    pthread_attr_t attributes;
    void *start = NULL;
    size_t size = 0;

    stack_room_end = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &start, &size) == 0) {
        low = (uintptr_t)start;
        stack_room_end = low + (size / 4 < SPARE_MOST ? size / 4 : SPARE_MOST);
    }
    pthread_attr_destroy(&attributes);
}

bool stack_room_look(uintptr_t here)
{
    const int error = errno;

    if (stack_room_end == UINTPTR_MAX)
        learn();
    errno = error;
    if (here >= stack_room_end || here < low) /* below: a stack of somebody's own */
        return true;
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded: a function "
                                          "that is timed needs room on the C stack");
    return false;
}
#endif
