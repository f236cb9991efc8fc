#include "hook_inform.h"

int hook_inform_read(PyObject *row, struct hook_point *point)
{
    point->before = Py_XNewRef(PyDict_GetItemString(row, "before"));
    point->after = Py_XNewRef(PyDict_GetItemString(row, "after"));
    if (point->before || point->after) {
        point->options |= HOOK_INFORMS;
    }
    return PyErr_Occurred() ? -1 : 0;
}

void hook_inform_forget(void)
{
    if (!PyErr_Occurred()) {
        return;
    }
    const bool is_interrupt = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
    PyErr_Clear();
    if (is_interrupt) {
        PyErr_SetInterrupt();
    }
}

static PyObject *arguments_of(const struct hook_call *call)
{
    const Py_ssize_t own = call->first ? 1 : 0;
    PyObject *tuple = PyTuple_New(own + call->count);
    if (!tuple) {
        return NULL;
    }
    if (call->first) {
        PyTuple_SET_ITEM(tuple, 0, Py_NewRef(call->first));
    }
    for (Py_ssize_t i = 0; i < call->count; i++) {
        PyTuple_SET_ITEM(tuple, own + i, Py_NewRef(call->rest[i]));
    }
    return tuple;
}

void hook_inform_before(const struct hook_point *point, const struct hook_call *call)
{
    if (point->before) {
        PyObject *arguments = arguments_of(call);
        PyObject *done = arguments ? PyObject_CallOneArg(point->before, arguments) : NULL;
        Py_XDECREF(done);
        Py_XDECREF(arguments);
        hook_inform_forget();
    }
}

void hook_inform_after(const struct hook_point *point, const struct hook_call *call,
                       PyObject *result)
{
    if (point->after) {
        PyObject *kind, *value, *trace;
        PyErr_Fetch(&kind, &value, &trace);
        PyObject *arguments = arguments_of(call);
        PyObject *done =
            arguments ? PyObject_CallFunctionObjArgs(point->after, arguments,
                                                     result ? result : Py_None,
                                                     result ? Py_False : Py_True, NULL)
                      : NULL;
        Py_XDECREF(done);
        Py_XDECREF(arguments);
        hook_inform_forget();
        PyErr_Restore(kind, value, trace);
    }
}
