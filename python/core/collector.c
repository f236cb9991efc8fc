#include "collector.h"

#include "core.h"

#include <stdbool.h>

#include "guard.h"
#include "hook.h"
#include "record/notes.h"
#include "sampler.h"

static const char HOOK_NAME[] = "gc.callbacks";

enum { GENERATIONS = 3 };

ATTR_HOT_DATA atomic_int collector_check_is_due;

/* The collector is not reentrant, without the GIL neither, so one pause is enough. */
static struct {
    PyObject *callback;
    PyObject *callbacks; /* the list that the collector itself goes through */
    bool is_wanted, is_open;
    unsigned long open_thread;
    struct hook_visit collection; /* what is freed in it may end spans of the script */
    uint32_t noted_recording;
} state;

static ss_name name_of(long generation)
{
    static ss_name names[GENERATIONS]; /* interned at the first pause */
    static const char *const texts[GENERATIONS] = {"gc generation 0", "gc generation 1",
                                                   "gc generation 2"};
    const long at = generation < 0 || generation >= GENERATIONS ? GENERATIONS - 1 : generation;
    if (!names[at])
        names[at] = ss_intern(texts[at], SS_STAGE_GC, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    return names[at];
}

static long number_in(PyObject *info, const char *key)
{
    PyObject *value = PyDict_Check(info) ? guard_dict_item(info, key) : NULL;
    const long number = value ? PyLong_AsLong(value) : -1;
    Py_XDECREF(value);
    if (number == -1 && PyErr_Occurred())
        PyErr_Clear();
    return number;
}

static void begin_pause(PyObject *info)
{
    const uint32_t recording = notes_recording();
    if (!recording) /* a pause is no reason to start a recording */
        return;
    sampler_poke();
    if (recording != state.noted_recording) {
        state.noted_recording = recording;
        notes_hook(HOOK_NAME, NULL);
    }
    state.is_open = true;
    state.open_thread = PyThread_get_thread_ident();
    hook_begin(name_of(number_in(info, "generation")), 0, &state.collection);
}

static PyObject *on_collection(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    const char *phase = count == 2 && PyUnicode_Check(args[0]) ? PyUnicode_AsUTF8(args[0]) : NULL;
    if (phase && strcmp(phase, "start") == 0) {
        begin_pause(args[1]);
    } else if (phase && state.is_open && state.open_thread == PyThread_get_thread_ident()) {
        state.is_open = false;
        hook_end(&state.collection, 0, number_in(args[1], "collected"));
    }
    Py_RETURN_NONE;
}

static PyMethodDef callback_method = {"collection", (PyCFunction)(void (*)(void))on_collection,
                                      METH_FASTCALL, "Times a collection."};

/* Once: later it may be too late to import anything. */
static void find_callbacks(void)
{
    PyObject *module = PyImport_ImportModule("gc");
    state.callbacks = module ? PyObject_GetAttrString(module, "callbacks") : NULL;
    Py_XDECREF(module);
    if (!state.callbacks || !PyList_Check(state.callbacks)) {
        Py_CLEAR(state.callbacks);
        PyErr_Clear();
    }
}

static Py_ssize_t find_own(void)
{
    PyObject *callback;
    for (Py_ssize_t i = 0; (callback = guard_list_item(state.callbacks, i)); i++) {
        Py_DECREF(callback); /* only compared */
        if (callback == state.callback)
            return i;
    }
    return -1;
}

/* Whether it was missing. */
static bool lay(void)
{
    const bool missing = state.callbacks && find_own() < 0;
    if (missing && PyList_Append(state.callbacks, state.callback) != 0)
        PyErr_Clear();
    return missing;
}

void collector_check(void)
{
    PyObject *type, *value, *traceback;
    atomic_store(&collector_check_is_due, 0);
    struct guard guard;
    PyErr_Fetch(&type, &value, &traceback);
    guard_enter(&guard);
    if (state.is_wanted && lay()) {
        state.is_open = false;
        notes_hook(HOOK_NAME, "was taken out of the list, and put there again");
    }
    guard_leave(&guard);
    PyErr_Restore(type, value, traceback);
}

static PyObject *start(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    state.is_wanted = true;
    lay();
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    const Py_ssize_t at = state.is_wanted && state.callbacks ? find_own() : -1;
    state.is_wanted = false;
    if (at >= 0 && PyList_SetSlice(state.callbacks, at, at + 1, NULL) != 0)
        PyErr_Clear();
    Py_RETURN_NONE;
}

GUARDED(start)
GUARDED(stop)

static PyMethodDef methods[] = {
    {"collector_start", start_guarded, METH_NOARGS, "Time pauses of the garbage collector."},
    {"collector_stop", stop_guarded, METH_NOARGS, "Time them no more."},
    {NULL, NULL, 0, NULL},
};

int collector_add(PyObject *module)
{
    state.callback = PyCFunction_New(&callback_method, NULL);
    find_callbacks();
    return state.callback ? PyModule_AddFunctions(module, methods) : -1;
}
