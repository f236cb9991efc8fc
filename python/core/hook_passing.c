#include "hook_passing.h"

#include "hook_instance.h"
#include "hook_list.h"

static _Thread_local struct hook *called __attribute__((tls_model(SS_TLS_MODEL)));

ATTR_HOT static PyObject *call_passing(PyObject *callable, PyObject *const *args,
                                       size_t nargsf, PyObject *kwnames)
{
    struct hook *hook = hook_list_find(callable);
    struct hook *outer = called;
    const struct hook_point *points = hook->points;
    const vectorcallfunc original = (vectorcallfunc)hook->original;
    if (!hook_is_due(points)) {
        return original(callable, args, nargsf, kwnames);
    }
    const struct hook_call call = {NULL, args, PyVectorcall_NARGS(nargsf)};
    struct hook_visit visit;
    hook_enter(points, &call, &visit);
    if (visit.point && !outer) {
        called = hook;
    }
    PyObject *result = original(callable, args, nargsf, kwnames);
    called = outer;
    if (visit.point && hook->points != points) {
        hook_rename(&visit, hook->points->name);
    }
    return hook_leave(&visit, &call, result);
}

void hook_passing_trains(const struct hook *like)
{
    like = like ? like : called;
    if (like) {
        like->points->flags |= SS_FLAG_TRAIN;
    }
}

PyObject *hook_passing_called(void)
{
    return called ? called->owner : NULL;
}

void hook_passing_become(const struct hook *like, PyObject *wrapper)
{
    if (called) {
        like->points->flags |= called->points->flags;
        called->points = like->points;
        Py_XSETREF(called->owner, Py_NewRef(wrapper));
    }
}

/* The target is a weak reference; the key is the object's address. */
static vectorcallfunc *slot_of_living(const struct hook *hook)
{
    PyObject *object = (PyObject *)hook->key;
    return hook_instance_is(hook->target, object) ? hook_object_slot(object) : NULL;
}

static const char *lay(struct hook *hook)
{
    vectorcallfunc *slot = slot_of_living(hook);
    if (slot && *slot != call_passing) {
        hook->original = (void *)*slot;
        *slot = call_passing;
    }
    return NULL;
}

static const char *restore(struct hook *hook)
{
    vectorcallfunc *slot = slot_of_living(hook);
    if (slot && *slot != call_passing && *slot != (vectorcallfunc)hook->original) {
        return "something else replaced it since";
    }
    if (slot) {
        *slot = (vectorcallfunc)hook->original;
    }
    return NULL;
}

static const struct hook_technique hook_passing = {"passing", lay, restore};

/* The entry for this address, which another object may have had before. */
static struct hook *entry_of(const struct hook *like, PyObject *wrapper, PyObject *object,
                             PyObject *weak)
{
    struct hook *hook = hook_list_find(object);
    if (!hook) {
        return hook_list_new(&hook_passing, object, weak, wrapper, NULL, like->points);
    }
    if (hook->technique != &hook_passing) {
        return NULL;
    }
    Py_XSETREF(hook->target, Py_NewRef(weak));
    Py_XSETREF(hook->owner, Py_NewRef(wrapper));
    hook->points = like->points;
    return hook;
}

const char *hook_passing_follow(const struct hook *like, PyObject *wrapper,
                                PyObject *object)
{
    const vectorcallfunc *slot = hook_object_slot(object);
    if (!slot || !*slot) {
        return "its type has no vectorcall slot in each object";
    }
    if (*slot == call_passing) {
        return "it is hooked already";
    }
    PyObject *weak = PyWeakref_NewRef(object, NULL);
    struct hook *hook = weak ? entry_of(like, wrapper, object, weak) : NULL;
    PyErr_Clear();
    Py_XDECREF(weak);
    if (!hook) {
        return "it can not be followed";
    }
    hook->is_laid = true;
    return lay(hook);
}
