#include "hook_count.h"

#include "hook_instance.h"
#include "hook_memory.h"

static int64_t count_of(PyObject *object, PyObject *attribute)
{
    if (!object) {
        return 0;
    }
    long long number = 0;
    if (attribute) {
        PyObject *value = PyObject_GetAttr(object, attribute);
        number = value && PyLong_Check(value) ? PyLong_AsLongLong(value) : 0;
        Py_XDECREF(value);
    } else {
        number = PyObject_Size(object);
    }
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return number;
}

/* A number that the calling function has in a variable; 0: it has none. */
static int64_t count_of_caller(struct hook_count *count)
{
    PyObject *value = hook_instance_of_caller(&count->caller);
    const long long number = value && PyLong_Check(value) ? PyLong_AsLongLong(value) : -1;
    Py_XDECREF(value);
    PyErr_Clear();
    return number < 0 ? 0 : number + count->more;
}

/* Each iterator of self gave as many; the last batch need not have a part for each. */
static int64_t count_of_batches(const struct hook_count *count, uint64_t before,
                                PyObject *self)
{
    const uint64_t now = __atomic_load_n(&hook_batches, __ATOMIC_RELAXED);
    const int64_t iterators = count->attribute ? count_of(self, count->attribute) : 1;
    const int64_t each = iterators > 1 ? iterators : 1;
    const int64_t seen = ((int64_t)(now - before) + each - 1) / each;
    const int64_t most = count->most ? count->most : INT64_MAX;
    return seen <= 0 ? (count->most ? most : 1) : seen < most ? seen : most;
}

int64_t hook_count_of(const struct hook_visit *visit, const struct hook_call *call,
                      PyObject *result)
{
    struct hook_count *count = visit->point->count;
    switch (count->at) {
    case HOOK_BATCHES:
        return count_of_batches(count, visit->batches, hook_argument(call, 0));
    case HOOK_CALLER:
        return count_of_caller(count);
    case HOOK_RESULT:
        return count_of(result, count->attribute);
    default:
        return count_of(hook_argument(call, count->at), count->attribute);
    }
}

int hook_count_read(PyObject *row, struct hook_point *point)
{
    PyObject *found = PyDict_GetItemString(row, "count");
    PyObject *never_of = PyDict_GetItemString(row, "count_never_of");
    PyObject *attribute = NULL;
    long long number = 0;
    int at = 0;
    if (!found) {
        return 0;
    }
    if (!PyArg_ParseTuple(found, "iO|L", &at, &attribute, &number)) {
        return -1;
    }
    if (never_of && at < 0) {
        PyErr_SetString(PyExc_ValueError, "'count_never_of' needs an argument to count");
        return -1;
    }
    struct hook_count *count = hook_memory_new(sizeof *count);
    if (!count) {
        PyErr_NoMemory();
        return -1;
    }
    *count = (struct hook_count){.never_of = Py_XNewRef(never_of), .at = at};
    count->most = at == HOOK_BATCHES ? number : 0;
    count->more = at == HOOK_CALLER ? number : 0;
    count->attribute = attribute == Py_None ? NULL : Py_NewRef(attribute);
    count->caller.name = Py_XNewRef(count->attribute);
    point->count = count;
    point->counts_batches = at == HOOK_BATCHES;
    point->options |= HOOK_COUNTS;
    return 0;
}

void hook_count_release(struct hook_count *count)
{
    if (count) {
        Py_XDECREF(count->never_of);
        Py_XDECREF(count->attribute);
        frames_layout_release(&count->caller);
    }
}
