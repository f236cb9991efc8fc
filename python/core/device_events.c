#include "device_events.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "support.h"

/* The few functions of CUDA's driver that tell when a device does what it was told to. Names and
 * numbers are those of its public documentation. None of them waits for a device, and none that
 * does may be added: what is recorded must not change what is measured. */

enum cuda_result { CUDA_SUCCESS = 0, CUDA_NOT_INITIALIZED = 3, CUDA_NOT_READY = 600 };
enum cuda_capture_mode { CUDA_CAPTURE_RELAXED = 2 };

typedef void *cuda_handle; /* a context, a stream or an event */

#define CUDA_FUNCTIONS(X)                                                                          \
    X(get_context, "cuCtxGetCurrent", (cuda_handle * context))                                     \
    X(create_event, "cuEventCreate", (cuda_handle * event, unsigned flags))                        \
    X(record_event, "cuEventRecord", (cuda_handle event, cuda_handle stream))                      \
    X(query_event, "cuEventQuery", (cuda_handle event))                                            \
    X(measure, "cuEventElapsedTime", (float *ms, cuda_handle first, cuda_handle last))             \
    X(is_capturing, "cuStreamIsCapturing", (cuda_handle stream, int *status))                      \
    X(swap_capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode))

#define CUDA_MEMBER(field, name, parameters) int(*field) parameters;
struct cuda_library {
    CUDA_FUNCTIONS(CUDA_MEMBER)
};
#undef CUDA_MEMBER

static const char default_file[] = "libcuda.so.1";

#define CUDA_ENTRY(field, name, parameters) {offsetof(struct cuda_library, field), name},
static const struct {
    size_t offset;
    const char *name;
} cuda_entries[] = {CUDA_FUNCTIONS(CUDA_ENTRY)};

/* Fills the table if the process has loaded the driver; it is never loaded by us. NULL, or why it
 * cannot be used. STEPSCOPE_CUDA_LIBRARY names another file than the driver's. The handle is kept:
 * the library must stay where it is. */
static const char *cuda_library_find(struct cuda_library *library)
{
    const char *wanted = secure_getenv("STEPSCOPE_CUDA_LIBRARY");
    const char *file = wanted && *wanted ? wanted : default_file;
    void *handle = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) {
        (void)dlerror();
        return "the driver's library is not loaded";
    }
    for (size_t i = 0; i < sizeof cuda_entries / sizeof *cuda_entries; i++) {
        void *found = dlsym(handle, cuda_entries[i].name);
        if (!found) {
            (void)dlerror();
            return "the driver's library lacks a function";
        }
        /* ISO C has no cast to a function pointer; POSIX says that the bytes fit. */
        memcpy((char *)library + cuda_entries[i].offset, &found, sizeof found);
    }
    return NULL;
}

/* Pairs of events. */

enum {
    PAIRS = 256,  /* a device is hardly ever that many calls behind */
    POLLED = 8,   /* looked at in one call, at most */
    TRIES = 1000, /* calls in which to look for the driver */
    CAPTURE_ERROR_FIRST = 900,
    CAPTURE_ERROR_LAST = 909
};

static const char target[] = "CUDA events";

struct pair {
    cuda_handle begin, end, stream;
    ss_name name;        /* of the call */
    ss_name device_name; /* of the span, which must be known before the span ends */
    unsigned flags;
    ss_ticks told; /* when the host told the device to begin */
};

enum left_out { OTHER_THREAD, OTHER_DEVICE, CAPTURED, NO_ROOM, AT_EXIT, LEFT_OUT_COUNT };

/* All under the GIL, but for what record_event() and query_event() wait for. */
static struct {
    struct cuda_library cuda;
    PyObject *get_device, *get_stream;
    unsigned tries;
    cuda_handle context;  /* that the events belong to; NULL: there are none yet */
    struct pair *pairs;   /* PAIRS of them; NULL: none are wanted */
    uint64_t first, next; /* from `first` on they have ended and not been seen to */
    bool is_open;         /* the pair `next` has begun, in a span so deep */
    uint32_t open_depth;
    ss_ticks anchor;       /* where the pair before `first` was put; 0: nowhere */
    ss_ticks seen_at_work; /* when an event had not happened yet, the last time */
    uint64_t left_out[LEFT_OUT_COUNT];
    bool has_owner;
} events;
/* Of the first thread that asked: one only has events. */
static _Thread_local bool is_owner __attribute__((tls_model(SS_TLS_MODEL)));

static bool is_on(void)
{
    return hook_state.measuring & HOOK_MEASURES_DEVICE;
}

static struct pair *pair_at(uint64_t number)
{
    return &events.pairs[number % PAIRS];
}

/* The first error is the last one. */
static bool is_fine(int result, const char *function)
{
    char reason[96];
    if (result == CUDA_SUCCESS)
        return true;
    snprintf(reason, sizeof reason, "%s failed with %d: no more of them", function, result);
    hook_state.measuring &= ~(unsigned)HOOK_MEASURES_DEVICE;
    hook_status_add(target, reason);
    return false;
}

/* A driver may wait inside a call, for room in its queue or for a thread that needs the GIL. The
 * pairs are the owner's alone, so others may use it in the meantime. */
static int record_event(cuda_handle event, cuda_handle stream)
{
    int result;
    Py_BEGIN_ALLOW_THREADS;
    result = events.cuda.record_event(event, stream);
    Py_END_ALLOW_THREADS;
    return result;
}

static int query_event(cuda_handle event)
{
    int result;
    Py_BEGIN_ALLOW_THREADS;
    result = events.cuda.query_event(event);
    Py_END_ALLOW_THREADS;
    return result;
}

static bool make_events(void)
{
    if (events.pairs[0].begin)
        return true;
    for (int i = 0; i < PAIRS; i++)
        if (!is_fine(events.cuda.create_event(&events.pairs[i].begin, 0), "cuEventCreate") ||
            !is_fine(events.cuda.create_event(&events.pairs[i].end, 0), "cuEventCreate"))
            return false;
    hook_status_add(target, NULL);
    return true;
}

/* Looked for again and again: a device begins before its driver is loaded. */
static bool find_driver(void)
{
    const char *reason = cuda_library_find(&events.cuda);
    if (reason && ++events.tries == TRIES) {
        hook_state.measuring &= ~(unsigned)HOOK_MEASURES_DEVICE;
        hook_status_add(target, reason);
    }
    return !reason;
}

/* The device that this thread uses is the one that the events are for. */
static bool is_ready(void)
{
    cuda_handle now = NULL;
    if (!events.context && !find_driver())
        return false;
    const int result = events.cuda.get_context(&now);
    if (result == CUDA_NOT_INITIALIZED || !is_fine(result, "cuCtxGetCurrent") || !now)
        return false;
    events.context = events.context ? events.context : now;
    events.left_out[OTHER_DEVICE] += now != events.context;
    return now == events.context;
}

static bool find_stream(cuda_handle *stream)
{
    PyObject *device = PyObject_CallNoArgs(events.get_device);
    PyObject *handle = device ? PyObject_CallOneArg(events.get_stream, device) : NULL;
    *stream = handle ? PyLong_AsVoidPtr(handle) : NULL;
    Py_XDECREF(device);
    Py_XDECREF(handle);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        hook_state.measuring &= ~(unsigned)HOOK_MEASURES_DEVICE;
        hook_status_add(target, "the framework does not tell its stream");
        return false;
    }
    return true;
}

/* The legacy stream answers with an error if another one is captured. */
static bool is_captured(cuda_handle stream)
{
    int status = 0;
    const int result = events.cuda.is_capturing(stream, &status);
    if (result >= CAPTURE_ERROR_FIRST && result <= CAPTURE_ERROR_LAST)
        status = 1;
    else if (!is_fine(result, "cuStreamIsCapturing"))
        return true;
    events.left_out[CAPTURED] += status != 0;
    return status != 0;
}

/* Another thread may capture a graph. That is ended by calls such as ours, unless this thread says
 * that it has nothing to do with it. */
static bool step_aside(int *mode)
{
    *mode = CUDA_CAPTURE_RELAXED;
    return is_fine(events.cuda.swap_capture_mode(mode), "cuThreadExchangeStreamCaptureMode");
}

static void step_back(int mode)
{
    (void)events.cuda.swap_capture_mode(&mode);
}

static ss_name name_of(ss_name call)
{
#define TEXT_OF(id, number, text, meaning) [number] = "device: " text,
    static const char *const texts[] = {SS_STAGES(TEXT_OF)};
    static ss_name names[SS_STAGE_COUNT]; /* interned at the first call */
    const unsigned stage = SS_NAME_NEST(call) & SS_NEST_STAGE;
    if (!names[stage]) {
        names[stage] =
            ss_intern(texts[stage], (enum ss_stage)stage, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    }
    return names[stage];
}

static ss_ticks ticks_of(float ms)
{
    return ss_ticks_of_ns((int64_t)((double)ms * 1e6));
}

static ss_ticks later(ss_ticks a, ss_ticks b)
{
    return a > b ? a : b;
}

/* Where a pair that is so long lies. */
static ss_ticks find_start(const struct pair *pair, ss_ticks length, float apart_ms)
{
    const ss_ticks latest = ss_now() - length;
    ss_ticks start = events.anchor ? events.anchor + ticks_of(apart_ms) : 0;
    start = later(start, pair->told);
    start = later(start, events.seen_at_work -
                             (events.seen_at_work < length ? events.seen_at_work : length));
    return start > latest ? latest : start;
}

/* Puts the pair `first`, which has ended, into the run. */
static bool put_span(void)
{
    const struct pair *pair = pair_at(events.first);
    const struct pen *pen = hook_pen();
    float length_ms = 0, apart_ms = 0;
    if (!is_fine(events.cuda.measure(&length_ms, pair->begin, pair->end), "cuEventElapsedTime") ||
        (events.anchor &&
         !is_fine(events.cuda.measure(&apart_ms, pair_at(events.first - 1)->begin, pair->begin),
                  "cuEventElapsedTime")))
        return false;
    if (!pen || pair->told < pen->lane->session->first.ticks) { /* of a recording before */
        events.anchor = 0;
        return true;
    }
    const ss_ticks length = ticks_of(length_ms);
    const ss_ticks start = find_start(pair, length, apart_ms);
    events.anchor = start;
    ss_append(pair->device_name, start, start + length, pair->flags, 0);
    return true;
}

static void look(unsigned most)
{
    for (; most > 0 && events.first < events.next; most--) {
        const int result = query_event(pair_at(events.first)->end);
        if (result == CUDA_NOT_READY) {
            events.seen_at_work = ss_now();
            return;
        }
        if (!is_fine(result, "cuEventQuery") || !put_span())
            return;
        events.first++;
    }
}

static bool belongs_here(void)
{
    if (!events.has_owner)
        events.has_owner = is_owner = true;
    events.left_out[OTHER_THREAD] += !is_owner;
    return is_owner;
}

/* The pair before `first` must stay as it is: the next distance is measured from it. */
static void record_begin(const struct hook_visit *visit, cuda_handle stream)
{
    struct pair *pair = pair_at(events.next);
    if (events.next - events.first >= PAIRS - 1) {
        events.left_out[NO_ROOM]++;
        return;
    }
    if (is_fine(record_event(pair->begin, stream), "cuEventRecord")) {
        pair->stream = stream;
        pair->name = visit->name;
        pair->device_name = name_of(visit->name);
        pair->flags = SS_FLAG_PRODUCER | (visit->open->head.flags & SS_FLAG_EVAL);
        pair->told = visit->start_ticks;
        events.open_depth = visit->depth;
        events.is_open = true;
    }
}

void device_events_begin(const struct hook_visit *visit)
{
    cuda_handle stream;
    int mode;
    if (!visit->open || !belongs_here() || (events.is_open && visit->depth > events.open_depth))
        return;
    events.is_open = false; /* if it was, the end of that call was not seen */
    if (!is_ready() || !find_stream(&stream) || is_captured(stream) || !step_aside(&mode))
        return;
    look(POLLED);
    if (is_on() && make_events())
        record_begin(visit, stream);
    step_back(mode);
}

void device_events_end(ss_name name)
{
    const struct pair *pair = pair_at(events.next);
    if (!is_owner || !events.is_open || pair->name != name)
        return;
    events.is_open = false;
    if (!is_captured(pair->stream) &&
        is_fine(record_event(pair->end, pair->stream), "cuEventRecord"))
        events.next++;
}

/* The last ones have ended by now, if the script waited for them. */
static PyObject *finish(PyObject *module, PyObject *unused)
{
    char text[160];
    int mode;
    (void)module;
    (void)unused;
    if (is_on() && is_owner && events.context && step_aside(&mode)) {
        look(PAIRS);
        step_back(mode);
        events.left_out[AT_EXIT] = events.next - events.first;
    }
    snprintf(text, sizeof text,
             "%" PRIu64 " of another thread, %" PRIu64 " on another device, %" PRIu64
             " while a graph was captured, %" PRIu64 " too far ahead, %" PRIu64
             " not over at the end",
             events.left_out[OTHER_THREAD], events.left_out[OTHER_DEVICE],
             events.left_out[CAPTURED], events.left_out[NO_ROOM], events.left_out[AT_EXIT]);
    for (int i = 0; i < LEFT_OUT_COUNT; i++) {
        if (events.left_out[i]) {
            ss_mark(ss_intern("calls without device events", SS_STAGE_OTHER, SS_ROLE_NONE,
                              SS_SCOPE_NONE, NULL),
                    text);
            break;
        }
    }
    hook_state.measuring &= ~(unsigned)HOOK_MEASURES_DEVICE;
    Py_RETURN_NONE;
}

static void after_fork_in_child(void)
{
    hook_state.measuring &= ~(unsigned)HOOK_MEASURES_DEVICE;
    memset(events.left_out, 0, sizeof events.left_out);
}

PyObject *device_events_start(PyObject *module, PyObject *arguments)
{
    static PyMethodDef at_exit = {"device_events_finish", finish, METH_NOARGS, NULL};
    const char *wanted = secure_getenv("STEPSCOPE_DEVICE_EVENTS");
    PyObject *device, *stream;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO", &device, &stream))
        return NULL;
    const bool is_wanted = wanted && strcmp(wanted, "1") == 0;
    if (is_wanted && !HAS_GIL) {
        hook_status_add(target, "this Python is built without the GIL");
    } else if (is_wanted && !events.pairs) {
        events.pairs = calloc(PAIRS, sizeof *events.pairs);
        if (!events.pairs)
            return PyErr_NoMemory();
        events.get_device = Py_NewRef(device);
        events.get_stream = Py_NewRef(stream);
        pthread_atfork(NULL, NULL, after_fork_in_child);
        at_exit_call(&at_exit);
        hook_state.measuring |= HOOK_MEASURES_DEVICE;
    }
    Py_RETURN_NONE;
}
