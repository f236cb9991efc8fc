#include "core.h"

#include "record/notes.h"

/* Before 3.12 a module cannot say by a slot that it is for the main interpreter only. */
static int check_interpreter(void)
{
    if (PyInterpreterState_Get() == PyInterpreterState_Main())
        return 0;
    PyErr_SetString(PyExc_ImportError, "stepscope is inert in subinterpreters");
    return -1;
}

static int fill(PyObject *module)
{
    notes_fact("python", Py_GetVersion());
    return check_interpreter() || record_add(module) || span_add(module) ||
                   timed_add(module) || hook_add(module) || sampler_add(module) ||
                   collector_add(module) || report_add(module)
               ? -1
               : 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "stepscope._core",
    .m_doc = "The recorder in C; use the module stepscope instead.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void); /* the interpreter finds it by its name */

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
