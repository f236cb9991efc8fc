#include "hook_wait.h"

#include <time.h>

enum { LEAST_NS = 20000 }; /* less is the cost of the call itself */

ATTR_HOT_DATA bool hook_wait_is_on;

/* How often `comm` was seen on this thread, and how often when the open call began. */
static _Thread_local unsigned comms __attribute__((tls_model(SS_TLS_MODEL)));
static _Thread_local unsigned comms_before __attribute__((tls_model(SS_TLS_MODEL)));

int hook_wait_read(PyObject *row, struct hook_point *point)
{
    PyObject *name = PyDict_GetItemString(row, "waits");
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
    if (!text) {
        return PyErr_Occurred() ? -1 : 0;
    }
    point->wait_name = ss_intern(text, SS_STAGE_COMM, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    point->options |= HOOK_WAITS;
    return 0;
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) == 0
               ? (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec
               : 0;
}

void hook_wait_begin(const struct hook_point *point, struct hook_visit *visit)
{
    comms += point->is_comm;
    if (point->options & HOOK_WAITS && visit->open) {
        comms_before = comms;
        visit->wall_ns = now_ns(CLOCK_MONOTONIC);
        visit->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    }
}

void hook_wait_end(const struct hook_visit *visit)
{
    const struct hook_point *point = visit->point;
    if (comms != comms_before) {
        return;
    }
    const uint64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - visit->cpu_ns;
    const uint64_t wall_ns = now_ns(CLOCK_MONOTONIC) - visit->wall_ns;
    if (wall_ns > cpu_ns + LEAST_NS && hook_is_open(visit, hook_pen())) {
        const ss_ticks now = ss_now();
        const ss_ticks waited = ss_ticks_of_ns((int64_t)(wall_ns - cpu_ns));
        ss_append(point->wait_name, now - waited, now, SS_FLAG_ESTIMATE, 0);
    }
}

PyObject *hook_wait_switch(PyObject *module, PyObject *on)
{
    (void)module;
    hook_wait_is_on = PyObject_IsTrue(on) == 1;
    PyErr_Clear();
    Py_RETURN_NONE;
}
