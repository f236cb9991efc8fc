/* What `with` takes: spans, stages, loops and epochs.
 *
 * One object does for all uses of a name, also at the same time: what is open is known to the
 * recorder, thread by thread. So each name has one object, which is kept. */
#include "span.h"

#include <stdbool.h>

#include "arguments.h"
#include "event.h"
#include "span_stack.h"

enum {
    KNOWN_MOST =
        4096 /* of a stage; who makes up more names pays for each a little more */
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
    .tp_doc =
        "Times the body of a with statement; may be used again, also inside itself.",
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
    for (int stage = SS_STAGE_OTHER + 1; PyUnicode_Check(word) && stage < SS_STAGE_COUNT;
         stage++)
        if (PyUnicode_CompareWithASCIIString(word, texts[stage]) == 0)
            return stage;
    PyErr_Format(PyExc_ValueError,
                 "%R is not a stage; stages are data, transfer, forward, backward, "
                 "optimizer, compute, comm, sync, callback, eval, infer, checkpoint, "
                 "compile, setup, gc, produce and user",
                 word);
    return -1;
}

/* Texts that UTF-8 cannot have (lone surrogates) are written with escapes. */
static ss_name intern(PyObject *text, enum ss_stage stage, enum ss_role role)
{
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
    ss_name name = 0;

    if (bytes)
        name = ss_intern(PyBytes_AS_STRING(bytes), stage, role, SS_SCOPE_NONE, NULL);
    else
        PyErr_Clear();
    Py_XDECREF(bytes);
    return name;
}

static int check_text(PyObject *text)
{
    if (PyUnicode_Check(text))
        return 0;
    PyErr_Format(PyExc_TypeError, "a name is a str, not %.100s", Py_TYPE(text)->tp_name);
    return -1;
}

/* A new reference to the scope of this text. */
static PyObject *find_scope(PyObject *text, enum ss_stage stage)
{
    if (check_text(text) != 0)
        return NULL;
    if (!known[stage] && !(known[stage] = PyDict_New()))
        return NULL;
    PyObject *found = PyDict_GetItemWithError(known[stage], text);
    if (found)
        return Py_NewRef(found);
    if (PyErr_Occurred())
        return NULL;
    PyObject *scope = (PyObject *)scope_new(intern(text, stage, SS_ROLE_NONE));
    /* A str of a class of its own may hold more than its text. */
    if (scope && PyUnicode_CheckExact(text) && PyDict_Size(known[stage]) < KNOWN_MOST &&
        PyDict_SetItem(known[stage], text, scope) != 0)
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

static PyObject *make_stage(PyObject *module, PyObject *const *arguments,
                            Py_ssize_t count, PyObject *names)
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
    static const struct arguments_form form = {"loop", {"name"}, 0, 1};
    PyObject *name;

    (void)module;
    if (arguments_take(&form, arguments, count, names, &name) != 0)
        return NULL;
    if (name && check_text(name) != 0)
        return NULL;
    const ss_name loop =
        name ? intern(name, SS_STAGE_USER, SS_ROLE_LOOP)
             : ss_intern("train", SS_STAGE_USER, SS_ROLE_LOOP, SS_SCOPE_NONE, NULL);
    struct scope *scope = scope_new(loop);
    if (scope) {
        scope->enter = begin_loop;
        scope->leave = end_loop;
    }
    return (PyObject *)scope;
}

static PyObject *make_epoch(PyObject *module, PyObject *const *arguments,
                            Py_ssize_t count, PyObject *names)
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
     "loop($module, name='train')\n--\n\n"
     "Says that the body of a with statement is a training loop."},
    {"epoch", (PyCFunction)(void (*)(void))make_epoch, METH_FASTCALL | METH_KEYWORDS,
     "epoch($module, number)\n--\n\n"
     "Says that the body of a with statement is an epoch."},
    {0},
};

int span_add(PyObject *module)
{
    return PyType_Ready(&scope_type) || PyModule_AddFunctions(module, methods) ? -1 : 0;
}
