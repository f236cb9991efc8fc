/* The extras that act on the span of a call or beside it: telling the adapter, spans that another
 * call ends, moves between devices, waits for other ranks. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "device_events.h"
#include "hook_extras.h"
#include "span.h"

/* `before(arguments)` and `after(arguments, result, failed)`: arguments are the positional ones. */

void hook_forget_error(void)
{
    if (!PyErr_Occurred())
        return;
    const bool is_interrupt = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
    PyErr_Clear();
    if (is_interrupt)
        PyErr_SetInterrupt();
}

static PyObject *arguments_of(const struct hook_call *call)
{
    const Py_ssize_t own = call->first ? 1 : 0;
    PyObject *tuple = PyTuple_New(own + call->count);
    if (!tuple)
        return NULL;
    if (call->first)
        PyTuple_SET_ITEM(tuple, 0, Py_NewRef(call->first));
    for (Py_ssize_t i = 0; i < call->count; i++)
        PyTuple_SET_ITEM(tuple, own + i, Py_NewRef(call->rest[i]));
    return tuple;
}

static bool notify_enter(struct hook_visit *visit, const struct hook_call *call)
{
    PyObject *before = visit->point->before;
    if (before) {
        PyObject *arguments = arguments_of(call);
        PyObject *done = arguments ? PyObject_CallOneArg(before, arguments) : NULL;
        Py_XDECREF(done);
        Py_XDECREF(arguments);
        hook_forget_error();
    }
    return true;
}

static void notify_leave(const struct hook_visit *visit, const struct hook_call *call,
                         PyObject *result, struct hook_ending *end)
{
    PyObject *after = visit->point->after;
    (void)end;
    if (after) {
        PyObject *kind, *value, *trace;
        PyErr_Fetch(&kind, &value, &trace);
        PyObject *arguments = arguments_of(call);
        PyObject *done =
            arguments ? PyObject_CallFunctionObjArgs(after, arguments, result ? result : Py_None,
                                                     result ? Py_False : Py_True, NULL)
                      : NULL;
        Py_XDECREF(done);
        Py_XDECREF(arguments);
        hook_forget_error();
        PyErr_Restore(kind, value, trace);
    }
}

static int notify_read(PyObject *row, struct hook_point *point)
{
    point->before = Py_XNewRef(PyDict_GetItemString(row, "before"));
    point->after = Py_XNewRef(PyDict_GetItemString(row, "after"));
    return point->before || point->after;
}

static void notify_release(struct hook_point *point)
{
    Py_XDECREF(point->before);
    Py_XDECREF(point->after);
}

const struct hook_extra hook_notify = {.read = notify_read,
                                       .release = notify_release,
                                       .enter = notify_enter,
                                       .leave = notify_leave,
                                       .is_outer = true};

/* `part`: what the call that begins a span called it, so that the one that ends it need not find
 * out again. By thread; objects are only compared, never used. */

enum { PAIRS_MOST = 16 };

struct pair {
    const PyObject *object;
    ss_name name;
    unsigned inside; /* begun again by the same object and taken back */
};

/* Those that are open on this thread. */
static _Thread_local struct {
    unsigned count;
    struct pair open[PAIRS_MOST];
} pairs __attribute__((tls_model(SS_TLS_MODEL)));

static struct pair *find_pair(ss_name name)
{
    for (unsigned i = pairs.count; i-- > 0;)
        if (pairs.open[i].name == name)
            return &pairs.open[i];
    return NULL;
}

/* The span has begun. One inside another one of the same name is a part of that: it is taken back,
 * and its end will not be found. */
ATTR_HOT static bool pair_enter(struct hook_visit *visit, const struct hook_call *call)
{
    if (!visit->point->naming)
        return true;
    const PyObject *object = hook_argument(call, 0);
    struct pair *outer = find_pair(visit->name);
    /* Asked twice: a pair whose end was not seen is no longer open. */
    if (UNLIKELY(outer) && span_stack_take_back(visit->name)) {
        outer->inside += outer->object == object;
        return true;
    }
    if (pairs.count == PAIRS_MOST) { /* the oldest never ended, or it is too deep to matter */
        memmove(pairs.open, pairs.open + 1, sizeof *pairs.open * (PAIRS_MOST - 1));
        pairs.count--;
    }
    pairs.open[pairs.count++] = (struct pair){object, visit->name, 0};
    return true;
}

/* False if none was begun with this object. Those begun after it are forgotten. */
ATTR_HOT static bool take_pair(const PyObject *object, ss_name *name)
{
    for (unsigned i = pairs.count; i-- > 0;) {
        if (pairs.open[i].object == object) {
            if (pairs.open[i].inside > 0) {
                pairs.open[i].inside--;
                return false;
            }
            *name = pairs.open[i].name;
            pairs.count = i;
            return true;
        }
    }
    return false;
}

/* If the call that begins a span failed, nothing ends the span. */
static void pair_leave(const struct hook_visit *visit, const struct hook_call *call,
                       PyObject *result, struct hook_ending *end)
{
    end->stays_open = result;
    if (!result && visit->point->naming) {
        ss_name name;
        (void)take_pair(hook_argument(call, 0), &name);
    }
}

/* __exit__ receives the exception that leaves the scope. `device` is the only extra of such a row.
 */
void hook_pair_end_span(const struct hook_point *point, const struct hook_call *call)
{
    PyObject *kind = hook_argument(call, 1);
    const unsigned failed = kind && PyExceptionClass_Check(kind) ? SS_FLAG_FAILED : 0;
    ss_name name = point->name;
    if (hook_open_groups & point->outermost ||
        (point->naming && !take_pair(hook_argument(call, 0), &name)))
        return;
    if (point->leave_inner[0] && hook_state.measuring & HOOK_MEASURES_DEVICE)
        device_events_end(name);
    span_stack_end(name, point->flags | failed);
}

static int pair_read(PyObject *row, struct hook_point *point)
{
    (void)row;
    return point->part == HOOK_PART_BEGIN;
}

const struct hook_extra hook_pair = {.read = pair_read, .enter = pair_enter, .leave = pair_leave};

/* `moves`: the attribute that says of an object whether it is on the host. */

struct hook_moves {
    PyObject *attribute; /* strong */
    ss_name to_host;     /* the name of what goes there, which is sync */
};

static bool is_on_host(const struct hook_moves *moves, PyObject *object)
{
    PyObject *answer = object ? PyObject_GetAttr(object, moves->attribute) : NULL;
    const bool is_true = answer == Py_True;
    Py_XDECREF(answer);
    PyErr_Clear();
    return is_true;
}

static void moves_leave(const struct hook_visit *visit, const struct hook_call *call,
                        PyObject *result, struct hook_ending *end)
{
    const struct hook_moves *moves = visit->point->moves;
    PyObject *before = hook_argument(call, 0);
    if (!result)
        return;
    /* The same object was there already. */
    const bool to_host = result != before && is_on_host(moves, result);
    end->is_dropped = result == before || to_host == is_on_host(moves, before);
    if (!end->is_dropped && to_host)
        hook_rename(visit, moves->to_host);
}

static int moves_read(PyObject *row, struct hook_point *point)
{
    PyObject *attribute = PyDict_GetItemString(row, "moves");
    PyObject *name = PyDict_GetItemString(row, "name");
    const char *text = name ? PyUnicode_AsUTF8(name) : "";
    if (!attribute || !text)
        return text ? 0 : -1;
    point->moves = hook_memory_new(sizeof *point->moves);
    if (!point->moves) {
        PyErr_NoMemory();
        return -1;
    }
    point->moves->attribute = Py_NewRef(attribute);
    point->moves->to_host = ss_intern(text, SS_STAGE_SYNC, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    return 1;
}

static void moves_release(struct hook_point *point)
{
    if (point->moves)
        Py_DECREF(point->moves->attribute);
}

const struct hook_extra hook_moves = {
    .read = moves_read, .release = moves_release, .leave = moves_leave};

/* `waits`: what to call the time off the CPU. */

enum { LEAST_NS = 20000 }; /* less is the cost of the call itself */

/* How often `comm` was seen on this thread, and how often when the open call began. */
static _Thread_local struct {
    unsigned now, before;
} comms __attribute__((tls_model(SS_TLS_MODEL)));

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) == 0
               ? (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec
               : 0;
}

static bool waits_enter(struct hook_visit *visit, const struct hook_call *call)
{
    (void)call;
    if (hook_state.measuring & HOOK_MEASURES_WAITS && visit->open) {
        comms.before = comms.now;
        visit->wall_ns = now_ns(CLOCK_MONOTONIC);
        visit->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    }
    return true;
}

static void waits_leave(const struct hook_visit *visit, const struct hook_call *call,
                        PyObject *result, struct hook_ending *end)
{
    (void)call;
    (void)result;
    (void)end;
    if (!visit->cpu_ns || comms.now != comms.before)
        return;
    const uint64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - visit->cpu_ns;
    const uint64_t wall_ns = now_ns(CLOCK_MONOTONIC) - visit->wall_ns;
    if (wall_ns > cpu_ns + LEAST_NS && hook_is_open(visit, hook_pen())) {
        const ss_ticks now = ss_now();
        const ss_ticks waited = ss_ticks_of_ns((int64_t)(wall_ns - cpu_ns));
        ss_append(visit->point->waits, now - waited, now, SS_FLAG_ESTIMATE, 0);
    }
}

static int waits_read(PyObject *row, struct hook_point *point)
{
    PyObject *name = PyDict_GetItemString(row, "waits");
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
    if (!text)
        return name ? -1 : 0;
    point->waits = ss_intern(text, SS_STAGE_COMM, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    return 1;
}

const struct hook_extra hook_waits = {
    .read = waits_read, .enter = waits_enter, .leave = waits_leave, .is_switched = true};

static bool comm_enter(struct hook_visit *visit, const struct hook_call *call)
{
    (void)visit;
    (void)call;
    comms.now += hook_state.measuring & HOOK_MEASURES_WAITS ? 1 : 0;
    return true;
}

static int comm_read(PyObject *row, struct hook_point *point)
{
    PyObject *stage = PyDict_GetItemString(row, "stage");
    (void)point;
    return stage && PyUnicode_Check(stage) && PyUnicode_CompareWithASCIIString(stage, "comm") == 0;
}

const struct hook_extra hook_comm = {.read = comm_read, .enter = comm_enter, .is_switched = true};

PyObject *hook_waits_switch(PyObject *module, PyObject *on)
{
    (void)module;
    if (PyObject_IsTrue(on) == 1)
        hook_state.measuring |= HOOK_MEASURES_WAITS;
    else
        hook_state.measuring &= ~(unsigned)HOOK_MEASURES_WAITS;
    PyErr_Clear();
    Py_RETURN_NONE;
}

/* `device="events"` */

static bool device_enter(struct hook_visit *visit, const struct hook_call *call)
{
    (void)call;
    if (hook_state.measuring & HOOK_MEASURES_DEVICE && visit->open)
        device_events_begin(visit);
    return true;
}

static void device_leave(const struct hook_visit *visit, const struct hook_call *call,
                         PyObject *result, struct hook_ending *end)
{
    (void)call;
    (void)result;
    if (hook_state.measuring & HOOK_MEASURES_DEVICE && !end->stays_open)
        device_events_end(visit->name);
}

static int device_read(PyObject *row, struct hook_point *point)
{
    PyObject *device = PyDict_GetItemString(row, "device");
    (void)point;
    return device && PyUnicode_Check(device) &&
           PyUnicode_CompareWithASCIIString(device, "events") == 0;
}

const struct hook_extra hook_device = {
    .read = device_read, .enter = device_enter, .leave = device_leave, .is_switched = true};
