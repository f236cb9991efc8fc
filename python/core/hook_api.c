/* What Python code of ours calls to lay hooks, and to turn all of them off and on. */
#include "device_events.h"
#include "guard.h"
#include "hook_extras.h"
#include "hook_name.h"
#include "hook_technique.h"
#include "layers.h"
#include "record/notes.h"
#include "window.h"

/* hook_lay(technique, target, owner, attribute, row) -> None, or why not. */
static PyObject *lay(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name = NULL;
    PyObject *target, *owner, *attribute, *row;
    if (!PyArg_ParseTuple(args, "sOOOO!", &name, &target, &owner, &attribute, &PyDict_Type, &row))
        return NULL;
    struct hook_point *point = hook_point_new(row);
    if (!point)
        return NULL;
    const char *reason = hook_lay(name, target, owner, attribute, point);
    return reason ? PyUnicode_FromString(reason) : Py_NewRef(Py_None);
}

static const char WRAPPER[] = "stepscope._core.hook_wrapper";

/* hook_wrapper(row) -> what hook_wrap() takes, for functions that are made while the script runs.
 * It is never freed: a call may be inside. */
static PyObject *make_wrapper(PyObject *module, PyObject *row)
{
    (void)module;
    struct hook *hook = hook_memory_new(sizeof *hook);
    struct hook_point *point = hook ? hook_point_new(row) : NULL;
    if (!point)
        return hook ? NULL : PyErr_NoMemory();
    hook->points = point;
    return PyCapsule_New(hook, WRAPPER, NULL);
}

/* hook_wrap(wrapper, function) -> a callable that stands for the function. */
static PyObject *wrap(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *wrapper, *function;
    if (!PyArg_ParseTuple(args, "OO", &wrapper, &function))
        return NULL;
    const struct hook *hook = PyCapsule_GetPointer(wrapper, WRAPPER);
    return hook ? hook_callable_new(hook, function) : NULL;
}

/* hook_follow(wrapper, object) -> None, or why not: its calls record what the wrapper says. */
static PyObject *follow(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *wrapper, *object;
    if (!PyArg_ParseTuple(args, "OO", &wrapper, &object))
        return NULL;
    const struct hook *hook = PyCapsule_GetPointer(wrapper, WRAPPER);
    if (!hook)
        return NULL;
    const char *reason = hook_transient_follow(hook, wrapper, object);
    return reason ? PyUnicode_FromString(reason) : Py_NewRef(Py_None);
}

/* hook_trains(wrapper, or None for the one hook_called() gives): its calls train. */
static PyObject *mark_training(PyObject *module, PyObject *wrapper)
{
    (void)module;
    const struct hook *hook = wrapper == Py_None ? NULL : PyCapsule_GetPointer(wrapper, WRAPPER);
    if (PyErr_Occurred())
        return NULL;
    hook_transient_trains(hook);
    Py_RETURN_NONE;
}

/* hook_condition(flag or ""): of what is recorded from now on, as while another profiler runs. */
static PyObject *set_condition(PyObject *module, PyObject *word)
{
    (void)module;
    const char *text = PyUnicode_AsUTF8(word);
    return text && hook_set_condition(text) == 0 ? Py_NewRef(Py_None) : NULL;
}

/* hook_called() -> the wrapper of what is followed and being called on this thread, or None. */
static PyObject *find_called(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *wrapper = hook_transient_called();
    return wrapper ? wrapper : Py_NewRef(Py_None);
}

/* hook_become(wrapper): from this call on it records what this one says. */
static PyObject *become(PyObject *module, PyObject *wrapper)
{
    (void)module;
    const struct hook *hook = PyCapsule_GetPointer(wrapper, WRAPPER);
    if (!hook)
        return NULL;
    hook_transient_become(hook, wrapper);
    Py_RETURN_NONE;
}

/* hook_batches() -> how many batches libraries have told of so far. */
static PyObject *count_batches(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromUnsignedLongLong(__atomic_load_n(&hook_batches, __ATOMIC_RELAXED));
}

/* hook_rank(rank, world): of this process, if its environment has not said so. */
static PyObject *set_rank(PyObject *module, PyObject *args)
{
    (void)module;
    int rank, world;
    if (!PyArg_ParseTuple(args, "ii", &rank, &world))
        return NULL;
    notes_rank(rank, world);
    Py_RETURN_NONE;
}

/* hook_note(target, reason or None): for the run. */
static PyObject *note(PyObject *module, PyObject *args)
{
    (void)module;
    const char *target = NULL;
    const char *reason = NULL;
    if (!PyArg_ParseTuple(args, "sz", &target, &reason))
        return NULL;
    hook_status_add(target, reason);
    Py_RETURN_NONE;
}

/* hook_mark(name, text): a mark that each recording of this process has. */
static PyObject *add_mark(PyObject *module, PyObject *args)
{
    const char *name, *text;
    (void)module;
    if (!PyArg_ParseTuple(args, "ss", &name, &text))
        return NULL;
    hook_status_mark(name, text);
    Py_RETURN_NONE;
}

static PyObject *list_statuses(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return hook_status_list();
}

static PyObject *turn_off(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromLong(hook_restore_all());
}

/* Returns how many cannot be installed again. */
static PyObject *turn_on(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromLong(hook_lay_all());
}

/* hooks_pause(yes): all stay where they are and only hand on, for benchmarks that change often. */
static PyObject *pause_all(PyObject *module, PyObject *yes)
{
    (void)module;
    hook_state.is_on = yes != Py_True;
    Py_RETURN_NONE;
}

/* Off for good: what was hooked is let go. What cannot be restored keeps forwarding calls, and
 * others may be laid afterwards. */
static PyObject *remove_all(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    const long stuck = hook_restore_all();
    hook_forget_all();
    hook_instance_forget();
    hook_state.is_on = true;
    return PyLong_FromLong(stuck);
}

/* Without the GIL one at a time changes what is hooked. */
GUARDED(lay)
GUARDED(make_wrapper)
GUARDED(follow)
GUARDED(mark_training)
GUARDED(set_condition)
GUARDED(find_called)
GUARDED(become)
GUARDED(list_statuses)
GUARDED(turn_off)
GUARDED(turn_on)
GUARDED(pause_all)
GUARDED(remove_all)

static PyMethodDef methods[] = {
    {"hook_lay", lay_guarded, METH_VARARGS, NULL},
    {"hook_wrapper", make_wrapper_guarded, METH_O, NULL},
    {"hook_wrap", wrap, METH_VARARGS, NULL},
    {"hook_follow", follow_guarded, METH_VARARGS, NULL},
    {"hook_called", find_called_guarded, METH_NOARGS, NULL},
    {"hook_become", become_guarded, METH_O, NULL},
    {"hook_trains", mark_training_guarded, METH_O, NULL},
    {"hook_condition", set_condition_guarded, METH_O, NULL},
    {"hook_batches", count_batches, METH_NOARGS, NULL},
    {"hook_waits", hook_waits_switch, METH_O, NULL},
    {"layers_start", layers_start, METH_VARARGS, NULL},
    {"layers_stop", layers_stop, METH_O, NULL},
    {"layers_know", layers_know, METH_O, NULL},
    {"windows_start", windows_start, METH_VARARGS, NULL},
    {"windows_yield", windows_yield, METH_O, NULL},
    {"windows_drop", windows_drop, METH_O, NULL},
    {"device_events_start", device_events_start, METH_VARARGS, NULL},
    {"hook_rank", set_rank, METH_VARARGS, NULL},
    {"hook_note", note, METH_VARARGS, NULL},
    {"hook_mark", add_mark, METH_VARARGS, NULL},
    {"hook_statuses", list_statuses_guarded, METH_NOARGS, NULL},
    {"hooks_off", turn_off_guarded, METH_NOARGS, NULL},
    {"hooks_on", turn_on_guarded, METH_NOARGS, NULL},
    {"hooks_pause", pause_all_guarded, METH_O, NULL},
    {"hooks_remove", remove_all_guarded, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int hook_add(PyObject *module)
{
    hook_ready();
    return hook_callable_ready(module) || PyModule_AddFunctions(module, methods) ? -1 : 0;
}
