/* The vectorcall slot of one object, and the trampoline that Python functions share with it. */
#include "hook_list.h"

PyObject *hook_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf,
                          PyObject *kwnames)
{
    const struct hook *hook = hook_list_find(callable);
    const vectorcallfunc original = (vectorcallfunc)hook->original;
    if (!hook_is_due(hook->points)) {
        return original(callable, args, nargsf, kwnames);
    }
    const struct hook_call call = {NULL, args, PyVectorcall_NARGS(nargsf)};
    struct hook_visit visit;
    hook_enter(hook->points, &call, &visit);
    return hook_leave(&visit, &call, original(callable, args, nargsf, kwnames));
}

/* Plain types and what the interpreter calls by other ways than this slot are no such objects; classes that a
 * binding makes, with a type of its own, may be. */
vectorcallfunc *hook_object_slot(PyObject *object)
{
    const PyTypeObject *type = Py_TYPE(object);
    if (!PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HAVE_VECTORCALL) ||
        type->tp_vectorcall_offset <= 0 || PyType_CheckExact(object) ||
        PyFunction_Check(object) || PyCFunction_Check(object) || PyMethod_Check(object) ||
        Py_IS_TYPE(object, &PyMethodDescr_Type)) {
        return NULL;
    }
    return (vectorcallfunc *)(void *)((char *)object + type->tp_vectorcall_offset);
}

static const char *lay(struct hook *hook)
{
    vectorcallfunc *slot = hook_object_slot(hook->target);
    if (!slot || !*slot) {
        return "its type has no vectorcall slot in each object";
    }
    hook->original = (void *)*slot;
    *slot = hook_vectorcall;
    return NULL;
}

static const char *restore(struct hook *hook)
{
    vectorcallfunc *slot = hook_object_slot(hook->target);
    if (*slot != hook_vectorcall && *slot != (vectorcallfunc)hook->original) {
        return "something else replaced it since";
    }
    *slot = (vectorcallfunc)hook->original;
    return NULL;
}

const struct hook_technique hook_object = {"object", lay, restore};
