#include "core.h"

#include "collector.h"

#include "record/notes.h"
#include "sampler.h"
#include <stdbool.h>

static const char HOOK_NAME[] = "gc.callbacks";

enum { GENERATIONS = 3 };

/* All under the GIL. The collector is not reentrant, so one flag is enough. */
static PyObject *callback;
static bool is_wanted, is_open;
static unsigned long open_thread;
static _Atomic int check_is_due;
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
    ss_begin(name_of(number_in(info, "generation")), 0);
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
        ss_end(0, number_in(args[1], "collected"));
    }
    Py_RETURN_NONE;
}

static PyMethodDef callback_method = {"collection",
                                      (PyCFunction)(void (*)(void))on_collection,
                                      METH_FASTCALL, "Times a collection."};

/* A new reference, or NULL without an exception. */
static PyObject *list_of_callbacks(void)
{
    PyObject *module = PyImport_ImportModule("gc");
    PyObject *list = module ? PyObject_GetAttrString(module, "callbacks") : NULL;
    Py_XDECREF(module);
    if (!list || !PyList_Check(list)) {
        Py_CLEAR(list);
        PyErr_Clear();
    }
    return list;
}

static Py_ssize_t place_in(PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        if (PyList_GET_ITEM(list, i) == callback) {
            return i;
        }
    }
    return -1;
}

/* Whether it was missing. */
static bool lay(void)
{
    PyObject *list = callback ? list_of_callbacks() : NULL;
    const bool missing = list && place_in(list) < 0;
    if (missing && PyList_Append(list, callback) != 0) {
        PyErr_Clear();
    }
    Py_XDECREF(list);
    return missing;
}

static int check(void *unused)
{
    PyObject *type, *value, *traceback;
    (void)unused;
    atomic_store(&check_is_due, 0);
    PyErr_Fetch(&type, &value, &traceback);
    if (is_wanted && lay()) {
        is_open = false;
        notes_hook(HOOK_NAME, "was taken out of the list, and put there again");
    }
    PyErr_Restore(type, value, traceback);
    return 0;
}

void collector_ask_for_check(void)
{
    if (is_wanted && !atomic_exchange(&check_is_due, 1) &&
        Py_AddPendingCall(check, NULL) != 0) {
        atomic_store(&check_is_due, 0);
    }
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
    PyObject *list = is_wanted ? list_of_callbacks() : NULL;
    const Py_ssize_t at = list ? place_in(list) : -1;
    is_wanted = false;
    if (at >= 0 && PyList_SetSlice(list, at, at + 1, NULL) != 0) {
        PyErr_Clear();
    }
    Py_XDECREF(list);
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
    return callback ? PyModule_AddFunctions(module, methods) : -1;
}
