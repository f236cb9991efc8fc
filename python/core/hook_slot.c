/* Hooks in one pointer of an object or class: the vectorcall of a Python function, that of an
 * object whose type has such a slot in each instance, also of objects that come and go, and the
 * buffer slot of a class. */
#include <stdatomic.h>

#include "hook_name.h"
#include "hook_technique.h"
#include "layers.h"

ATTR_HOT static PyObject *call_vector(PyObject *callable, PyObject *const *args, size_t nargsf,
                                      PyObject *kwnames)
{
    const struct hook *hook = hook_list_find(callable);
    const vectorcallfunc original = (vectorcallfunc)hook->original;
    if (!hook_is_due(hook->points))
        return LIKELY(!layers_inside)
                   ? original(callable, args, nargsf, kwnames)
                   : layers_call(hook->points, original, callable, args, nargsf, kwnames);
    const struct hook_call call = {NULL, args, PyVectorcall_NARGS(nargsf)};
    struct hook_visit visit;
    hook_enter(hook->points, &call, &visit);
    return hook_leave(&visit, &call, original(callable, args, nargsf, kwnames));
}

/* The vectorcall of a Python function. 3.12 and later have a call for it, which also tells the
 * call sites that had been specialised for the function; before, the field is all there is. */

static void set_vectorcall(PyObject *function, vectorcallfunc vectorcall)
{
#if PY_VERSION_HEX >= 0x030c0000
    PyFunction_SetVectorcall((PyFunctionObject *)function, vectorcall);
#else
    ((PyFunctionObject *)function)->vectorcall = vectorcall;
#endif
}

static vectorcallfunc vectorcall_of(PyObject *function)
{
    return ((PyFunctionObject *)function)->vectorcall;
}

/* The one that every function starts with; it is not exported by every version. NULL: no memory. */
static vectorcallfunc find_default(void)
{
    PyObject *globals = PyDict_New();
    PyObject *code = Py_CompileString("", "<stepscope>", Py_file_input);
    PyObject *function = globals && code ? PyFunction_New(code, globals) : NULL;
    const vectorcallfunc found = function ? vectorcall_of(function) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(code);
    Py_XDECREF(globals);
    PyErr_Clear();
    return found;
}

static const char *lay_function(struct hook *hook)
{
    static vectorcallfunc usual; /* found once */
    if (!PyFunction_Check(hook->target))
        return "it is not a Python function";
    if (!usual)
        usual = find_default();
    if (vectorcall_of(hook->target) != usual)
        return "something else has hooked it";
    hook->original = (void *)usual;
    atomic_thread_fence(memory_order_release);
    set_vectorcall(hook->target, call_vector);
    return NULL;
}

static const char *restore_function(struct hook *hook)
{
    const vectorcallfunc now = vectorcall_of(hook->target);
    if (now != call_vector && now != (vectorcallfunc)hook->original)
        return "something else replaced it since";
    set_vectorcall(hook->target, (vectorcallfunc)hook->original);
    return NULL;
}

const struct hook_technique hook_function = {"function", lay_function, restore_function};

/* That of one object. */

/* Plain types and what the interpreter calls by other ways than this slot are no such objects;
 * classes that a binding makes, with a type of its own, may be. */
static vectorcallfunc *object_slot(PyObject *object)
{
    const PyTypeObject *type = Py_TYPE(object);
    if (!PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HAVE_VECTORCALL) ||
        type->tp_vectorcall_offset <= 0 || PyType_CheckExact(object) || PyFunction_Check(object) ||
        PyCFunction_Check(object) || PyMethod_Check(object) ||
        Py_IS_TYPE(object, &PyMethodDescr_Type))
        return NULL;
    return (vectorcallfunc *)(void *)((char *)object + type->tp_vectorcall_offset);
}

static const char *lay_object(struct hook *hook)
{
    vectorcallfunc *slot = object_slot(hook->target);
    if (!slot || !*slot)
        return "its type has no vectorcall slot in each object";
    hook->original = (void *)*slot;
    __atomic_store_n(slot, call_vector, __ATOMIC_RELEASE);
    return NULL;
}

static const char *restore_object(struct hook *hook)
{
    vectorcallfunc *slot = object_slot(hook->target);
    if (*slot != call_vector && *slot != (vectorcallfunc)hook->original)
        return "something else replaced it since";
    *slot = (vectorcallfunc)hook->original;
    return NULL;
}

const struct hook_technique hook_object = {"object", lay_object, restore_object};

/* That of objects which come and go. */

/* The outermost one that is being called on this thread. */
static _Thread_local struct hook *called __attribute__((tls_model(SS_TLS_MODEL)));

ATTR_HOT static PyObject *call_transient(PyObject *callable, PyObject *const *args, size_t nargsf,
                                         PyObject *kwnames)
{
    struct hook *hook = hook_list_find(callable);
    struct hook *outer = called;
    const struct hook_point *points = hook->points;
    const vectorcallfunc original = (vectorcallfunc)hook->original;
    if (!hook_is_due(points))
        return original(callable, args, nargsf, kwnames);
    const struct hook_call call = {NULL, args, PyVectorcall_NARGS(nargsf)};
    struct hook_visit visit;
    hook_enter(points, &call, &visit);
    if (visit.point && !outer)
        called = hook;
    PyObject *result = original(callable, args, nargsf, kwnames);
    if (visit.point && hook->points != points)
        hook_rename(&visit, hook->points->name);
    result = hook_leave(&visit, &call, result);
    called = outer;
    return result;
}

void hook_transient_trains(const struct hook *like)
{
    like = like ? like : called;
    if (like)
        __atomic_fetch_or(&like->points->flags, SS_FLAG_TRAIN, __ATOMIC_RELAXED);
}

PyObject *hook_transient_called(void)
{
    return called ? Py_XNewRef(called->owner) : NULL;
}

void hook_transient_become(const struct hook *like, PyObject *wrapper)
{
    if (called) {
        __atomic_fetch_or(&like->points->flags, called->points->flags, __ATOMIC_RELAXED);
        called->points = like->points;
        Py_XSETREF(called->owner, Py_NewRef(wrapper));
    }
}

/* The target is a weak reference; the key is the object's address. */
static vectorcallfunc *slot_of_living(const struct hook *hook)
{
    PyObject *object = (PyObject *)hook->key;
    return hook_instance_is(hook->target, object) ? object_slot(object) : NULL;
}

static const char *lay_transient(struct hook *hook)
{
    vectorcallfunc *slot = slot_of_living(hook);
    if (slot && *slot != call_transient) {
        hook->original = (void *)*slot;
        __atomic_store_n(slot, call_transient, __ATOMIC_RELEASE);
    }
    return NULL;
}

static const char *restore_transient(struct hook *hook)
{
    vectorcallfunc *slot = slot_of_living(hook);
    if (slot && *slot != call_transient && *slot != (vectorcallfunc)hook->original)
        return "something else replaced it since";
    if (slot)
        *slot = (vectorcallfunc)hook->original;
    return NULL;
}

static const struct hook_technique hook_transient = {"transient", lay_transient, restore_transient};

/* The entry for this address, which another object may have had before. */
static struct hook *entry_of(const struct hook *like, PyObject *wrapper, PyObject *object,
                             PyObject *weak)
{
    struct hook *hook = hook_list_find(object);
    if (!hook)
        return hook_list_new(&hook_transient, object, weak, wrapper, NULL, like->points);
    if (hook->technique != &hook_transient)
        return NULL;
    Py_XSETREF(hook->target, Py_NewRef(weak));
    Py_XSETREF(hook->owner, Py_NewRef(wrapper));
    hook->points = like->points;
    return hook;
}

const char *hook_transient_follow(const struct hook *like, PyObject *wrapper, PyObject *object)
{
    const vectorcallfunc *slot = object_slot(object);
    if (!slot || !*slot)
        return "its type has no vectorcall slot in each object";
    if (*slot == call_transient)
        return "it is hooked already";
    PyObject *weak = PyWeakref_NewRef(object, NULL);
    struct hook *hook = weak ? entry_of(like, wrapper, object, weak) : NULL;
    PyErr_Clear();
    Py_XDECREF(weak);
    if (!hook)
        return "it cannot be followed";
    hook->is_laid = true;
    return lay_transient(hook);
}

/* The buffer slot of a class, by which others get at the memory of its objects without a call. */

static const struct hook *hook_of_class(const PyTypeObject *type)
{
    const struct hook *hook = NULL;
    while (type && !(hook = hook_list_find(type))) /* a subclass may inherit the slot */
        type = type->tp_base;
    return hook;
}

static int fill_buffer(PyObject *self, Py_buffer *view, int flags)
{
    const struct hook *hook = hook_of_class(Py_TYPE(self));
    const getbufferproc original = (getbufferproc)hook->original;
    if (!hook_is_due(hook->points))
        return original(self, view, flags);
    const struct hook_call call = {self, NULL, 0};
    struct hook_visit visit;
    hook_enter(hook->points, &call, &visit);
    const int failed = original(self, view, flags);
    if (failed) /* the caller has another way */
        hook_leave_unseen(&visit);
    else
        hook_leave(&visit, &call, Py_None);
    return failed;
}

static getbufferproc *buffer_slot(PyObject *target)
{
    const PyTypeObject *type = PyType_Check(target) ? (PyTypeObject *)target : NULL;
    return type && PyType_HasFeature((PyTypeObject *)target, Py_TPFLAGS_HEAPTYPE) &&
                   type->tp_as_buffer
               ? &type->tp_as_buffer->bf_getbuffer
               : NULL;
}

static const char *lay_buffer(struct hook *hook)
{
    getbufferproc *slot = buffer_slot(hook->target);
    if (!slot || !*slot)
        return "it is not a class whose objects have buffers";
    hook->original = (void *)*slot;
    __atomic_store_n(slot, fill_buffer, __ATOMIC_RELEASE);
    return NULL;
}

static const char *restore_buffer(struct hook *hook)
{
    getbufferproc *slot = buffer_slot(hook->target);
    if (*slot != fill_buffer && *slot != (getbufferproc)hook->original)
        return "something else replaced it since";
    *slot = (getbufferproc)hook->original;
    return NULL;
}

const struct hook_technique hook_buffer = {"buffer", lay_buffer, restore_buffer};
