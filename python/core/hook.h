/* Hooks: calls of a framework's functions become spans, and the framework sees no difference.
 *
 * A hook is one place in memory that was changed (how: struct hook_technique) and what to record
 * there (struct hook_point, made from a row of an adapter). If hook_is_due(), a technique calls
 * hook_enter() before the original and hook_leave() after it; it hands on what the original gave:
 * result, exception, errno. docs/hooks.md follows one call all the way.
 *
 * Most calls are a plain span. What else a row adds to its calls is an extra (struct hook_extra),
 * with an enter and a leave of its own; a point has those of its row only.
 *
 * All of this runs with the GIL held, but for slots of libraries (hook_library.c), which have no
 * Python in them. A struct hook is never freed: another thread may be inside the call. */
#ifndef PYTHON_HOOK_H
#define PYTHON_HOOK_H

#include "core.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "record/session.h"
#include "stepscope/recorder.h"

/* What a technique knows about a call. For a method `first` may be apart from `rest`. */
struct hook_call {
    PyObject *first; /* NULL: all are in `rest` */
    PyObject *const *rest;
    Py_ssize_t count; /* positional ones in `rest` */
};

/* NULL: it has no such argument. */
static inline PyObject *hook_argument(const struct hook_call *call, Py_ssize_t at)
{
    if (call->first) {
        if (at == 0)
            return call->first;
        at--;
    }
    return at < call->count ? call->rest[at] : NULL;
}

/* Kept on the C stack while the original runs. */
struct hook_visit {
    const struct hook_point *point; /* NULL: not recorded */
    ss_name name;
    const struct ss_open_span *open; /* the span on the thread's stack; NULL: not there */
    uint64_t start_ticks;            /* of that one: is it still the same? */
    uint32_t depth;                  /* of open spans, with this one */
    uint64_t batches;                /* count of batches: how many there were before */
    uint64_t wall_ns, cpu_ns;        /* waits: when it began; cpu_ns 0: not measured */
};

/* How the span of a visit ends; what is inside it may change that when it leaves. */
struct hook_ending {
    unsigned flags;
    int64_t argument;
    bool stays_open; /* another call ends it */
    bool is_dropped; /* as if the call had not been made */
};

/* False: the call is not recorded after all, which only an outer extra may say. */
typedef bool hook_enter_function(struct hook_visit *visit, const struct hook_call *call);
/* `result` is NULL if the call raised; that exception stays, and no other one is left. */
typedef void hook_leave_function(const struct hook_visit *visit, const struct hook_call *call,
                                 PyObject *result, struct hook_ending *end);

struct hook_point;

/* What a row can add to a call; hook_extras.h lists all of them. */
struct hook_extra {
    /* Takes its keys of the row: 1 if the row has it, 0 if not, -1 with an exception. */
    int (*read)(PyObject *row, struct hook_point *point);
    void (*release)(struct hook_point *point); /* NULL: it has nothing of its own */
    hook_enter_function *enter;                /* either may be NULL */
    hook_leave_function *leave;
    bool is_outer;    /* it enters before the span begins, and leaves after the span has ended */
    bool is_switched; /* it does nothing while hook_state.measuring is 0 */
};

enum hook_object {
    HOOK_OBJECT_NONE,
    HOOK_OBJECT_TYPE,
    HOOK_OBJECT_INSTANCE,
    HOOK_OBJECT_ATTRIBUTE
};
enum hook_part { HOOK_PART_WHOLE, HOOK_PART_BEGIN, HOOK_PART_END };
enum hook_layers_of {
    HOOK_LAYERS_NONE,
    HOOK_LAYERS_MODULES,
    HOOK_LAYERS_BACKWARD,
    HOOK_LAYERS_UPDATE
};
enum hook_tells { HOOK_TELLS_NOTHING, HOOK_TELLS_DURATION, HOOK_TELLS_BATCH, HOOK_TELLS_ASKS };
enum { HOOK_WHOSE_CALLER = -1 };
enum { HOOK_OUTER_MOST = 4, HOOK_INNER_MOST = 7 }; /* extras of a row */

/* A row of an adapter, in the words of stepscope/_hooks.py. What most calls need comes first, in
 * one line of the cache: between two calls of ours a framework fills it with its own. */
struct hook_point {
    ss_name name;
    uint16_t flags;             /* of every span */
    uint8_t object;             /* enum hook_object */
    uint8_t part;               /* enum hook_part */
    uint64_t outermost;         /* the bit of this group; 0: none */
    uint64_t all_outermost;     /* of the first point: with all these open no point takes a call */
    uint64_t never_in;          /* groups */
    struct hook_point *next;    /* if this one does not take the call, as `attribute` may say */
    struct hook_naming *naming; /* `object`: how to name a call */
    PyObject *query;            /* says whether this trains; NULL: unknown */
    PyCFunction query_function; /* of it, if it is written in C and takes nothing; else NULL */
    int16_t whose;              /* `object`: of which argument, or HOOK_WHOSE_CALLER */
    uint8_t tells;              /* enum hook_tells, of a library */
    bool enters_plainly;        /* nothing to do but to name and begin a span */
    bool leaves_plainly;        /* nothing to do but to end it */
    bool is_recorded;           /* it has a stage */
    bool is_data;               /* the end of an iterator fails it: data, train calls */
    bool is_name_only;          /* a name is all that the row has */
    uint8_t layers;             /* enum hook_layers_of */
    /* What the extras of the row do, in this order; NULL ends each list. */
    hook_enter_function *enter_outer[HOOK_OUTER_MOST + 1], *enter_inner[HOOK_INNER_MOST + 1];
    hook_leave_function *leave_inner[HOOK_INNER_MOST + 1], *leave_outer[HOOK_OUTER_MOST + 1];
    /* Of the extras; NULL or 0 without them. */
    struct hook_count *count;
    struct hook_samples *samples;
    struct hook_numbers *numbers;
    struct hook_moves *moves;
    PyObject *before, *after;
    ss_name waits;
};
#define HOOK_NEVER_OPEN ((uint64_t)1 << 63) /* a bit of no group */

/* From a dictionary; _point() in stepscope/_hooks.py makes it. NULL with an exception. */
struct hook_point *hook_point_new(PyObject *row);
void hook_point_release(struct hook_point *point);

/* The bit of the group that a key of a row names, 0 if it names none. 0, or -1 with an exception.
 */
int hook_group_read(PyObject *row, const char *key, uint64_t *bit);

/* Memory for what is read in each call: zeroed; NULL: there is none, nor any for more than 64 KB.
 * It begins with a line of the cache and lies with what was asked for before, on few pages: to find
 * those takes as long as all the rest of a call. It is never given back, as hooks are not. */
void *hook_memory_new(size_t bytes);

enum {
    HOOK_MEASURES_WAITS = 1u << 0,
    HOOK_MEASURES_DEVICE = 1u << 1,
    HOOK_MEASURES_LAYERS = 1u << 2
};

/* What every call asks for. */
extern struct hook_state {
    atomic_bool is_on;          /* off: every trampoline only hands on */
    _Atomic unsigned condition; /* flags of every span that a call begins now */
    _Atomic unsigned measuring; /* which of the extras that can be switched are on */
    _Atomic int32_t told;       /* the gate of the recording that knows what is hooked */
} hook_state;

extern uint64_t hook_batches; /* that libraries and generators have told of; any thread adds */

/* Groups of which a call is open on this thread: the outermost one sets the bit. */
extern _Thread_local uint64_t hook_open_groups __attribute__((tls_model(SS_TLS_MODEL)));

/* Once: calls that are open where a process forks are not open in the child. */
void hook_ready(void);

/* From now on every span of a call has this flag; "": none. -1 with an exception. Adapters and what
 * we do ourselves are apart: both may find that spans are perturbed. */
int hook_set_condition(const char *word);
enum hook_condition_of {
    HOOK_CONDITION_ADAPTER,
    HOOK_CONDITION_OWN,
    HOOK_CONDITION_WINDOW,
    HOOK_CONDITIONS
};
void hook_put_condition(enum hook_condition_of whose, unsigned flags);

/* False: the call is handed on and nothing else, not even a visit. */
static inline bool hook_is_due(const struct hook_point *point)
{
    return LIKELY(hook_state.is_on) &&
           (hook_open_groups & point->all_outermost) != point->all_outermost &&
           !(hook_open_groups & point->never_in);
}

/* Around a call that is due. Not inlined: what is called once in a while costs by the lines of the
 * cache that it needs, and these two are the same for all. */
ATTR_HOT void hook_enter(const struct hook_point *point, const struct hook_call *call,
                         struct hook_visit *visit);
ATTR_HOT PyObject *hook_leave(const struct hook_visit *visit, const struct hook_call *call,
                              PyObject *result);

/* Instead of hook_leave(): as if the call had not been made. */
void hook_leave_unseen(const struct hook_visit *visit);

/* The span of a visit, which must be the innermost one, gets another name. */
void hook_rename(const struct hook_visit *visit, ss_name name);

/* A span without a point: for others that need a visit. The second ends what was left open inside
 * too; nothing if the span is not on the stack any more. */
void hook_begin(ss_name name, unsigned flags, struct hook_visit *visit);
void hook_end(const struct hook_visit *visit, unsigned flags, int64_t argument);

static inline uint32_t hook_depth(const struct pen *pen)
{
    return (uint32_t)(pen->top - pen->block->open) + pen->too_deep;
}

/* This thread's pen if it records now. A fork has new pens instead of the parent's, which must not
 * start a recording in the child. */
static inline const struct pen *hook_pen(void)
{
    const int32_t now = gate_now();
    return LIKELY(session_tls.gate == now) ? &session_tls
           : now >= GATE_FIRST             ? session_pen()
                                           : NULL;
}

/* False if the span is not on the stack any more: recording stopped since, this is a forked
 * child, or the caller ended it. */
static inline bool hook_is_open(const struct hook_visit *visit, const struct pen *pen)
{
    return pen && visit->open < pen->top && visit->open > pen->block->open &&
           visit->open->start_ticks == visit->start_ticks;
}

/* What was hooked and what was not, for the run (hook_registry.c). Nothing is written before the
 * first event of a recording, so the list is kept and told to each new recording, and in each
 * forked child. Texts are copied; the reason may be NULL: it is in place. */
void hook_status_add(const char *target, const char *reason);

/* Tells the present recording what it does not know yet; nothing if there is none. */
void hook_tell(void);

#endif
