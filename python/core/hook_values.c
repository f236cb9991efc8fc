/* The extras that take values from a call: its count, the samples of a batch, logged numbers. */
#include "base/own_counters.h"
#include "frames_layout.h"
#include "guard.h"
#include "hook_extras.h"
#include "hook_name.h"
#include "span.h"

/* `count`: a dictionary with the fields of Count in stepscope/_hooks.py. */

enum { OF_RESULT = -1, OF_BATCHES = -2, OF_CALLER = -3 };

struct hook_count {
    int of;                          /* which argument, or one of the above */
    PyObject *attribute;             /* strong: of that; NULL: its length */
    PyObject *never_of;              /* strong: an argument of this type has none; NULL: any has */
    struct frames_variable variable; /* of the caller */
    int64_t plus;                    /* added to the variable */
    PyObject *iterators;             /* strong: attribute of self, from how many iterators batches
                                        come; NULL: from one */
    int64_t most;                    /* of batches, also if none was seen; 0: no limit */
};

static int64_t count_of(PyObject *object, PyObject *attribute)
{
    if (!object)
        return 0;
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

/* 0: the caller has no such number. */
static int64_t count_of_caller(struct hook_count *count)
{
    PyObject *value = hook_variable_of_caller(&count->variable);
    const long long number = value && PyLong_Check(value) ? PyLong_AsLongLong(value) : -1;
    Py_XDECREF(value);
    PyErr_Clear();
    return number < 0 ? 0 : number + count->plus;
}

/* Each iterator of self gave as many; the last batch need not have a part for each. */
static int64_t count_of_batches(const struct hook_count *count, uint64_t before, PyObject *self)
{
    const uint64_t now = __atomic_load_n(&hook_batches, __ATOMIC_RELAXED);
    const int64_t iterators = count->iterators ? count_of(self, count->iterators) : 1;
    const int64_t each = iterators > 1 ? iterators : 1;
    const int64_t seen = ((int64_t)(now - before) + each - 1) / each;
    const int64_t most = count->most ? count->most : INT64_MAX;
    return seen <= 0 ? (count->most ? most : 1) : seen < most ? seen : most;
}

ATTR_HOT static void count_leave(const struct hook_visit *visit, const struct hook_call *call,
                                 PyObject *result, struct hook_ending *end)
{
    struct hook_count *count = visit->point->count;
    const PyObject *argument = count->never_of ? hook_argument(call, count->of) : NULL;
    if (!result || (argument && (PyObject *)Py_TYPE(argument) == count->never_of))
        return;
    switch (count->of) {
    case OF_BATCHES:
        end->argument = count_of_batches(count, visit->batches, hook_argument(call, 0));
        break;
    case OF_CALLER:
        end->argument = count_of_caller(count);
        break;
    case OF_RESULT:
        end->argument = count_of(result, count->attribute);
        break;
    default:
        end->argument = count_of(hook_argument(call, count->of), count->attribute);
    }
}

static int read_of(PyObject *of)
{
    static const char *const words[] = {"result", "batches", "caller"};
    for (int i = 0; of && PyUnicode_Check(of) && i < 3; i++)
        if (PyUnicode_CompareWithASCIIString(of, words[i]) == 0)
            return OF_RESULT - i;
    const long argument = of && PyLong_Check(of) ? PyLong_AsLong(of) : -1;
    if (argument < 0 || argument > INT16_MAX) {
        PyErr_SetString(PyExc_ValueError, "'count' is of nothing that is known");
        return OF_CALLER - 1;
    }
    return (int)argument;
}

/* 0: it has none, or an exception. */
static int64_t number_in(PyObject *fields, const char *key)
{
    PyObject *value = PyDict_GetItemString(fields, key);
    return value ? PyLong_AsLongLong(value) : 0;
}

static int count_read(PyObject *row, struct hook_point *point)
{
    PyObject *fields = PyDict_GetItemString(row, "count");
    if (!fields)
        return 0;
    if (!PyDict_Check(fields)) {
        PyErr_SetString(PyExc_TypeError, "'count' is a dictionary");
        return -1;
    }
    const int of = read_of(PyDict_GetItemString(fields, "of"));
    PyObject *never_of = PyDict_GetItemString(fields, "never_of");
    if (of >= OF_CALLER && never_of && of < 0)
        PyErr_SetString(PyExc_ValueError, "'never_of' needs an argument to count");
    if (PyErr_Occurred())
        return -1;
    struct hook_count *count = hook_memory_new(sizeof *count);
    if (!count) {
        PyErr_NoMemory();
        return -1;
    }
    point->count = count;
    count->of = of;
    count->never_of = Py_XNewRef(never_of);
    count->attribute = Py_XNewRef(PyDict_GetItemString(fields, "attribute"));
    count->variable.name = Py_XNewRef(PyDict_GetItemString(fields, "variable"));
    count->iterators = Py_XNewRef(PyDict_GetItemString(fields, "iterators"));
    count->plus = number_in(fields, "plus");
    count->most = number_in(fields, "most");
    return PyErr_Occurred() ? -1 : 1;
}

static void count_release(struct hook_point *point)
{
    if (point->count) {
        Py_XDECREF(point->count->never_of);
        Py_XDECREF(point->count->attribute);
        Py_XDECREF(point->count->iterators);
        frames_layout_release(&point->count->variable);
    }
}

const struct hook_extra hook_count = {
    .read = count_read, .release = count_release, .leave = count_leave};

/* Another core may just have written it. */
static bool batches_enter(struct hook_visit *visit, const struct hook_call *call)
{
    (void)call;
    visit->batches = __atomic_load_n(&hook_batches, __ATOMIC_RELAXED);
    return true;
}

static int batches_read(PyObject *row, struct hook_point *point)
{
    (void)row;
    return point->count && point->count->of == OF_BATCHES;
}

const struct hook_extra hook_count_batches = {
    .read = batches_read, .enter = batches_enter, .is_outer = true};

/* `samples`: (class of tensors, what gives the shape of one). */

enum { EVERY = 16, DEEPEST = 4, PARTS = 32, TENSORS = 2 };

struct hook_samples {
    const PyObject *iterator; /* that gave the last batch; compared and never used */
    unsigned left;            /* batches of it that are not looked at */
    int32_t gate;             /* of the recording that was told */
    ss_name name;
    PyObject *kind; /* only exactly these are asked: others may run code of the script */
    PyObject *shape_of;
    PyObject *user_dict; /* collections.UserDict, which tokenizers give a kind of */
};

struct look {
    const struct hook_samples *by;
    int parts, tensors; /* that were looked at: a batch may be a list of a million numbers */
    Py_ssize_t size;    /* of all of them; 0: they differ, or one has none */
};

/* The first dimension; 0: it has none. */
static Py_ssize_t first_dimension(const struct hook_samples *by, PyObject *tensor)
{
    PyObject *shape = PyObject_CallOneArg(by->shape_of, tensor);
    Py_ssize_t size = 0;
    if (shape && PyTuple_Check(shape) && PyTuple_GET_SIZE(shape) > 0)
        size = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, 0));
    Py_XDECREF(shape);
    hook_forget_error();
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
    PyObject *kept = own ? guard_dict_item(own, "data") : NULL;
    Py_XDECREF(own);
    hook_forget_error();
    return kept;
}

static void look_into(struct look *look, PyObject *whole, int depth)
{
    PyObject *value;
    Py_ssize_t at = 0;
    if (PyTuple_Check(whole)) {
        for (; at < PyTuple_GET_SIZE(whole) && !is_enough(look); at++)
            look_at(look, PyTuple_GET_ITEM(whole, at), depth);
    } else if (PyList_CheckExact(whole)) {
        for (; !is_enough(look) && (value = guard_list_item(whole, at)); at++) {
            look_at(look, value, depth);
            Py_DECREF(value);
        }
    } else if (PyDict_CheckExact(whole)) {
        struct guard guard;
        guard_enter_dict(&guard, whole);
        while (!is_enough(look) && PyDict_Next(whole, &at, NULL, &value))
            look_at(look, value, depth);
        guard_leave(&guard);
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
        Py_INCREF(part); /* another thread may take its place in the meantime */
        look_into(look, part, depth + 1);
        Py_DECREF(part);
    }
}

static void look_at_batch(struct hook_samples *samples, const PyObject *iterator, PyObject *batch)
{
    if (LIKELY(batch && iterator == samples->iterator && samples->left > 0 &&
               samples->gate == gate_now())) {
        samples->left--;
        return;
    }
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

/* Before the span ends, for the model to find the number there. */
ATTR_HOT static void samples_leave(const struct hook_visit *visit, const struct hook_call *call,
                                   PyObject *batch, struct hook_ending *end)
{
    struct guard guard;
    (void)end;
    if (!visit->open)
        return;
    guard_enter(&guard);
    look_at_batch(visit->point->samples, hook_argument(call, 0), batch);
    guard_leave(&guard);
}

static PyObject *find_user_dict(void)
{
    PyObject *collections = PyImport_ImportModule("collections");
    PyObject *user_dict = collections ? PyObject_GetAttrString(collections, "UserDict") : NULL;
    Py_XDECREF(collections);
    return user_dict;
}

static int samples_read(PyObject *row, struct hook_point *point)
{
    PyObject *pair = PyDict_GetItemString(row, "samples");
    PyObject *kind = NULL, *shape_of = NULL;
    if (!pair)
        return 0;
    if (!point->outermost || !point->is_data) {
        PyErr_SetString(PyExc_ValueError, "'samples' needs 'data' and 'outermost'");
        return -1;
    }
    PyObject *user_dict = PyArg_ParseTuple(pair, "OO", &kind, &shape_of) ? find_user_dict() : NULL;
    if (!user_dict)
        return -1;
    struct hook_samples *samples = hook_memory_new(sizeof *samples);
    if (!samples) {
        Py_DECREF(user_dict);
        PyErr_NoMemory();
        return -1;
    }
    samples->kind = Py_NewRef(kind);
    samples->shape_of = Py_NewRef(shape_of);
    samples->user_dict = user_dict;
    samples->name =
        ss_intern(OWN_COUNTER_SAMPLES, SS_STAGE_DATA, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    point->samples = samples;
    return 1;
}

static void samples_release(struct hook_point *point)
{
    if (point->samples) {
        Py_DECREF(point->samples->kind);
        Py_DECREF(point->samples->shape_of);
        Py_DECREF(point->samples->user_dict);
    }
}

const struct hook_extra hook_samples = {
    .read = samples_read, .release = samples_release, .leave = samples_leave};

/* `numbers`: inside a call of this group they count, elsewhere they do not. */

enum { RECENT = 8 };

struct hook_numbers {
    uint64_t group;
    struct {
        PyObject *key; /* strong; NULL: none yet */
        ss_name name;
    } recent[RECENT]; /* a framework has the same texts for them each time */
};

/* False: it cannot be named. */
static bool name_of(struct hook_numbers *numbers, PyObject *key, ss_name *name)
{
    const size_t at = ((uintptr_t)key >> 4) % RECENT;
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

/* None has no numbers to bring. */
static bool numbers_enter(struct hook_visit *visit, const struct hook_call *call)
{
    (void)visit;
    return hook_argument(call, 0) != Py_None;
}

ATTR_HOT static void numbers_leave(const struct hook_visit *visit, const struct hook_call *call,
                                   PyObject *result, struct hook_ending *end)
{
    struct hook_numbers *numbers = visit->point->numbers;
    PyObject *key, *value;
    struct guard guard, of_dict;
    Py_ssize_t at = 0;
    ss_name name;
    (void)call;
    (void)end;
    if (!result || !(numbers->group & hook_open_groups) || !PyDict_CheckExact(result))
        return;
    guard_enter(&guard);
    guard_enter_dict(&of_dict, result);
    while (PyDict_Next(result, &at, &key, &value)) {
        if (PyFloat_CheckExact(value)) {
            const double number = PyFloat_AS_DOUBLE(value);
            Py_INCREF(key); /* to name it may let others at the dictionary */
            if (name_of(numbers, key, &name))
                ss_counter(name, number);
            Py_DECREF(key);
        }
    }
    guard_leave(&of_dict);
    guard_leave(&guard);
}

static int numbers_read(PyObject *row, struct hook_point *point)
{
    uint64_t group = 0;
    if (hook_group_read(row, "numbers", &group) != 0)
        return -1;
    if (!group)
        return 0;
    if (!point->outermost) {
        PyErr_SetString(PyExc_ValueError, "'numbers' needs 'outermost'");
        return -1;
    }
    point->numbers = hook_memory_new(sizeof *point->numbers);
    if (!point->numbers) {
        PyErr_NoMemory();
        return -1;
    }
    point->numbers->group = group;
    return 1;
}

static void numbers_release(struct hook_point *point)
{
    for (size_t i = 0; point->numbers && i < RECENT; i++)
        Py_XDECREF(point->numbers->recent[i].key);
}

const struct hook_extra hook_numbers = {.read = numbers_read,
                                        .release = numbers_release,
                                        .enter = numbers_enter,
                                        .leave = numbers_leave,
                                        .is_outer = true};
