#include "hook_numbers.h"

#include "hook_memory.h"
#include "span.h"

/* False: it can not be named. */
static bool name_of(struct hook_numbers *numbers, PyObject *key, ss_name *name)
{
    const size_t at = ((uintptr_t)key >> 4) % NUMBERS_RECENT;
    if (numbers->recent[at].key != key) {
        if (!PyUnicode_CheckExact(key) || span_name(key, SS_STAGE_USER, name) != 0) {
            PyErr_Clear();
            return false;
        }
        Py_XSETREF(numbers->recent[at].key, Py_NewRef(key));
        numbers->recent[at].name = *name;
    }
    *name = numbers->recent[at].name;
    return true;
}

void hook_numbers_see(struct hook_numbers *numbers, PyObject *result)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    ss_name name;
    if (!(numbers->inside & hook_open_groups) || !PyDict_CheckExact(result)) {
        return;
    }
    while (PyDict_Next(result, &at, &key, &value)) {
        if (PyFloat_CheckExact(value) && name_of(numbers, key, &name)) {
            ss_counter(name, PyFloat_AS_DOUBLE(value));
        }
    }
}

int hook_numbers_read(struct hook_point *point, uint64_t inside)
{
    if (!inside) {
        return 0;
    }
    if (!(point->options & HOOK_OUTERMOST)) {
        PyErr_SetString(PyExc_ValueError, "'numbers' needs 'outermost'");
        return -1;
    }
    point->numbers = hook_memory_new(sizeof *point->numbers);
    if (!point->numbers) {
        PyErr_NoMemory();
        return -1;
    }
    point->numbers->inside = inside;
    return 0;
}

void hook_numbers_release(struct hook_numbers *numbers)
{
    for (size_t i = 0; numbers && i < NUMBERS_RECENT; i++) {
        Py_XDECREF(numbers->recent[i].key);
    }
}
