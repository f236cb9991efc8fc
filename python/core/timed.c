/* @stepscope.timed: a function whose calls are spans.
 *
 * The object that stands for the function answers for it in all but the call: attributes, also
 * those that are set, are the function's own. So inspect, asyncio, pickle and documentation tools
 * see what they would see without it, and a traceback has no frame of ours. */
#include "core.h"

#include <stddef.h>

#include "event.h"
#include "generator_span.h"
#include "span.h"
#include "support.h"

struct timed {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *function;
    PyObject *weak_references;
    ss_name name;
};

static PyTypeObject timed_type;

/* A generator or a coroutine has done nothing yet when the call returns. */
static PyObject *timed_call(PyObject *self, PyObject *const *arguments, size_t count,
                            PyObject *names)
{
    const struct timed *timed = (const struct timed *)self;

    if (!stack_has_room())
        return NULL;
    PyObject *function = Py_NewRef(timed->function);
    const ss_name name = timed->name; /* the call may free what stands for the function */

    ss_begin(name, 0);
    event_seen();
    PyObject *result = PyObject_Vectorcall(function, arguments, count, names);
    span_stack_end(name, result ? 0 : SS_FLAG_FAILED);
    Py_DECREF(function);
    return result;
}

static PyObject *timed_call_flow(PyObject *self, PyObject *const *arguments, size_t count,
                                 PyObject *names)
{
    const struct timed *timed = (const struct timed *)self;
    const ss_name name = timed->name;

    return generator_span_wrap(PyObject_Vectorcall(timed->function, arguments, count, names), name);
}

static PyObject *timed_new(PyObject *function, ss_name name)
{
    struct timed *timed = PyObject_GC_New(struct timed, &timed_type);

    if (!timed)
        return NULL;
    timed->vectorcall = generator_span_is_made_by(function) ? timed_call_flow : timed_call;
    timed->function = Py_NewRef(function);
    timed->weak_references = NULL;
    timed->name = name;
    PyObject_GC_Track(timed);
    return (PyObject *)timed;
}

static int timed_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((struct timed *)self)->function);
    return 0;
}

static int timed_clear(PyObject *self)
{
    Py_CLEAR(((struct timed *)self)->function);
    return 0;
}

static void timed_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    if (((struct timed *)self)->weak_references)
        PyObject_ClearWeakRefs(self);
    (void)timed_clear(self);
    PyObject_GC_Del(self);
}

static PyObject *timed_bind(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

static PyObject *timed_getattr(PyObject *self, PyObject *name)
{
    PyObject *own = PyObject_GenericGetAttr(self, name);

    if (own || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return own;
    PyErr_Clear();
    return PyObject_GetAttr(((struct timed *)self)->function, name);
}

static int timed_setattr(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((struct timed *)self)->function, name, value);
}

static PyObject *timed_repr(PyObject *self)
{
    return PyObject_Repr(((struct timed *)self)->function);
}

/* Every type has attributes of these names, which would hide those of the function. */
static PyObject *get_of_function(PyObject *self, void *name)
{
    return PyObject_GetAttrString(((struct timed *)self)->function, name);
}

static PyObject *get_function(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(((struct timed *)self)->function);
}

/* As functions are pickled: by the name under which they are found. */
static PyObject *timed_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyObject_GetAttrString(((struct timed *)self)->function, "__qualname__");
}

static char doc_name[] = "__doc__", module_name[] = "__module__", dict_name[] = "__dict__";

static PyGetSetDef timed_attributes[] = {
    {"__wrapped__", get_function, NULL, NULL, NULL},
    {"__doc__", get_of_function, NULL, NULL, doc_name},
    {"__module__", get_of_function, NULL, NULL, module_name},
    {"__dict__", get_of_function, NULL, NULL, dict_name},
    {0},
};

static PyMethodDef timed_methods[] = {
    {"__reduce__", timed_reduce, METH_NOARGS, NULL},
    {0},
};

static PyTypeObject timed_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "stepscope.timed_function",
    .tp_basicsize = sizeof(struct timed),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(struct timed, vectorcall),
    .tp_weaklistoffset = offsetof(struct timed, weak_references),
    .tp_call = PyVectorcall_Call,
    .tp_traverse = timed_traverse,
    .tp_clear = timed_clear,
    .tp_dealloc = timed_dealloc,
    .tp_descr_get = timed_bind,
    .tp_getattro = timed_getattr,
    .tp_setattro = timed_setattr,
    .tp_repr = timed_repr,
    .tp_methods = timed_methods,
    .tp_getset = timed_attributes,
};

/* The name of the span unless one is given: module-level names are short enough as they are. */
static PyObject *name_of(PyObject *function)
{
    PyObject *name = PyObject_GetAttrString(function, "__qualname__");

    if (name && PyUnicode_Check(name))
        return name;
    Py_XDECREF(name);
    PyErr_Clear();
    return PyObject_GetAttrString((PyObject *)Py_TYPE(function), "__name__");
}

static PyObject *time_plain(PyObject *function, PyObject *text, enum ss_stage stage)
{
    PyObject *chosen = text ? Py_NewRef(text) : name_of(function);
    ss_name name;

    if (!chosen)
        return NULL;
    PyObject *timed = span_name(chosen, stage, &name) == 0 ? timed_new(function, name) : NULL;
    Py_DECREF(chosen);
    return timed;
}

/* A static or a class method stays one, around a timed function. */
static PyObject *time_method(PyObject *method, PyObject *text, enum ss_stage stage)
{
    PyObject *function = PyObject_GetAttrString(method, "__func__");
    PyObject *timed = function ? time_plain(function, text, stage) : NULL;
    PyObject *again = timed ? PyObject_CallOneArg((PyObject *)Py_TYPE(method), timed) : NULL;

    Py_XDECREF(timed);
    Py_XDECREF(function);
    return again;
}

static PyObject *make_timed(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                            PyObject *names)
{
    static const struct arguments_form form = {"timed", {"function", "name", "stage"}, 1, 3};
    PyObject *given[3];

    (void)module;
    if (arguments_take(&form, arguments, count, names, given) != 0)
        return NULL;
    const int stage = span_stage(given[2]);
    if (stage < 0)
        return NULL;
    if (Py_IS_TYPE(given[0], &PyStaticMethod_Type) || Py_IS_TYPE(given[0], &PyClassMethod_Type))
        return time_method(given[0], given[1], (enum ss_stage)stage);
    if (!PyCallable_Check(given[0]) || PyType_Check(given[0])) {
        PyErr_Format(PyExc_TypeError, "timed() takes a function, not %.100s",
                     PyType_Check(given[0]) ? "a class" : Py_TYPE(given[0])->tp_name);
        return NULL;
    }
    return time_plain(given[0], given[1], (enum ss_stage)stage);
}

static PyMethodDef methods[] = {
    {"timed", (PyCFunction)(void (*)(void))make_timed, METH_FASTCALL | METH_KEYWORDS,
     "timed($module, function, name=None, stage='user')\n--\n\n"
     "The function, with each call recorded as a span."},
    {0},
};

int timed_add(PyObject *module)
{
    return generator_span_add(module) || PyType_Ready(&timed_type) ||
                   PyModule_AddFunctions(module, methods)
               ? -1
               : 0;
}
