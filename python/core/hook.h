/* Hooks: calls of a framework's functions become spans, and the framework sees no difference.
 *
 * A hook is one place in memory that was changed (how: struct hook_technique, one module each) and
 * what to record there (struct hook_point). If hook_is_due(), a technique calls hook_enter() before the
 * original and hook_leave() after it; it hands on what the original gave: result, exception, errno.
 *
 * All of this runs with the GIL held, but for slots of libraries (hook_library.c), which have no
 * Python in them. A struct hook is never freed: another thread may be inside the call. */
#ifndef PYTHON_HOOK_H
#define PYTHON_HOOK_H

#include "core.h"
#include "hook_status.h"

#include "base/compiler.h"
#include "record/session.h"
#include "stepscope/recorder.h"
#include <stdbool.h>

enum hook_option {
    HOOK_OUTERMOST = 1u << 0,   /* record nothing inside another call of the same group */
    HOOK_BY_TYPE = 1u << 1,     /* object of the name: type(self) */
    HOOK_BY_INSTANCE = 1u << 2, /* the same, and "#2" for the second instance */
    HOOK_BY_ATTRIBUTE = 1u << 3, /* from a text of self; other texts are not recorded */
    HOOK_ASKS_TRAIN = 1u << 4,   /* a function says whether this is training */
    HOOK_COUNTS = 1u << 5,       /* the argument of the span is taken from the call */
    HOOK_BEGINS = 1u << 6,       /* the span is left open, as by __enter__ */
    HOOK_ENDS = 1u << 7,         /* and ended by this call, as by __exit__ */
    HOOK_NONE_ENDS = 1u << 8,    /* None as a result: there is no batch */
    HOOK_DURATION = 1u << 9, /* of a library: its first argument is how long it took */
    HOOK_DEVICE = 1u << 11,  /* what a device does for it is measured (device_events.h) */
    HOOK_BATCH = 1u << 12,   /* of a library: a batch, unless its first argument is 0 */
    HOOK_INFORMS = 1u << 13, /* the adapter is told before and after the call */
    HOOK_SILENT = 1u << 14,  /* and that is all: nothing is recorded */
    HOOK_WAITS = 1u << 15,   /* time off the CPU is a span inside it (hook_wait.h) */
    HOOK_MOVES = 1u << 10    /* recorded only if the result is elsewhere than self */
};

struct hook_count;   /* hook_count.h */
struct hook_numbers; /* hook_numbers.h */
struct hook_naming;  /* hook_name.h */
struct hook_samples; /* hook_samples.h */

/* What most calls need comes first, in one line of the cache: between two calls of ours a framework
 * fills it with its own. */
struct hook_point {
    ss_name name;
    uint16_t flags;    /* of every span */
    uint16_t options;  /* enum hook_option */
    uint64_t group;    /* OUTERMOST: one bit */
    uint64_t shut;     /* of the first point: with all these open no point takes a call */
    uint64_t never_in; /* groups: calls inside of one are not looked at */
    struct hook_point
        *next; /* if this one does not take the call, which BY_ATTRIBUTE may say */
    struct hook_naming *by;       /* BY_*: how to name a call */
    struct hook_samples *samples; /* of data; NULL: nobody asks how many it gave */
    int16_t named_after;          /* BY_*: which argument; 0 is self */
    bool begins_simply;           /* nothing to do but to name and begin a span */
    bool ends_simply;             /* nothing to do but to end it */
    bool is_data;                 /* the end of an iterator fails it: data, train calls */
    bool is_comm;                 /* what others are waited for in */
    bool counts_batches;          /* COUNTS: those that are got meanwhile */
    bool is_callers;              /* BY_*: the object is in a variable of the caller */
    struct hook_numbers *numbers; /* in what it gives; NULL: none are looked for */
    PyObject *at_home; /* MOVES: attribute that says whether an object is on the host */
    ss_name home_name; /* MOVES: of those to the host */
    PyObject *query;   /* ASKS_TRAIN */
    PyCFunction ask;   /* of it, if it is written in C and takes nothing; else NULL */
    struct hook_count *count; /* COUNTS */
    PyObject *before, *after; /* INFORMS: either may be NULL */
    ss_name wait_name;        /* WAITS */
    bool asks; /* of a library: who calls it wants a batch (hook_library.c) */
};
#define HOOK_NEVER_OPEN ((uint64_t)1 << 63) /* a bit of no group */

/* A name is all that it has. */
static inline bool hook_point_is_plain(const struct hook_point *point)
{
    return !point->options && !point->flags;
}

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
        if (at == 0) {
            return call->first;
        }
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
    uint64_t batches;                /* how many there were before, if they count */
    uint64_t wall_ns, cpu_ns;        /* WAITS: when it began; 0: not measured */
};

extern bool hook_is_on;         /* off: every trampoline only hands on */
extern unsigned hook_condition; /* flags of every span that a call begins now */
extern int32_t hook_told;       /* the gate of the recording that knows what is hooked */
extern uint64_t hook_batches;   /* asked for and seen by HOOK_BATCH; any thread adds */

/* Groups of which a call is open on this thread: the outermost one sets the bit. */
extern _Thread_local uint64_t hook_open_groups __attribute__((tls_model(SS_TLS_MODEL)));

/* Once: calls that are open where a process forks are not open in the child. */
void hook_visit_ready(void);

/* False: the call is handed on and nothing else, not even a visit. */
static inline bool hook_is_due(const struct hook_point *point)
{
    return LIKELY(hook_is_on) && (hook_open_groups & point->shut) != point->shut &&
           !(hook_open_groups & point->never_in);
}

/* Around a call that is due. Not inlined: what is called once in a while costs by the lines of the cache that
 * it needs, and these two are the same for all. */
ATTR_HOT void hook_enter(const struct hook_point *point, const struct hook_call *call,
                         struct hook_visit *visit);
ATTR_HOT PyObject *hook_leave(const struct hook_visit *visit,
                              const struct hook_call *call, PyObject *result);

/* The span of a visit, which must be the innermost one, gets another name. */
void hook_rename(const struct hook_visit *visit, ss_name name);

/* Instead of hook_leave(): as if the call had not been made. */
void hook_leave_unseen(const struct hook_visit *visit);

static inline uint32_t hook_depth(const struct pen *pen)
{
    return (uint32_t)(pen->top - pen->block->open) + pen->too_deep;
}

/* Spans that the fast path of hook_visit.c leaves, and those of others that need a visit. The second ends what was left
 * open inside too; nothing if the span is not on the stack any more. */
void hook_begin_slow(ss_name name, unsigned flags, struct hook_visit *visit);
void hook_end_slow(const struct hook_visit *visit, unsigned flags, int64_t arg);

/* This thread's pen if it records now. A fork has the parent's pens picked up anew, which must not
 * start a recording in the child. */
static inline const struct pen *hook_pen(void)
{
    const int32_t now = gate_now();
    return LIKELY(session_tls.gate == now) ? &session_tls
           : now >= GATE_FIRST             ? session_pen()
                                           : NULL;
}

/* False if the span is not on the stack any more: recording stopped meanwhile, this is a forked
 * child, or somebody ended it. */
static inline bool hook_is_open(const struct hook_visit *visit, const struct pen *pen)
{
    return pen && visit->open < pen->top && visit->open > pen->block->open &&
           visit->open->start_ticks == visit->start_ticks;
}

#endif
