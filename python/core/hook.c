/* A hooked call: the span begins before the original and ends after it, and the extras of its row
 * enter and leave around and inside it. */
#include "hook.h"

#include <errno.h>
#include <pthread.h>

#include "collector.h"
#include "frames_layout.h"
#include "hook_extras.h"
#include "hook_name.h"

ATTR_HOT_DATA struct hook_state hook_state = {.is_on = true}; /* read in every call */

/* Read in every call too. */
_Thread_local uint64_t hook_open_groups __attribute__((tls_model(SS_TLS_MODEL)));

static void after_fork_in_child(void)
{
    hook_open_groups = 0;
}

void hook_ready(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* Spans: the fast path of ss_begin() and ss_end() (pen.h) with what a visit needs to know, and
 * everything else. */

void hook_begin(ss_name name, unsigned flags, struct hook_visit *visit)
{
    const struct pen *pen = &session_tls;
    ss_begin(name, flags);
    visit->open = NULL;
    if (pen->gate == gate_now()) {
        visit->open = pen->top - 1;
        visit->start_ticks = visit->open->start_ticks;
        visit->depth = hook_depth(pen);
        if (pen->gate != hook_state.told)
            hook_tell();
    }
}

static inline void begin_fast(ss_name name, unsigned flags, struct hook_visit *visit)
{
    struct pen *pen = &session_tls;
    const int32_t now = gate_now();
    if (LIKELY(pen->fast_gate == now && hook_state.told == now && pen_can_begin(pen))) {
        const struct ss_open_span *open = pen->top;
        pen_begin(pen, name, flags, SS_CLOCK_TSC);
        visit->open = open;
        visit->start_ticks = open->start_ticks;
        visit->depth = hook_depth(pen);
    } else {
        hook_begin(name, flags, visit);
    }
}

/* What was left open inside is counted from the outside: spans too deep to be recorded count
 * too. */
void hook_end(const struct hook_visit *visit, unsigned flags, int64_t argument)
{
    const int error = errno;
    const struct pen *pen = hook_pen();
    if (hook_is_open(visit, pen)) {
        uint32_t depth = hook_depth(pen);
        for (; depth > visit->depth; depth--)
            ss_end(SS_FLAG_UNFINISHED, 0);
        if (depth == visit->depth)
            ss_end(flags, argument);
    }
    errno = error;
}

static inline void end_fast(const struct hook_visit *visit, unsigned flags, int64_t argument)
{
    struct pen *pen = &session_tls;
    if (LIKELY(pen->fast_gate == gate_now() && visit->open == pen->top - 1 &&
               visit->open->start_ticks == visit->start_ticks && pen_can_end(pen)))
        pen_end(pen, ticks_counter(), flags, argument);
    else if (visit->open)
        hook_end(visit, flags, argument);
}

/* The innermost open span, if it is the visit's own. */
static struct ss_open_span *own_span(const struct hook_visit *visit)
{
    const struct pen *pen = visit->open ? hook_pen() : NULL;
    return hook_is_open(visit, pen) && visit->open == pen->top - 1 && !pen->too_deep ? pen->top - 1
                                                                                     : NULL;
}

static void drop_span(const struct hook_visit *visit)
{
    const struct ss_open_span *open = own_span(visit);
    if (open)
        pen_pop(&session_tls, pen_load_head(&open->head));
    else
        end_fast(visit, 0, 0);
}

void hook_rename(const struct hook_visit *visit, ss_name name)
{
    struct ss_open_span *open = own_span(visit);
    if (open)
        open->head.name = SS_NAME_ID(name);
}

/* Before the call. */

static unsigned ask_query(const struct hook_point *point)
{
    PyObject *answer = point->query_function
                           ? point->query_function(PyCFunction_GET_SELF(point->query), NULL)
                           : PyObject_CallNoArgs(point->query);
    if (!answer) {
        PyErr_Clear();
        return 0;
    }
    const bool is_true = answer == Py_True;
    Py_DECREF(answer);
    return is_true ? SS_FLAG_TRAIN : SS_FLAG_EVAL;
}

ATTR_HOT static void begin_span(const struct hook_point *point, ss_name name,
                                struct hook_visit *visit)
{
    const unsigned asked = point->query ? ask_query(point) : 0;
    visit->point = point;
    visit->name = name;
    visit->cpu_ns = 0;
    begin_fast(name, point->flags | asked | hook_state.condition, visit);
}

static bool enter_all(hook_enter_function *const *enter, struct hook_visit *visit,
                      const struct hook_call *call)
{
    for (; *enter; enter++)
        if (!(*enter)(visit, call))
            return false;
    return true;
}

/* The point that took the last call from the function that makes this one; NULL: none did. */
static const struct hook_point *find_again(const struct hook_point *point, ss_name *name)
{
    const void *frame = point->whose == HOOK_WHOSE_CALLER ? frames_layout_running() : NULL;
    while (frame && point &&
           !(point->whose == HOOK_WHOSE_CALLER && hook_naming_is_again(point->naming, frame, name)))
        point = point->next;
    return frame ? point : NULL;
}

/* The first point that takes the call, and what it calls it; NULL: none does. */
static const struct hook_point *find_point(const struct hook_point *point,
                                           const struct hook_call *call, ss_name *name)
{
    struct hook_subject subject = {0};
    for (; point; point = point->next) {
        const bool is_callers = point->whose == HOOK_WHOSE_CALLER;
        PyObject *self = hook_argument(call, is_callers ? 0 : point->whose);
        if (self != subject.self) {
            Py_XDECREF(subject.value);
            subject = (struct hook_subject){.self = self};
        }
        *name = point->name;
        if (!point->naming || hook_naming_of(point->naming, point->object, &subject, name))
            break;
    }
    Py_XDECREF(subject.value);
    return point;
}

ATTR_HOT ATTR_NOINLINE static void enter_with_more(const struct hook_point *point,
                                                   const struct hook_call *call,
                                                   struct hook_visit *visit)
{
    ss_name name = 0;
    visit->point = NULL;
    visit->open = NULL;
    visit->cpu_ns = 0;
    if (point->part == HOOK_PART_END) {
        visit->point = point;
        return;
    }
    const struct hook_point *again = find_again(point, &name);
    point = again ? again : find_point(point, call, &name);
    if (!point || hook_open_groups & point->outermost)
        return;
    hook_open_groups |= point->outermost;
    visit->point = point;
    visit->name = name;
    if (!enter_all(point->enter_outer, visit, call)) {
        hook_open_groups &= ~point->outermost;
        visit->point = NULL;
        return;
    }
    if (point->is_recorded)
        begin_span(point, name, visit);
    (void)enter_all(point->enter_inner, visit, call);
}

void hook_enter(const struct hook_point *point, const struct hook_call *call,
                struct hook_visit *visit)
{
    collector_poke(); /* a step has such a call at least */
    if (!point->enters_plainly) {
        enter_with_more(point, call, visit);
        return;
    }
    ss_name name = point->name;
    if (point->naming && !hook_naming_of_object(point->naming, point->object,
                                                hook_argument(call, point->whose), &name)) {
        visit->point = NULL;
        return;
    }
    hook_open_groups |= point->outermost;
    begin_span(point, name, visit);
    if (UNLIKELY(hook_state.measuring))
        (void)enter_all(point->enter_inner, visit, call);
}

/* After it. */

static void leave_all(hook_leave_function *const *leave, const struct hook_visit *visit,
                      const struct hook_call *call, PyObject *result, struct hook_ending *end)
{
    for (; *leave; leave++)
        (*leave)(visit, call, result, end);
}

/* Some extras run Python code, which may change errno. */
ATTR_HOT ATTR_NOINLINE static void leave_with_more(const struct hook_visit *visit,
                                                   const struct hook_call *call, PyObject *result,
                                                   unsigned flags)
{
    const struct hook_point *point = visit->point;
    const int error = errno;
    if (point->part == HOOK_PART_END) {
        hook_pair_end_span(point, call);
        errno = error;
        return;
    }
    struct hook_ending end = {.flags = flags};
    hook_open_groups &= ~point->outermost;
    leave_all(point->leave_inner, visit, call, result, &end);
    if (end.is_dropped)
        drop_span(visit);
    else if (!end.stays_open)
        end_fast(visit, end.flags, end.argument);
    leave_all(point->leave_outer, visit, call, result, &end);
    errno = error;
}

static bool is_kind_of(PyObject *raised, PyObject *kind)
{
    return PyType_Check(raised) && PyType_IsSubtype((PyTypeObject *)raised, (PyTypeObject *)kind);
}

/* Flags for a call that raised: the end of an iterator is no failure, but for data. */
static unsigned failure_of(const struct hook_point *point)
{
    PyObject *raised = PyErr_Occurred(); /* none: a C iterator may end without one */
    const bool is_end = !raised || is_kind_of(raised, PyExc_StopIteration) ||
                        is_kind_of(raised, PyExc_StopAsyncIteration) ||
                        is_kind_of(raised, PyExc_GeneratorExit);
    return is_end && !point->is_data ? 0 : SS_FLAG_FAILED;
}

PyObject *hook_leave(const struct hook_visit *visit, const struct hook_call *call, PyObject *result)
{
    const struct hook_point *point = visit->point;
    if (!point)
        return result;
    const unsigned flags = point->flags | (result ? 0 : failure_of(point));
    if (LIKELY(point->leaves_plainly && !visit->cpu_ns &&
               !(hook_state.measuring & (HOOK_MEASURES_DEVICE | HOOK_MEASURES_LAYERS)))) {
        hook_open_groups &= ~point->outermost;
        end_fast(visit, flags, 0);
    } else {
        leave_with_more(visit, call, result, flags);
    }
    return result;
}

void hook_leave_unseen(const struct hook_visit *visit)
{
    if (visit->point && visit->point->part != HOOK_PART_END) {
        hook_open_groups &= ~visit->point->outermost;
        drop_span(visit);
    }
}
