/* The callable type: an object that stands for a function in a class or a module, calls it and
 * looks like it to code that asks for its name, documentation, signature or attributes. */
#include <Python.h>

#include <stddef.h>
#include <structmember.h>

#include "generator_span.h"
#include "hook_technique.h"
#include "support.h"

struct callable {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *function; /* what it stands for */
    PyObject *weak;
    const struct hook *hook;
};

static struct callable *callable_of(PyObject *object)
{
    return (struct callable *)(void *)object;
}

/* A Python function is called as the interpreter would, without asking what it is. */
static PyObject *call_inside(PyObject *function, PyObject *const *args, size_t nargsf,
                             PyObject *kwnames)
{
    return LIKELY(PyFunction_Check(function))
               ? ((PyFunctionObject *)function)->vectorcall(function, args, nargsf, kwnames)
               : PyObject_Vectorcall(function, args, nargsf, kwnames);
}

ATTR_HOT static PyObject *call(PyObject *self, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames)
{
    struct callable *me = callable_of(self);
    if (!stack_has_room())
        return NULL;
    PyObject *function = Py_NewRef(me->function); /* it may be restored during the call */
    const struct hook_call call_made = {NULL, args, PyVectorcall_NARGS(nargsf)};
    struct hook_visit visit;
    visit.point = NULL;
    if (hook_is_due(me->hook->points))
        hook_enter(me->hook->points, &call_made, &visit);
    PyObject *result = call_inside(function, args, nargsf, kwnames);
    if (visit.point)
        hook_leave(&visit, &call_made, result);
    Py_DECREF(function);
    return result;
}

/* Each resume of what the call makes is a span; a row that asks for more has `call`. */
static PyObject *call_flow(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *function = Py_NewRef(callable_of(self)->function);
    const struct hook_point *point = callable_of(self)->hook->points;
    PyObject *made = PyObject_Vectorcall(function, args, nargsf, kwnames);
    Py_DECREF(function);
    if (!hook_state.is_on)
        return made;
    return point->is_data ? generator_span_wrap_batches(made, point->name)
                          : generator_span_wrap(made, point->name);
}

static PyObject *bind(PyObject *self, PyObject *instance, PyObject *type)
{
    (void)type;
    return instance && instance != Py_None ? PyMethod_New(self, instance) : Py_NewRef(self);
}

/* What is asked of the object itself and not of the function that it stands for. */
static bool is_own(PyObject *name)
{
    static const char *const own[] = {"__wrapped__",   "__class__", "__reduce__",
                                      "__reduce_ex__", "__get__",   "__call__"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (PyUnicode_CompareWithASCIIString(name, own[i]) == 0)
            return true;
    return false;
}

static PyObject *get(PyObject *self, PyObject *name)
{
    return PyUnicode_Check(name) && is_own(name)
               ? PyObject_GenericGetAttr(self, name)
               : PyObject_GetAttr(callable_of(self)->function, name);
}

static int set(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(callable_of(self)->function, name, value);
}

static PyObject *represent(PyObject *self)
{
    return PyObject_Repr(callable_of(self)->function);
}

/* What the function's own qualified name leads to; NULL without an exception if to nothing. */
static PyObject *resolve(PyObject *function, PyObject **path)
{
    PyObject *module_name = PyObject_GetAttrString(function, "__module__");
    PyObject *found = module_name ? PyImport_GetModule(module_name) : NULL;
    Py_XDECREF(module_name);
    *path = PyObject_GetAttrString(function, "__qualname__");
    PyObject *dot = PyUnicode_FromString(".");
    PyObject *parts = dot && *path ? PyUnicode_Split(*path, dot, -1) : NULL;
    for (Py_ssize_t i = 0; found && parts && i < PyList_GET_SIZE(parts); i++) {
        PyObject *inner = PyObject_GetAttr(found, PyList_GET_ITEM(parts, i));
        Py_SETREF(found, inner);
    }
    Py_XDECREF(dot);
    Py_XDECREF(parts);
    PyErr_Clear();
    return found;
}

/* Pickled by the function's name if that leads here, else as the function itself, so that a process
 * that reads the pickle needs nothing of ours. */
static PyObject *reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *function = callable_of(self)->function;
    PyObject *path = NULL;
    PyObject *found = resolve(function, &path);
    PyObject *reduced = NULL;
    if (found == self) {
        reduced = Py_NewRef(path);
    } else {
        PyObject *operators = PyImport_ImportModule("operator");
        PyObject *first = operators ? PyObject_CallMethod(operators, "itemgetter", "i", 0) : NULL;
        reduced = first ? Py_BuildValue("(O((O)))", first, function) : NULL;
        Py_XDECREF(first);
        Py_XDECREF(operators);
    }
    Py_XDECREF(found);
    Py_XDECREF(path);
    return reduced;
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(callable_of(self)->function);
    return 0;
}

static void release(PyObject *self)
{
    struct callable *me = callable_of(self);
    PyObject_GC_UnTrack(self);
    if (me->weak)
        PyObject_ClearWeakRefs(self);
    Py_XDECREF(me->function);
    PyObject_GC_Del(self);
}

static PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT, offsetof(struct callable, function), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {"__reduce_ex__", reduce, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "stepscope._core.Hooked",
    .tp_basicsize = sizeof(struct callable),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(struct callable, vectorcall),
    .tp_weaklistoffset = offsetof(struct callable, weak),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = bind,
    .tp_getattro = get,
    .tp_setattro = set,
    .tp_repr = represent,
    .tp_traverse = traverse,
    .tp_dealloc = release,
    .tp_members = members,
    .tp_methods = methods,
};

int hook_callable_ready(PyObject *module)
{
    return PyType_Ready(&type) == 0 ? PyModule_AddObjectRef(module, "Hooked", (PyObject *)&type)
                                    : -1;
}

PyObject *hook_callable_new(const struct hook *hook, PyObject *function)
{
    struct callable *made = PyObject_GC_New(struct callable, &type);
    if (!made)
        return NULL;
    made->vectorcall =
        hook->points->is_name_only && generator_span_is_made_by(function) ? call_flow : call;
    made->function = Py_NewRef(function);
    made->weak = NULL;
    made->hook = hook;
    PyObject_GC_Track((PyObject *)made);
    return (PyObject *)made;
}

/* A static or class method is made again around the callable. */
static PyObject *make_replacement(const struct hook *hook)
{
    PyObject *target = hook->target;
    if (!Py_IS_TYPE(target, &PyStaticMethod_Type) && !Py_IS_TYPE(target, &PyClassMethod_Type))
        return hook_callable_new(hook, target);
    PyObject *function = PyObject_GetAttrString(target, "__func__");
    PyObject *inner = function ? hook_callable_new(hook, function) : NULL;
    PyObject *outer = inner ? PyObject_CallOneArg((PyObject *)Py_TYPE(target), inner) : NULL;
    Py_XDECREF(inner);
    Py_XDECREF(function);
    return outer;
}

/* The value in the owner's own dictionary: borrowed, NULL if it has none of its own. */
static PyObject *own_value(const struct hook *hook)
{
    PyObject *dict = PyType_Check(hook->owner) ? ((PyTypeObject *)hook->owner)->tp_dict
                                               : PyObject_GenericGetDict(hook->owner, NULL);
    PyObject *value = dict ? PyDict_GetItemWithError(dict, hook->attribute) : NULL;
    if (dict && !PyType_Check(hook->owner))
        Py_DECREF(dict);
    PyErr_Clear();
    return value;
}

static bool can_stand_for(PyObject *target)
{
    return Py_IS_TYPE(target, &PyStaticMethod_Type) || Py_IS_TYPE(target, &PyClassMethod_Type) ||
           (PyCallable_Check(target) && !PyType_Check(target));
}

static const char *lay(struct hook *hook)
{
    if (!hook->owner || !can_stand_for(hook->target))
        return "it is not a function of a class or a module";
    PyObject *own = own_value(hook);
    if (own && own != hook->target)
        return "something else replaced it since";
    PyObject *replacement = make_replacement(hook);
    if (!replacement || PyObject_SetAttr(hook->owner, hook->attribute, replacement) != 0) {
        Py_XDECREF(replacement);
        PyErr_Clear();
        return "its class or module does not let it be replaced";
    }
    hook->original = own; /* NULL: it was inherited, and is deleted when restored */
    hook->place = replacement;
    return NULL;
}

static const char *restore(struct hook *hook)
{
    const PyObject *own = own_value(hook);
    if (own != hook->place && own != hook->original)
        return "something else replaced it since";
    const int failed = own == hook->original ? 0 /* other code has restored it */
                       : hook->original
                           ? PyObject_SetAttr(hook->owner, hook->attribute, hook->target)
                           : PyObject_DelAttr(hook->owner, hook->attribute);
    if (failed) {
        PyErr_Clear();
        return "its class or module does not let it be replaced";
    }
    Py_DECREF((PyObject *)hook->place);
    hook->place = NULL;
    return NULL;
}

const struct hook_technique hook_callable = {"callable", lay, restore};
