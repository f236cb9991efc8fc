#include "hook_samples.h"

#include "base/own_counters.h"
#include "hook_inform.h"
#include "hook_memory.h"

enum { EVERY = 16, DEEPEST = 4, PARTS = 32, TENSORS = 2 };

struct look {
    const struct hook_samples *by;
    int parts,
        tensors;     /* that were looked at: a batch may be a list of a million numbers */
    Py_ssize_t size; /* of all of them; 0: they differ, or one has none */
};

/* The first dimension; 0: it has none. */
static Py_ssize_t first_dimension(const struct hook_samples *by, PyObject *tensor)
{
    PyObject *shape = PyObject_CallOneArg(by->shape_of, tensor);
    Py_ssize_t size = 0;
    if (shape && PyTuple_Check(shape) && PyTuple_GET_SIZE(shape) > 0) {
        size = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, 0));
    }
    Py_XDECREF(shape);
    hook_inform_forget();
    return size > 0 ? size : 0;
}

static bool is_enough(const struct look *look)
{
    return look->tensors == TENSORS || look->parts >= PARTS;
}

static void look_at(struct look *look, PyObject *part, int depth);

/* What a UserDict keeps, as far as no code of the script is asked for it; NULL: nothing. */
static PyObject *kept_by(const struct hook_samples *by, PyObject *whole)
{
    const bool is_one = PyType_IsSubtype(Py_TYPE(whole), (PyTypeObject *)by->user_dict);
    PyObject *own = is_one ? PyObject_GenericGetDict(whole, NULL) : NULL;
    PyObject *kept = own ? Py_XNewRef(PyDict_GetItemString(own, "data")) : NULL;
    Py_XDECREF(own);
    hook_inform_forget();
    return kept;
}

static void look_into(struct look *look, PyObject *whole, int depth)
{
    PyObject *value;
    Py_ssize_t at = 0;
    if (PyTuple_Check(whole)) {
        for (; at < PyTuple_GET_SIZE(whole) && !is_enough(look); at++) {
            look_at(look, PyTuple_GET_ITEM(whole, at), depth);
        }
    } else if (PyList_CheckExact(whole)) {
        for (; at < PyList_GET_SIZE(whole) && !is_enough(look); at++) {
            look_at(look, PyList_GET_ITEM(whole, at), depth);
        }
    } else if (PyDict_CheckExact(whole)) {
        while (!is_enough(look) && PyDict_Next(whole, &at, NULL, &value)) {
            look_at(look, value, depth);
        }
    } else if ((value = kept_by(look->by, whole))) {
        look_at(look, value, depth);
        Py_DECREF(value);
    }
}

/* Two tensors are enough: if the first dimension is something else than samples, as the length of
 * a text, features and labels hardly have the same. */
static void look_at(struct look *look, PyObject *part, int depth)
{
    look->parts++;
    if ((PyObject *)Py_TYPE(part) == look->by->kind) {
        const Py_ssize_t size = first_dimension(look->by, Py_NewRef(part));
        look->size = look->tensors++ == 0 || look->size == size ? size : 0;
        Py_DECREF(part);
    } else if (depth < DEEPEST) {
        Py_INCREF(part); /* another thread may have its place taken meanwhile */
        look_into(look, part, depth + 1);
        Py_DECREF(part);
    }
}

void hook_samples_look(struct hook_samples *samples, const PyObject *iterator,
                       PyObject *batch)
{
    if (!batch) {
        samples->iterator = NULL; /* the next one may lie where this one did */
        return;
    }
    struct look look = {.by = samples};
    look_at(&look, batch, 0);
    samples->iterator = iterator;
    samples->gate = gate_now();
    samples->left = EVERY - 1;
    ss_counter(samples->name, (double)look.size);
}

int hook_samples_read(PyObject *row, struct hook_point *point)
{
    PyObject *pair = PyDict_GetItemString(row, "samples");
    PyObject *kind = NULL, *shape_of = NULL;
    if (!pair) {
        return 0;
    }
    if (!point->options || !point->is_data) {
        PyErr_SetString(PyExc_ValueError, "'samples' needs 'data' and 'outermost'");
        return -1;
    }
    if (!PyArg_ParseTuple(pair, "OO", &kind, &shape_of)) {
        return -1;
    }
    PyObject *collections = PyImport_ImportModule("collections");
    PyObject *user_dict =
        collections ? PyObject_GetAttrString(collections, "UserDict") : NULL;
    Py_XDECREF(collections);
    if (!user_dict) {
        return -1;
    }
    point->samples = hook_memory_new(sizeof *point->samples);
    if (!point->samples) {
        Py_DECREF(user_dict);
        PyErr_NoMemory();
        return -1;
    }
    point->samples->kind = Py_NewRef(kind);
    point->samples->shape_of = Py_NewRef(shape_of);
    point->samples->user_dict = user_dict;
    point->samples->name =
        ss_intern(OWN_COUNTER_SAMPLES, SS_STAGE_DATA, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    return 0;
}

void hook_samples_release(struct hook_samples *samples)
{
    if (samples) {
        Py_DECREF(samples->kind);
        Py_DECREF(samples->shape_of);
        Py_DECREF(samples->user_dict);
    }
}
