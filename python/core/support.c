#include "support.h"

#include <errno.h>
#include <pthread.h>

static int find(const struct arguments_form *form, PyObject *name)
{
    for (int i = 0; i < form->most; i++)
        if (PyUnicode_CompareWithASCIIString(name, form->names[i]) == 0)
            return i;
    return -1;
}

static int take_keywords(const struct arguments_form *form, PyObject *const *values,
                         PyObject *names, PyObject **given)
{
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        const int at = find(form, name);
        if (at < 0 || given[at]) {
            PyErr_Format(PyExc_TypeError, "%s() got %s argument '%U'", form->function,
                         at < 0 ? "an unexpected keyword" : "multiple values for", name);
            return -1;
        }
        given[at] = values[i];
    }
    return 0;
}

int arguments_take(const struct arguments_form *form, PyObject *const *arguments, Py_ssize_t count,
                   PyObject *names, PyObject **given)
{
    if (count > form->most) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments (%zd given)", form->function,
                     form->most, count);
        return -1;
    }
    for (int i = 0; i < form->most; i++)
        given[i] = i < count ? arguments[i] : NULL;
    if (take_keywords(form, arguments + count, names, given) != 0)
        return -1;
    for (int i = 0; i < form->most; i++)
        if (!given[i] && i < form->fewest) {
            PyErr_Format(PyExc_TypeError, "%s() needs the argument '%s'", form->function,
                         form->names[i]);
            return -1;
        } else if (given[i] == Py_None && i >= form->fewest) {
            given[i] = NULL;
        }
    return 0;
}

int arguments_count(PyObject *number, const char *name, uint64_t *count)
{
    *count = 0;
    if (!number)
        return 0;
    PyObject *index = PyNumber_Index(number);
    if (!index)
        return -1;
    *count = PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    if (PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "%s must be 0 or more, not %R", name, number);
        return -1;
    }
    return 0;
}

void at_exit_call(PyMethodDef *method)
{
    PyObject *module = PyImport_ImportModule("atexit");
    PyObject *function = module ? PyCFunction_New(method, NULL) : NULL;
    PyObject *done = function ? PyObject_CallMethod(module, "register", "O", function) : NULL;

    if (!done)
        PyErr_Clear();
    Py_XDECREF(done);
    Py_XDECREF(function);
    Py_XDECREF(module);
}

#if PY_VERSION_HEX < 0x030c0000
enum { SPARE_MOST = 256 * 1024 }; /* for what is called from there, or a quarter of the stack */

/* Of the stack of this thread, learned at its first call. */
_Thread_local uintptr_t recursion_guard_end __attribute__((tls_model(SS_TLS_MODEL))) = UINTPTR_MAX;
/* Where it begins. */
static _Thread_local uintptr_t low __attribute__((tls_model(SS_TLS_MODEL)));

/* If it is unknown, there is always room. */
static void learn(void)
{
    pthread_attr_t attributes;
    void *start = NULL;
    size_t size = 0;

    recursion_guard_end = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &start, &size) == 0) {
        low = (uintptr_t)start;
        recursion_guard_end = low + (size / 4 < SPARE_MOST ? size / 4 : SPARE_MOST);
    }
    pthread_attr_destroy(&attributes);
}

bool recursion_guard_look(uintptr_t here)
{
    const int error = errno;

    if (recursion_guard_end == UINTPTR_MAX)
        learn();
    errno = error;
    if (here >= recursion_guard_end || here < low) /* below: a stack that the program made itself */
        return true;
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded: a function "
                                          "that is timed needs room on the C stack");
    return false;
}
#endif
