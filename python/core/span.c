/* What `with` takes: spans, stages, loops and epochs.
 *
 * One object does for all uses of a name, also at the same time: what is open is known to the
 * recorder, thread by thread. So each name has one object, which is kept. */
#include "span.h"

#include <stdbool.h>

#include "base/compiler.h"
#include "event.h"
#include "guard.h"
#include "record/session.h"
#include "support.h"

/* Ends of spans that need not nest. */

static bool is_recording(const struct pen *pen)
{
    return pen->lane && pen->gate == gate_now();
}

/* How many spans are open between `top` and the innermost one of this name below it; -1: there is
 * none. */
static int count_inside(const struct pen *pen, const struct ss_open_span *top, uint16_t id)
{
    const struct ss_open_span *bottom = &pen->block->open[0];

    for (const struct ss_open_span *open = top - 1; open > bottom; open--)
        if (open->head.name == id)
            return (int)(top - 1 - open);
    return -1;
}

ATTR_NOINLINE static void end_slow(ss_name name, unsigned flags)
{
    const struct pen *pen = &session_tls;

    if (!is_recording(pen))
        return;
    /* Past the full stack the innermost one is only counted: then there is nothing to look for. */
    if (pen->too_deep == 0) {
        int inside = count_inside(pen, pen->top, SS_NAME_ID(name));
        if (inside < 0)
            return;
        for (; inside > 0; inside--)
            ss_end(SS_FLAG_UNFINISHED, 0);
    }
    ss_end(flags, 0);
}

void span_stack_end(ss_name name, unsigned flags)
{
    struct pen *pen = &session_tls;

    if (LIKELY(pen->fast_gate == gate_now() && pen_can_end(pen) &&
               pen->top[-1].head.name == SS_NAME_ID(name)))
        pen_end(pen, ticks_counter(), flags, 0);
    else
        end_slow(name, flags);
}

bool span_stack_take_back(ss_name name)
{
    struct pen *pen = &session_tls;
    const uint16_t id = SS_NAME_ID(name);

    if (!is_recording(pen) || pen->too_deep > 0 || count_inside(pen, pen->top, id) != 0 ||
        count_inside(pen, pen->top - 1, id) < 0)
        return false;
    pen_pop(pen, pen_load_head(&pen->top[-1].head));
    return true;
}

/* The objects. */

enum {
    KNOWN_MOST = 4096 /* of a stage; who makes up more names pays for each a little more */
};

struct scope {
    PyObject_HEAD void (*enter)(const struct scope *scope);
    void (*leave)(const struct scope *scope, unsigned flags);
    ss_name name;
    uint64_t number;
};

static PyObject *known[SS_STAGE_COUNT]; /* dictionaries: text to scope */

static void begin_span(const struct scope *scope)
{
    ss_begin(scope->name, 0);
    event_seen();
}

static void end_span(const struct scope *scope, unsigned flags)
{
    span_stack_end(scope->name, flags);
}

static void begin_loop(const struct scope *scope)
{
    ss_loop_begin(scope->name);
}

static void end_loop(const struct scope *scope, unsigned flags)
{
    (void)scope;
    ss_loop_end(flags);
}

static void begin_epoch(const struct scope *scope)
{
    ss_epoch_begin(scope->number);
}

static void end_epoch(const struct scope *scope, unsigned flags)
{
    (void)scope;
    ss_epoch_end(flags);
}

static PyObject *scope_enter(PyObject *self, PyObject *unused)
{
    const struct scope *scope = (const struct scope *)self;

    (void)unused;
    scope->enter(scope);
    return Py_NewRef(self);
}

static PyObject *scope_exit(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    const struct scope *scope = (const struct scope *)self;
    const bool failed = count > 0 && arguments[0] != Py_None;

    scope->leave(scope, failed ? SS_FLAG_FAILED : 0);
    Py_RETURN_NONE;
}

static PyMethodDef scope_methods[] = {
    {"__enter__", scope_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))scope_exit, METH_FASTCALL, NULL},
    {0},
};

static PyTypeObject scope_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "stepscope.Scope",
    .tp_doc = "Times the body of a with statement; may be used again, also inside itself.",
    .tp_basicsize = sizeof(struct scope),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = scope_methods,
};

static struct scope *scope_new(ss_name name)
{
    struct scope *scope = PyObject_New(struct scope, &scope_type);

    if (scope) {
        scope->enter = begin_span;
        scope->leave = end_span;
        scope->name = name;
        scope->number = 0;
    }
    return scope;
}

int span_stage(PyObject *word)
{
#define STAGE_TEXT(id, number, text, meaning) [number] = text,
    static const char *const texts[] = {SS_STAGES(STAGE_TEXT)};

    if (!word)
        return SS_STAGE_USER;
    for (int stage = SS_STAGE_OTHER + 1; PyUnicode_Check(word) && stage < SS_STAGE_COUNT; stage++)
        if (PyUnicode_CompareWithASCIIString(word, texts[stage]) == 0)
            return stage;
    PyErr_Format(PyExc_ValueError,
                 "%R is not a stage; stages are data, transfer, forward, backward, "
                 "optimizer, compute, comm, sync, callback, eval, infer, checkpoint, "
                 "compile, setup, gc, produce and user",
                 word);
    return -1;
}

/* Texts that UTF-8 cannot have (lone surrogates) are written with escapes. NULL: none was given. */
static PyObject *encode(PyObject *text)
{
    PyObject *bytes = text ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;

    if (!bytes)
        PyErr_Clear();
    return bytes;
}

/* Without a text it is `otherwise`; `of` may be NULL. */
static ss_name intern_of(PyObject *text, const char *otherwise, PyObject *of, enum ss_stage stage,
                         enum ss_role role)
{
    PyObject *bytes = encode(text), *of_bytes = encode(of);
    const char *chosen = bytes ? PyBytes_AS_STRING(bytes) : text ? NULL : otherwise;
    const ss_name name = chosen ? ss_intern(chosen, stage, role, SS_SCOPE_NONE,
                                            of_bytes ? PyBytes_AS_STRING(of_bytes) : NULL)
                                : 0;

    Py_XDECREF(bytes);
    Py_XDECREF(of_bytes);
    return name;
}

static ss_name intern(PyObject *text, enum ss_stage stage, enum ss_role role)
{
    return intern_of(text, NULL, NULL, stage, role);
}

static int check_text(PyObject *text)
{
    if (PyUnicode_Check(text))
        return 0;
    PyErr_Format(PyExc_TypeError, "a name is a str, not %.100s", Py_TYPE(text)->tp_name);
    return -1;
}

/* Those of a stage, made when there is a first one; NULL with an exception. */
static PyObject *find_stage(enum ss_stage stage)
{
    struct guard guard;

    guard_enter(&guard);
    if (!known[stage])
        known[stage] = PyDict_New();
    PyObject *dict = known[stage];
    guard_leave(&guard);
    return dict;
}

/* A new reference; NULL: it is not there, or with an exception. */
static PyObject *find_known(PyObject *scopes, PyObject *text)
{
#if PY_VERSION_HEX >= 0x030d0000
    PyObject *found = NULL;
    (void)PyDict_GetItemRef(scopes, text, &found);
    return found;
#else
    return Py_XNewRef(PyDict_GetItemWithError(scopes, text));
#endif
}

/* A new reference to the scope of this text. */
static PyObject *find_scope(PyObject *text, enum ss_stage stage)
{
    if (check_text(text) != 0)
        return NULL;
    PyObject *scopes = find_stage(stage);
    if (!scopes)
        return NULL;
    PyObject *found = find_known(scopes, text);
    if (found || PyErr_Occurred())
        return found;
    PyObject *scope = (PyObject *)scope_new(intern(text, stage, SS_ROLE_NONE));
    /* A str of a class of its own may hold more than its text. */
    if (scope && PyUnicode_CheckExact(text) && PyDict_Size(scopes) < KNOWN_MOST &&
        PyDict_SetItem(scopes, text, scope) != 0)
        Py_CLEAR(scope);
    return scope;
}

int span_name(PyObject *text, enum ss_stage stage, ss_name *name)
{
    PyObject *scope = find_scope(text, stage);

    if (!scope)
        return -1;
    *name = ((struct scope *)scope)->name;
    Py_DECREF(scope);
    return 0;
}

static PyObject *make_span(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                           PyObject *names)
{
    static const struct arguments_form form = {"span", {"name", "stage"}, 1, 2};
    PyObject *given[2];

    (void)module;
    if (arguments_take(&form, arguments, count, names, given) != 0)
        return NULL;
    const int stage = span_stage(given[1]);
    return stage < 0 ? NULL : find_scope(given[0], (enum ss_stage)stage);
}

static PyObject *make_stage(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                            PyObject *names)
{
    static const struct arguments_form form = {"stage", {"stage"}, 1, 1};
    PyObject *word;

    (void)module;
    if (arguments_take(&form, arguments, count, names, &word) != 0)
        return NULL;
    const int stage = span_stage(word);
    return stage < 0 ? NULL : find_scope(word, (enum ss_stage)stage);
}

static PyObject *make_loop(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                           PyObject *names)
{
    static const struct arguments_form form = {"loop", {"name", "of"}, 0, 2};
    PyObject *given[2];

    (void)module;
    if (arguments_take(&form, arguments, count, names, given) != 0)
        return NULL;
    if ((given[0] && check_text(given[0]) != 0) || (given[1] && check_text(given[1]) != 0))
        return NULL;
    /* Loops of one object, such as a model, are parts of one training (step model 5.3). */
    const ss_name loop = intern_of(given[0], "train", given[1], SS_STAGE_USER, SS_ROLE_LOOP);
    struct scope *scope = scope_new(loop);
    if (scope) {
        scope->enter = begin_loop;
        scope->leave = end_loop;
    }
    return (PyObject *)scope;
}

static PyObject *make_epoch(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                            PyObject *names)
{
    static const struct arguments_form form = {"epoch", {"number"}, 1, 1};
    PyObject *number;
    uint64_t epoch;

    (void)module;
    if (arguments_take(&form, arguments, count, names, &number) != 0 ||
        arguments_count(number, "number", &epoch) != 0)
        return NULL;
    struct scope *scope = scope_new(0);
    if (scope) {
        scope->enter = begin_epoch;
        scope->leave = end_epoch;
        scope->number = epoch;
    }
    return (PyObject *)scope;
}

static PyMethodDef methods[] = {
    {"span", (PyCFunction)(void (*)(void))make_span, METH_FASTCALL | METH_KEYWORDS,
     "span($module, name, stage='user')\n--\n\n"
     "Times the body of a with statement under this name."},
    {"stage", (PyCFunction)(void (*)(void))make_stage, METH_FASTCALL | METH_KEYWORDS,
     "stage($module, stage)\n--\n\n"
     "Times the body of a with statement as this stage of a training step: data,\n"
     "forward, backward, optimizer, eval, checkpoint, ..."},
    {"loop", (PyCFunction)(void (*)(void))make_loop, METH_FASTCALL | METH_KEYWORDS,
     "loop($module, name='train', of='')\n--\n\n"
     "Says that the body of a with statement is a training loop. Loops of the same\n"
     "name and object (of), one after the other, are parts of one training."},
    {"epoch", (PyCFunction)(void (*)(void))make_epoch, METH_FASTCALL | METH_KEYWORDS,
     "epoch($module, number)\n--\n\n"
     "Says that the body of a with statement is an epoch."},
    {0},
};

int span_add(PyObject *module)
{
    return PyType_Ready(&scope_type) || PyModule_AddFunctions(module, methods) ? -1 : 0;
}
