/* What is recorded of a call: the span begins before the original and ends after it. Rows are read in hook_point.c; what few of
 * them ask for is in a module each (hook_count.h, hook_samples.h and so on). */
#include "hook.h"

#include "collector.h"
#include "device_events.h"
#include "frames_layout.h"
#include "hook_count.h"
#include "hook_inform.h"
#include "hook_name.h"
#include "hook_numbers.h"
#include "hook_pair.h"
#include "hook_samples.h"
#include "hook_wait.h"
#include "span_stack.h"
#include <errno.h>
#include <pthread.h>

ATTR_HOT_DATA bool hook_is_on = true;
ATTR_HOT_DATA unsigned hook_condition;

_Thread_local uint64_t hook_open_groups __attribute__((tls_model(SS_TLS_MODEL)));

static void after_fork_in_child(void)
{
    hook_open_groups = 0;
}

void hook_visit_ready(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* The fast path of ss_begin() and ss_end() (pen.h), with what a visit needs to know. */

static inline void begin_fast(const struct hook_point *point, ss_name name,
                              unsigned flags, struct hook_visit *visit)
{
    struct pen *pen = &session_tls;
    const int32_t now = gate_now();
    visit->point = point;
    if (LIKELY(pen->fast_gate == now && hook_told == now && pen_can_begin(pen))) {
        const struct ss_open_span *open = pen->top;
        pen_begin(pen, name, flags, SS_CLOCK_TSC);
        visit->open = open;
        visit->start_ticks = open->start_ticks;
        visit->depth = hook_depth(pen);
    } else {
        hook_begin_slow(name, flags, visit);
    }
}

/* Ends what was left open inside too; nothing if the span is not on the stack any more. */
static inline void end_fast(const struct hook_visit *visit, unsigned flags, int64_t arg)
{
    struct pen *pen = &session_tls;
    if (LIKELY(pen->fast_gate == gate_now() && visit->open == pen->top - 1 &&
               visit->open->start_ticks == visit->start_ticks && pen_can_end(pen))) {
        pen_end(pen, ticks_counter(), flags, arg);
    } else if (visit->open) {
        hook_end_slow(visit, flags, arg);
    }
}

/* Calls that need more than a name. */

static unsigned ask_train(const struct hook_point *point)
{
    PyObject *answer = point->ask ? point->ask(PyCFunction_GET_SELF(point->query), NULL)
                                  : PyObject_CallNoArgs(point->query);
    if (!answer) {
        PyErr_Clear();
        return 0;
    }
    const bool is_true = answer == Py_True;
    Py_DECREF(answer);
    return is_true ? SS_FLAG_TRAIN : SS_FLAG_EVAL;
}

/* The point that took the last call from the function that makes this one; NULL: none did. */
static const struct hook_point *find_again(const struct hook_point *point, ss_name *name)
{
    const void *frame = point->is_callers ? frames_layout_running() : NULL;
    while (frame && point &&
           !(point->is_callers && hook_naming_is_again(point->by, frame, name))) {
        point = point->next;
    }
    return frame ? point : NULL;
}

/* The first point that takes the call, and what it calls it; NULL: none does. */
static const struct hook_point *find_point(const struct hook_point *point,
                                           const struct hook_call *call, ss_name *name)
{
    struct hook_subject subject = {0};
    for (; point; point = point->next) {
        PyObject *self = hook_argument(call, point->named_after);
        if (self != subject.self) {
            Py_XDECREF(subject.value);
            subject = (struct hook_subject){.self = self};
        }
        *name = point->name;
        if (!point->by || hook_naming_of(point->by, point->options, &subject, name)) {
            break;
        }
    }
    Py_XDECREF(subject.value);
    return point;
}

static bool has_device_events(const struct hook_point *point)
{
    return point->options & HOOK_DEVICE && UNLIKELY(device_events_are_on);
}

/* What is measured of a call beside its time. */
static void begin_measures(const struct hook_point *point, struct hook_visit *visit)
{
    if (UNLIKELY(hook_wait_is_on) && (point->options & HOOK_WAITS || point->is_comm)) {
        hook_wait_begin(point, visit);
    }
    if (has_device_events(point)) {
        device_events_begin(visit);
    }
}

static void end_measures(const struct hook_visit *visit, PyObject *result)
{
    const unsigned options = visit->point->options;
    const bool stays_open = options & HOOK_BEGINS && result;
    if (has_device_events(visit->point) && !stays_open) {
        device_events_end(visit->name);
    }
    if (options & HOOK_WAITS && UNLIKELY(visit->cpu_ns)) {
        hook_wait_end(visit);
    }
}

/* What the same self has begun, or whatever has the name of the point. __exit__ is told which exception
 * leaves the scope. */
static void end_begun(const struct hook_point *point, const struct hook_call *call)
{
    const PyObject *self = hook_argument(call, 0);
    PyObject *kind = hook_argument(call, 1);
    const unsigned failed = kind && PyExceptionClass_Check(kind) ? SS_FLAG_FAILED : 0;
    const int error = errno;
    ss_name name = point->name;
    if (hook_open_groups & point->group || (point->by && !hook_pair_end(self, &name))) {
        return;
    }
    if (has_device_events(point)) {
        device_events_end(name);
    }
    span_stack_end(name, point->flags | failed);
    errno = error;
}

ATTR_HOT static void begin_span(const struct hook_point *point, ss_name name,
                                struct hook_visit *visit)
{
    const unsigned asked = point->options & HOOK_ASKS_TRAIN ? ask_train(point) : 0;
    visit->name = name;
    visit->cpu_ns = 0;
    begin_fast(point, name, point->flags | asked | hook_condition, visit);
    if (UNLIKELY(hook_wait_is_on || device_events_are_on)) {
        begin_measures(point, visit);
    }
}

ATTR_HOT ATTR_NOINLINE static void enter_with_more(const struct hook_point *point,
                                                   const struct hook_call *call,
                                                   struct hook_visit *visit)
{
    ss_name name = 0;
    visit->point = NULL;
    visit->open = NULL;
    if (point->options & HOOK_ENDS) {
        visit->point = point;
        return;
    }
    const struct hook_point *again = find_again(point, &name);
    point = again ? again : find_point(point, call, &name);
    if (!point || hook_open_groups & point->group ||
        hook_numbers_has_none(point->numbers, call)) {
        return;
    }
    hook_open_groups |= point->group;
    if (point->counts_batches) { /* another core has just written it */
        visit->batches = __atomic_load_n(&hook_batches, __ATOMIC_RELAXED);
    }
    if (point->options & HOOK_INFORMS) {
        hook_inform_before(point, call);
    }
    if (point->options & HOOK_SILENT) {
        visit->point = point;
        visit->cpu_ns = 0;
    } else {
        begin_span(point, name, visit);
    }
    if (point->options & HOOK_BEGINS && point->by) {
        hook_pair_begin(hook_argument(call, 0), name);
    }
}

void hook_enter(const struct hook_point *point, const struct hook_call *call,
                struct hook_visit *visit)
{
    collector_poke(); /* a step has such a call at least */
    if (!point->begins_simply) {
        enter_with_more(point, call, visit);
        return;
    }
    ss_name name = point->name;
    if (point->by &&
        !hook_naming_of_object(point->by, point->options,
                               hook_argument(call, point->named_after), &name)) {
        visit->point = NULL;
        return;
    }
    hook_open_groups |= point->group;
    begin_span(point, name, visit);
}

/* The innermost open span, if it is the visit's own. */
static struct ss_open_span *own_span(const struct hook_visit *visit)
{
    const struct pen *pen = visit->open ? hook_pen() : NULL;
    return hook_is_open(visit, pen) && visit->open == pen->top - 1 && !pen->too_deep
               ? pen->top - 1
               : NULL;
}

static void drop_span(const struct hook_visit *visit)
{
    const struct ss_open_span *open = own_span(visit);
    if (open) {
        pen_pop(&session_tls, pen_load_head(&open->head));
    } else {
        end_fast(visit, 0, 0);
    }
}

void hook_rename(const struct hook_visit *visit, ss_name name)
{
    struct ss_open_span *open = own_span(visit);
    if (open) {
        open->head.name = SS_NAME_ID(name);
    }
}

static bool is_at_home(const struct hook_point *point, PyObject *object)
{
    PyObject *answer = object ? PyObject_GetAttr(object, point->at_home) : NULL;
    const bool is_true = answer == Py_True;
    Py_XDECREF(answer);
    PyErr_Clear();
    return is_true;
}

/* Whether something moved between host and device; the span's name is by where to. */
static bool has_moved(const struct hook_visit *visit, const struct hook_call *call,
                      PyObject *result)
{
    const struct hook_point *point = visit->point;
    PyObject *before = hook_argument(call, 0);
    if (result == before) { /* it was there already */
        return false;
    }
    const bool to_host = is_at_home(point, result);
    if (to_host == is_at_home(point, before)) {
        return false;
    }
    if (to_host) {
        hook_rename(visit, point->home_name);
    }
    return true;
}

/* One that another call ends stays open, unless the call that began it failed: then nobody ends it. */
static inline void end_span(const struct hook_visit *visit, const struct hook_call *call,
                            const PyObject *result, unsigned flags, int64_t arg)
{
    const bool begins = visit->point->options & HOOK_BEGINS;
    if (!begins || !result) {
        end_fast(visit, flags, arg);
    }
    if (begins && !result && visit->point->by) {
        ss_name name;
        (void)hook_pair_end(hook_argument(call, 0), &name);
    }
}

/* What few calls need, some of it from Python, which may change errno. */
ATTR_HOT ATTR_NOINLINE static void end_with_more(const struct hook_visit *visit,
                                                 const struct hook_call *call,
                                                 PyObject *result, bool looks,
                                                 bool counts, unsigned flags)
{
    const struct hook_point *point = visit->point;
    const int error = errno;
    int64_t arg = 0;
    end_measures(visit, result);
    if (counts) {
        arg = hook_count_of(visit, call, result);
    }
    if (result == Py_None && point->options & HOOK_NONE_ENDS) {
        flags |= SS_FLAG_FAILED;
    }
    if (looks) {
        hook_samples_look(point->samples, hook_argument(call, 0), result);
    }
    if (result && point->options & HOOK_MOVES && !has_moved(visit, call, result)) {
        drop_span(visit);
    } else {
        end_span(visit, call, result, flags, arg);
    }
    if (point->options & HOOK_INFORMS) {
        hook_inform_after(point, call, result);
    }
    errno = error;
}

ATTR_HOT ATTR_NOINLINE static void leave_with_more(const struct hook_visit *visit,
                                                   const struct hook_call *call,
                                                   PyObject *result, unsigned flags)
{
    const struct hook_point *point = visit->point;
    const unsigned options = point->options;
    if (options & HOOK_ENDS) {
        end_begun(point, call);
        return;
    }
    const bool looks =
        point->samples && visit->open &&
        hook_samples_is_due(point->samples, hook_argument(call, 0), result);
    const bool counts =
        result && options & HOOK_COUNTS && hook_count_is_for(point->count, call);
    hook_open_groups &= ~point->group;
    if (looks || counts || options & (HOOK_NONE_ENDS | HOOK_MOVES | HOOK_INFORMS) ||
        visit->cpu_ns || device_events_are_on) {
        end_with_more(visit, call, result, looks, counts, flags);
    } else {
        end_span(visit, call, result, flags, 0);
    }
    if (result && point->numbers) {
        hook_numbers_see(point->numbers, result);
    }
}

static bool is_kind_of(PyObject *raised, PyObject *kind)
{
    return PyType_Check(raised) &&
           PyType_IsSubtype((PyTypeObject *)raised, (PyTypeObject *)kind);
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

PyObject *hook_leave(const struct hook_visit *visit, const struct hook_call *call,
                     PyObject *result)
{
    const struct hook_point *point = visit->point;
    if (!point) {
        return result;
    }
    const unsigned flags = point->flags | (result ? 0 : failure_of(point));
    if (LIKELY(point->ends_simply && !visit->cpu_ns && !device_events_are_on)) {
        hook_open_groups &= ~point->group;
        end_fast(visit, flags, 0);
    } else {
        leave_with_more(visit, call, result, flags);
    }
    return result;
}

void hook_leave_unseen(const struct hook_visit *visit)
{
    if (visit->point && !(visit->point->options & HOOK_ENDS)) {
        hook_open_groups &= ~visit->point->group;
        drop_span(visit);
    }
}
