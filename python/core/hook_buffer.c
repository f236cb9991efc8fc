/* The buffer slot of a class, by which others get at the memory of its objects without a call. */
#include "hook_list.h"

static const struct hook *hook_of(const PyTypeObject *type)
{
    const struct hook *hook = NULL;
    while (type && !(hook = hook_list_find(type))) { /* a subclass may inherit the slot */
        type = type->tp_base;
    }
    return hook;
}

static int fill(PyObject *self, Py_buffer *view, int flags)
{
    const struct hook *hook = hook_of(Py_TYPE(self));
    const getbufferproc original = (getbufferproc)hook->original;
    if (!hook_is_due(hook->points)) {
        return original(self, view, flags);
    }
    const struct hook_call call = {self, NULL, 0};
    struct hook_visit visit;
    hook_enter(hook->points, &call, &visit);
    const int failed = original(self, view, flags);
    if (failed) { /* whoever asked goes another way */
        hook_leave_unseen(&visit);
    } else {
        hook_leave(&visit, &call, Py_None);
    }
    return failed;
}

static getbufferproc *slot_of(PyObject *target)
{
    const PyTypeObject *type = PyType_Check(target) ? (PyTypeObject *)target : NULL;
    return type && PyType_HasFeature((PyTypeObject *)target, Py_TPFLAGS_HEAPTYPE) &&
                   type->tp_as_buffer
               ? &type->tp_as_buffer->bf_getbuffer
               : NULL;
}

static const char *lay(struct hook *hook)
{
    getbufferproc *slot = slot_of(hook->target);
    if (!slot || !*slot) {
        return "it is not a class whose objects have buffers";
    }
    hook->original = (void *)*slot;
    *slot = fill;
    return NULL;
}

static const char *restore(struct hook *hook)
{
    getbufferproc *slot = slot_of(hook->target);
    if (*slot != fill && *slot != (getbufferproc)hook->original) {
        return "something else replaced it since";
    }
    *slot = (getbufferproc)hook->original;
    return NULL;
}

const struct hook_technique hook_buffer = {"buffer", lay, restore};
