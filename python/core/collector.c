#include "core.h"

#include "collector.h"

#include "hook.h"
#include "record/notes.h"
#include "sampler.h"
#include <stdbool.h>

static const char HOOK_NAME[] = "gc.callbacks";

enum { GENERATIONS = 3 };

ATTR_HOT_DATA atomic_int collector_check_is_due;

/* All under the GIL. The collector is not reentrant, so one pause is enough. */
static PyObject *callback;
static PyObject *callbacks; /* the list that the collector itself goes through */
static bool is_wanted, is_open;
static unsigned long open_thread;
static struct hook_visit collection; /* what is freed in it may end spans of the script */
static uint32_t noted_recording;

static ss_name name_of(long generation)
{
    static ss_name names[GENERATIONS];
    static const char *const texts[GENERATIONS] = {"gc generation 0", "gc generation 1",
                                                   "gc generation 2"};
    const long at =
        generation < 0 || generation >= GENERATIONS ? GENERATIONS - 1 : generation;
    if (!names[at]) {
        names[at] = ss_intern(texts[at], SS_STAGE_GC, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    }
    return names[at];
}

static long number_in(PyObject *info, const char *key)
{
    PyObject *value = PyDict_Check(info) ? PyDict_GetItemString(info, key) : NULL;
    const long number = value ? PyLong_AsLong(value) : -1;
    if (number == -1 && PyErr_Occurred()) {
        PyErr_Clear();
    }
    return number;
}

static void begin_pause(PyObject *info)
{
    const uint32_t recording = notes_recording();
    if (!recording) { /* a pause is no reason to start a recording */
        return;
    }
    sampler_poke();
    if (recording != noted_recording) {
        noted_recording = recording;
        notes_hook(HOOK_NAME, NULL);
    }
    is_open = true;
    open_thread = PyThread_get_thread_ident();
    hook_begin_slow(name_of(number_in(info, "generation")), 0, &collection);
}

static PyObject *on_collection(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    const char *phase =
        count == 2 && PyUnicode_Check(args[0]) ? PyUnicode_AsUTF8(args[0]) : NULL;
    if (phase && strcmp(phase, "start") == 0) {
        begin_pause(args[1]);
    } else if (phase && is_open && open_thread == PyThread_get_thread_ident()) {
        is_open = false;
        hook_end_slow(&collection, 0, number_in(args[1], "collected"));
    }
    Py_RETURN_NONE;
}

static PyMethodDef callback_method = {"collection",
                                      (PyCFunction)(void (*)(void))on_collection,
                                      METH_FASTCALL, "Times a collection."};

/* Once: later it may be too late to import anything. */
static void find_callbacks(void)
{
    PyObject *module = PyImport_ImportModule("gc");
    callbacks = module ? PyObject_GetAttrString(module, "callbacks") : NULL;
    Py_XDECREF(module);
    if (!callbacks || !PyList_Check(callbacks)) {
        Py_CLEAR(callbacks);
        PyErr_Clear();
    }
}

static Py_ssize_t find_own(void)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(callbacks); i++) {
        if (PyList_GET_ITEM(callbacks, i) == callback) {
            return i;
        }
    }
    return -1;
}

/* Whether it was missing. */
static bool lay(void)
{
    const bool missing = callbacks && find_own() < 0;
    if (missing && PyList_Append(callbacks, callback) != 0) {
        PyErr_Clear();
    }
    return missing;
}

void collector_check(void)
{
    PyObject *type, *value, *traceback;
    atomic_store(&collector_check_is_due, 0);
    PyErr_Fetch(&type, &value, &traceback);
    if (is_wanted && lay()) {
        is_open = false;
        notes_hook(HOOK_NAME, "was taken out of the list, and put there again");
    }
    PyErr_Restore(type, value, traceback);
}

static PyObject *start(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    is_wanted = true;
    lay();
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    const Py_ssize_t at = is_wanted && callbacks ? find_own() : -1;
    is_wanted = false;
    if (at >= 0 && PyList_SetSlice(callbacks, at, at + 1, NULL) != 0) {
        PyErr_Clear();
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"collector_start", start, METH_NOARGS, "Time pauses of the garbage collector."},
    {"collector_stop", stop, METH_NOARGS, "Time them no more."},
    {NULL, NULL, 0, NULL},
};

int collector_add(PyObject *module)
{
    callback = PyCFunction_New(&callback_method, NULL);
    find_callbacks();
    return callback ? PyModule_AddFunctions(module, methods) : -1;
}
