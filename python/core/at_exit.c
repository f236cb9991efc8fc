#include "at_exit.h"

void at_exit_call(PyMethodDef *method)
{
    PyObject *module = PyImport_ImportModule("atexit");
    PyObject *function = module ? PyCFunction_New(method, NULL) : NULL;
    PyObject *done =
        function ? PyObject_CallMethod(module, "register", "O", function) : NULL;

    if (!done)
        PyErr_Clear();
    Py_XDECREF(done);
    Py_XDECREF(function);
    Py_XDECREF(module);
}
