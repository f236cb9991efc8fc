/* Lays hooks, and turns all of them off and on. */
#include "hook.h"

#include "device_events.h"
#include "flow.h"
#include "hook_instance.h"
#include "hook_list.h"
#include "hook_memory.h"
#include "hook_passing.h"
#include "hook_point.h"
#include "hook_status.h"
#include "hook_wait.h"
#include <string.h>

static const struct hook_technique *const techniques[] = {
    &hook_function, &hook_method,  &hook_object,
    &hook_callable, &hook_library, &hook_buffer,
};

static const struct hook_technique *find_technique(const char *name)
{
    for (size_t i = 0; i < sizeof techniques / sizeof *techniques; i++) {
        if (strcmp(techniques[i]->name, name) == 0) {
            return techniques[i];
        }
    }
    PyErr_Format(PyExc_ValueError, "'%s' is not a way to lay a hook", name);
    return NULL;
}

/* A second row for the same target: calls that the first ones do not take. */
static const char *append_point(struct hook *hook, struct hook_point *point)
{
    struct hook_point *last = hook->points;
    while (last->next) {
        last = last->next;
    }
    if (!(last->options & HOOK_BY_ATTRIBUTE) ||
        (last->options ^ point->options) & HOOK_ENDS) {
        return "it is hooked already";
    }
    if (last->never_in != point->never_in) {
        return "another row for it has another 'never_in'";
    }
    last->next = point;
    hook->points->shut |= point->shut;
    return NULL;
}

/* Two classes that inherit one function are two places for objects of ours, and neither has the other's
 * calls. */
static bool is_elsewhere(const struct hook *hook, const struct hook_technique *technique,
                         const PyObject *owner)
{
    return technique == &hook_callable && hook->technique == technique &&
           hook->owner != owner;
}

/* The hook on this object, laid or off: of the object itself, or of the one in its place. */
static struct hook *find_known(const struct hook_technique *technique, PyObject *target,
                               const PyObject *owner)
{
    struct hook *hook = NULL;
    for (unsigned i = 0; (hook = hook_list_at(i)); i++) {
        const bool is_same =
            hook->target == target && !is_elsewhere(hook, technique, owner);
        if (target != Py_None && (is_same || hook->place == target)) {
            return hook;
        }
    }
    return NULL;
}

/* A call of a generator function only makes a generator. What it does then, an object of ours in its
 * place sees; whoever only wants to be told of the call needs no more. */
static const char *check_flow(const struct hook_technique *technique, PyObject *target,
                              const struct hook_point *point)
{
    PyObject *inside = Py_IS_TYPE(target, &PyStaticMethod_Type) ||
                               Py_IS_TYPE(target, &PyClassMethod_Type)
                           ? PyObject_GetAttrString(target, "__func__")
                           : Py_NewRef(target);
    const bool is_flow = inside && flow_is_made_by(inside);
    Py_XDECREF(inside);
    PyErr_Clear();
    return !is_flow || point->options & HOOK_SILENT ? NULL
           : technique == &hook_callable && hook_point_is_plain(point)
               ? NULL
               : "a call of it only makes a generator or coroutine";
}

static void let_go(struct hook *hook)
{
    Py_CLEAR(hook->target);
    Py_CLEAR(hook->owner);
    Py_CLEAR(hook->attribute);
}

static const char *lay_point(const struct hook_technique *technique, PyObject *target,
                             PyObject *owner, PyObject *attribute,
                             struct hook_point *point)
{
    struct hook *hook = find_known(technique, target, owner);
    if (hook) {
        const char *reason = append_point(hook, point);
        if (reason) {
            hook_point_release(point);
        }
        return reason;
    }
    hook = hook_list_new(technique, target, target, owner, attribute, point);
    if (!hook) {
        hook_point_release(point);
        return "no memory";
    }
    const char *reason = technique->lay(hook);
    hook->is_laid = !reason;
    if (reason) {
        let_go(hook);
    }
    return reason;
}

/* hook_lay(technique, target, owner, attribute, row) -> None, or why not. */
static PyObject *lay(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name = NULL;
    PyObject *target, *owner, *attribute, *row;
    if (!PyArg_ParseTuple(args, "sOOOO!", &name, &target, &owner, &attribute,
                          &PyDict_Type, &row)) {
        return NULL;
    }
    const struct hook_technique *technique = find_technique(name);
    struct hook_point *point = technique ? hook_point_new(row) : NULL;
    if (!point) {
        return NULL;
    }
    const char *reason = check_flow(technique, target, point);
    if (reason) {
        hook_point_release(point);
    } else {
        reason = lay_point(technique, target, owner, attribute, point);
    }
    return reason ? PyUnicode_FromString(reason) : Py_NewRef(Py_None);
}

static const char WRAPPER[] = "stepscope._core.hook_wrapper";

/* hook_wrapper(row) -> what hook_wrap() takes, for functions that are made while the script runs. It
 * is never freed: a call may be inside. */
static PyObject *make_wrapper(PyObject *module, PyObject *row)
{
    (void)module;
    struct hook *hook = hook_memory_new(sizeof *hook);
    struct hook_point *point = hook ? hook_point_new(row) : NULL;
    if (!point) {
        return hook ? NULL : PyErr_NoMemory();
    }
    hook->points = point;
    return PyCapsule_New(hook, WRAPPER, NULL);
}

/* hook_wrap(wrapper, function) -> a callable that stands for the function. */
static PyObject *wrap(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *wrapper, *function;
    if (!PyArg_ParseTuple(args, "OO", &wrapper, &function)) {
        return NULL;
    }
    const struct hook *hook = PyCapsule_GetPointer(wrapper, WRAPPER);
    return hook ? hook_callable_new(hook, function) : NULL;
}

/* hook_follow(wrapper, object) -> None, or why not: its calls record what the wrapper says. */
static PyObject *follow(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *wrapper, *object;
    if (!PyArg_ParseTuple(args, "OO", &wrapper, &object)) {
        return NULL;
    }
    const struct hook *hook = PyCapsule_GetPointer(wrapper, WRAPPER);
    if (!hook) {
        return NULL;
    }
    const char *reason = hook_passing_follow(hook, wrapper, object);
    return reason ? PyUnicode_FromString(reason) : Py_NewRef(Py_None);
}

/* hook_trains(wrapper, or None for that which hook_called() gives): its calls train. */
static PyObject *mark_training(PyObject *module, PyObject *wrapper)
{
    (void)module;
    const struct hook *hook =
        wrapper == Py_None ? NULL : PyCapsule_GetPointer(wrapper, WRAPPER);
    if (PyErr_Occurred()) {
        return NULL;
    }
    hook_passing_trains(hook);
    Py_RETURN_NONE;
}

/* hook_condition(flag or ""): of what is recorded from now on, as while another profiler runs. */
static PyObject *set_condition(PyObject *module, PyObject *word)
{
    (void)module;
    const char *text = PyUnicode_AsUTF8(word);
    return text && hook_point_set_condition(text) == 0 ? Py_NewRef(Py_None) : NULL;
}

/* hook_called() -> the wrapper of what is followed and being called on this thread, or None. */
static PyObject *find_called(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *wrapper = hook_passing_called();
    return Py_NewRef(wrapper ? wrapper : Py_None);
}

/* hook_become(wrapper): from this call on it records what this one says. */
static PyObject *become(PyObject *module, PyObject *wrapper)
{
    (void)module;
    const struct hook *hook = PyCapsule_GetPointer(wrapper, WRAPPER);
    if (!hook) {
        return NULL;
    }
    hook_passing_become(hook, wrapper);
    Py_RETURN_NONE;
}

/* hook_batches() -> how many batches libraries have told of so far. */
static PyObject *count_batches(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromUnsignedLongLong(__atomic_load_n(&hook_batches, __ATOMIC_RELAXED));
}

/* hook_note(target, reason or None): for the run. */
static PyObject *note(PyObject *module, PyObject *args)
{
    (void)module;
    const char *target = NULL;
    const char *reason = NULL;
    if (!PyArg_ParseTuple(args, "sz", &target, &reason)) {
        return NULL;
    }
    hook_status_add(target, reason);
    Py_RETURN_NONE;
}

/* hook_mark(name, text): a mark that each recording of this process has. */
static PyObject *add_mark(PyObject *module, PyObject *args)
{
    const char *name, *text;
    (void)module;
    if (!PyArg_ParseTuple(args, "ss", &name, &text)) {
        return NULL;
    }
    hook_status_mark(name, text);
    Py_RETURN_NONE;
}

static PyObject *list_statuses(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return hook_status_list();
}

/* How many stay in place, because somebody else changed the same place since. */
static long restore_all(void)
{
    long stuck = 0;
    struct hook *hook = NULL;
    hook_is_on = false;
    for (unsigned i = 0; (hook = hook_list_at(i)); i++) {
        if (hook->is_laid) {
            hook->is_laid = hook->technique->restore(hook) != NULL;
            stuck += hook->is_laid;
        }
    }
    return stuck;
}

static PyObject *turn_off(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromLong(restore_all());
}

/* Says how many can not be laid again. */
static PyObject *turn_on(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    long failed = 0;
    struct hook *hook = NULL;
    for (unsigned i = 0; (hook = hook_list_at(i)); i++) {
        if (hook->target && !hook->is_laid) {
            hook->is_laid = hook->technique->lay(hook) == NULL;
            failed += !hook->is_laid;
        }
    }
    hook_is_on = true;
    return PyLong_FromLong(failed);
}

/* hooks_pause(yes): all stay where they are and only hand on, for benchmarks that change often. */
static PyObject *pause_all(PyObject *module, PyObject *yes)
{
    (void)module;
    hook_is_on = yes != Py_True;
    Py_RETURN_NONE;
}

/* Off for good: what was hooked is let go. What can not be restored goes on handing on, and others
 * may be laid afterwards. */
static PyObject *remove_all(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    const long stuck = restore_all();
    struct hook *hook = NULL;
    for (unsigned i = 0; (hook = hook_list_at(i)); i++) {
        if (!hook->is_laid) {
            let_go(hook);
        }
    }
    hook_instance_forget();
    hook_is_on = true;
    return PyLong_FromLong(stuck);
}

static PyMethodDef methods[] = {
    {"hook_lay", lay, METH_VARARGS, NULL},
    {"hook_wrapper", make_wrapper, METH_O, NULL},
    {"hook_wrap", wrap, METH_VARARGS, NULL},
    {"hook_follow", follow, METH_VARARGS, NULL},
    {"hook_called", find_called, METH_NOARGS, NULL},
    {"hook_become", become, METH_O, NULL},
    {"hook_trains", mark_training, METH_O, NULL},
    {"hook_condition", set_condition, METH_O, NULL},
    {"hook_batches", count_batches, METH_NOARGS, NULL},
    {"hook_waits", hook_wait_switch, METH_O, NULL},
    {"device_events_start", device_events_start, METH_VARARGS, NULL},
    {"hook_note", note, METH_VARARGS, NULL},
    {"hook_mark", add_mark, METH_VARARGS, NULL},
    {"hook_statuses", list_statuses, METH_NOARGS, NULL},
    {"hooks_off", turn_off, METH_NOARGS, NULL},
    {"hooks_on", turn_on, METH_NOARGS, NULL},
    {"hooks_pause", pause_all, METH_O, NULL},
    {"hooks_remove", remove_all, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int hook_add(PyObject *module)
{
    hook_visit_ready();
    return hook_callable_ready(module) || PyModule_AddFunctions(module, methods) ? -1 : 0;
}
