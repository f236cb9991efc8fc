/* Builds of CPython without the GIL. What the comments of the extension call "with the GIL" holds
 * there inside a guard: one thread at a time is in one, and as with the GIL it lets others in
 * where it waits, or where the Python code that it calls does. So what changes a table of the
 * process does so in a guard, and a call that is recorded needs none, but to be named by an object.
 *
 * With the GIL a guard is nothing at all. */
#ifndef PYTHON_GUARD_H
#define PYTHON_GUARD_H

#include "core.h"

#ifdef Py_GIL_DISABLED

enum { HAS_GIL = 0 };

struct guard {
    PyCriticalSection section;
};

extern PyObject *guard_object; /* made with the module */

/* The thread has a state in the interpreter. Guards nest. */
static inline void guard_enter(struct guard *guard)
{
    PyCriticalSection_Begin(&guard->section, guard_object);
}

static inline void guard_leave(struct guard *guard)
{
    PyCriticalSection_End(&guard->section);
}

#else

enum { HAS_GIL = 1 };

struct guard {
    char unused;
};

static inline void guard_enter(struct guard *guard)
{
    (void)guard;
}

static inline void guard_leave(struct guard *guard)
{
    (void)guard;
}

#endif

/* A dictionary that others may change while its items are visited. Leave it with guard_leave(). */
static inline void guard_enter_dict(struct guard *guard, PyObject *dict)
{
#ifdef Py_GIL_DISABLED
    PyCriticalSection_Begin(&guard->section, dict);
#else
    (void)guard;
    (void)dict;
#endif
}

/* A function of the module with a guard around it: NAME##_guarded calls `name`. */
#define GUARDED(name)                                                                              \
    static PyObject *name##_guarded(PyObject *module, PyObject *argument)                          \
    {                                                                                              \
        struct guard guard;                                                                        \
        guard_enter(&guard);                                                                       \
        PyObject *result = name(module, argument);                                                 \
        guard_leave(&guard);                                                                       \
        return result;                                                                             \
    }

/* What a container has, as a strong reference, NULL without an exception: a borrowed one may go
 * while it is looked at. */
static inline PyObject *guard_list_item(PyObject *list, Py_ssize_t at)
{
#if PY_VERSION_HEX >= 0x030d0000
    PyObject *item = PyList_GetItemRef(list, at);
    if (!item)
        PyErr_Clear();
    return item;
#else
    return at < PyList_GET_SIZE(list) ? Py_NewRef(PyList_GET_ITEM(list, at)) : NULL;
#endif
}

static inline PyObject *guard_dict_item(PyObject *dict, const char *key)
{
    PyObject *item = NULL;
#if PY_VERSION_HEX >= 0x030d0000
    if (PyDict_GetItemStringRef(dict, key, &item) < 0)
        PyErr_Clear();
#else
    item = Py_XNewRef(PyDict_GetItemString(dict, key));
#endif
    return item;
}

#endif
