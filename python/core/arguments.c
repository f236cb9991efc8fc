#include "arguments.h"

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

int arguments_take(const struct arguments_form *form, PyObject *const *arguments,
                   Py_ssize_t count, PyObject *names, PyObject **given)
{
    if (count > form->most) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments (%zd given)",
                     form->function, form->most, count);
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
