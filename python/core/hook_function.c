/* The vectorcall of a Python function. 3.12 and later have a call for it, which also tells the
 * call sites that had been specialised for the function; before, the field is all there is. */
#include "hook_list.h"

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

static const char *lay(struct hook *hook)
{
    static vectorcallfunc usual;
    if (!PyFunction_Check(hook->target)) {
        return "it is not a Python function";
    }
    if (!usual) {
        usual = find_default();
    }
    if (vectorcall_of(hook->target) != usual) {
        return "something else has hooked it";
    }
    hook->original = (void *)usual;
    set_vectorcall(hook->target, hook_vectorcall);
    return NULL;
}

static const char *restore(struct hook *hook)
{
    const vectorcallfunc now = vectorcall_of(hook->target);
    if (now != hook_vectorcall && now != (vectorcallfunc)hook->original) {
        return "something else replaced it since";
    }
    set_vectorcall(hook->target, (vectorcallfunc)hook->original);
    return NULL;
}

const struct hook_technique hook_function = {"function", lay, restore};
