/* The module, and the recorder's calls for Python: start and stop, steps, counters, marks. */
#include "core.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "guard.h"
#include "mpi/mpi_recorder.h"
#include "record/notes.h"
#include "sampler.h"
#include "span.h"
#include "supervise/run_place.h"
#include "support.h"

enum { WORDS_MOST = 64 };

static char reason[sizeof((struct ss_error *)NULL)->message]; /* why start() did not */

static bool is_disabled(void)
{
    const char *value = secure_getenv("STEPSCOPE_DISABLE");

    return value && strcmp(value, "1") == 0;
}

/* The words of the command, as far as one cares; they live as long as `list`. */
static void fill_command(PyObject *list, const char **words)
{
    const Py_ssize_t count = list && PyList_Check(list) ? PyList_GET_SIZE(list) : 0;
    int used = 0;

    for (Py_ssize_t i = 0; i < count && used < WORDS_MOST; i++) {
        PyObject *word = PyList_GET_ITEM(list, i);
        const char *text = PyUnicode_Check(word) ? PyUnicode_AsUTF8(word) : NULL;
        if (text)
            words[used++] = text;
        else
            PyErr_Clear();
    }
    if (used == 0)
        words[used++] = "python";
    words[used] = NULL;
}

static void start_own(const char *parent, const char *name)
{
    PyObject *argv = Py_XNewRef(PySys_GetObject("orig_argv"));
    const char *words[WORDS_MOST + 1];
    struct ss_error error = {0};

    fill_command(argv, words);
    const struct run_place_wish wish = {
        .parent = parent, .name = name, .command = (char *const *)(void *)words};
    const int failed = standalone_run_start(&wish, &error);
    if (failed)
        snprintf(reason, sizeof reason, "%s", error.code ? error.message : ss_error_text(failed));
    Py_XDECREF(argv);
}

/* A text that may be None. 0, or -1 with TypeError. */
static int take_text(PyObject *object, const char **text)
{
    *text = object ? PyUnicode_AsUTF8(object) : NULL;
    return object && !*text ? -1 : 0;
}

static PyObject *give_directory(PyObject *module, PyObject *unused)
{
    const char *dir = standalone_run_dir();

    (void)module;
    (void)unused;
    return dir ? PyUnicode_DecodeFSDefault(dir) : Py_NewRef(Py_None);
}

GUARDED(give_directory)

static PyObject *begin(PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    static const struct arguments_form form = {"start", {"dir", "name"}, 0, 2};
    PyObject *given[2], *dir = NULL;
    const char *name;

    if (arguments_take(&form, arguments, count, names, given) != 0 ||
        take_text(given[1], &name) != 0 || (given[0] && !PyUnicode_FSConverter(given[0], &dir)))
        return NULL;
    reason[0] = '\0';
    if (is_disabled())
        snprintf(reason, sizeof reason, "STEPSCOPE_DISABLE=1");
    else if (!notes_recording() && ss_start(NULL) != 0) /* no run to join */
        start_own(dir ? PyBytes_AS_STRING(dir) : NULL, name);
    Py_XDECREF(dir);
    return notes_recording() ? give_directory(NULL, NULL) : Py_NewRef(Py_None);
}

static PyObject *start(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                       PyObject *names)
{
    struct guard guard;

    (void)module;
    guard_enter(&guard);
    PyObject *result = begin(arguments, count, names);
    guard_leave(&guard);
    return result;
}

static PyObject *stop(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    standalone_run_stop();
    Py_RETURN_NONE;
}

GUARDED(stop)

static PyObject *status(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    if (reason[0] && !notes_recording())
        return PyUnicode_FromFormat("off: %s", reason);
    return PyUnicode_DecodeFSDefault(ss_status());
}

GUARDED(status)

static PyObject *recording(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(notes_recording() != 0);
}

static PyObject *step(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                      PyObject *names)
{
    static const struct arguments_form form = {"step", {"samples"}, 0, 1};
    PyObject *given;
    uint64_t samples = 0;

    (void)module;
    if (arguments_take(&form, arguments, count, names, &given) != 0 ||
        arguments_count(given, "samples", &samples) != 0)
        return NULL;
    ss_step(samples);
    sampler_loop_is_here();
    event_seen();
    Py_RETURN_NONE;
}

static PyObject *counter(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                         PyObject *names)
{
    static const struct arguments_form form = {"counter", {"name", "value"}, 2, 2};
    PyObject *given[2];
    ss_name name;

    (void)module;
    if (arguments_take(&form, arguments, count, names, given) != 0 ||
        span_name(given[0], SS_STAGE_USER, &name) != 0)
        return NULL;
    const double value = PyFloat_AsDouble(given[1]);
    if (value == -1.0 && PyErr_Occurred())
        return NULL;
    ss_counter(name, value);
    Py_RETURN_NONE;
}

static PyObject *mark(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                      PyObject *names)
{
    static const struct arguments_form form = {"mark", {"name", "text"}, 1, 2};
    PyObject *given[2];
    const char *text;
    ss_name name;

    (void)module;
    if (arguments_take(&form, arguments, count, names, given) != 0 ||
        span_name(given[0], SS_STAGE_USER, &name) != 0 || take_text(given[1], &text) != 0)
        return NULL;
    ss_mark(name, text ? text : "");
    Py_RETURN_NONE;
}

static PyObject *plan(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                      PyObject *names)
{
    static const struct arguments_form form = {
        "plan", {"steps", "epochs", "steps_per_epoch", "batch"}, 0, 4};
    PyObject *given[ARGUMENTS_MOST];
    uint64_t numbers[ARGUMENTS_MOST];

    (void)module;
    if (arguments_take(&form, arguments, count, names, given) != 0)
        return NULL;
    for (int i = 0; i < form.most; i++)
        if (arguments_count(given[i], form.names[i], &numbers[i]) != 0)
            return NULL;
    ss_plan(numbers[0], numbers[1], numbers[2], numbers[3]);
    Py_RETURN_NONE;
}

#define FAST(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef methods[] = {
    {"start", FAST(start), METH_FASTCALL | METH_KEYWORDS,
     "start($module, dir=None, name=None)\n--\n\n"
     "Starts recording: into the run of `stepscope run`, or into a new one in dir\n"
     "(stepscope-runs). Gives its directory, None if nothing is recorded."},
    {"stop", stop_guarded, METH_NOARGS, "stop($module)\n--\n\nEnds the recording."},
    {"status", status_guarded, METH_NOARGS,
     "status($module)\n--\n\nWhether anything is recorded; if not, why."},
    {"directory", give_directory_guarded, METH_NOARGS,
     "directory($module)\n--\n\nWhere the present or the last recording of this process is."},
    {"recording", recording, METH_NOARGS,
     "recording($module)\n--\n\nWhether this process is recording now."},
    {"step", FAST(step), METH_FASTCALL | METH_KEYWORDS,
     "step($module, samples=0)\n--\n\n"
     "Says that a training step starts here, with this many samples."},
    {"counter", FAST(counter), METH_FASTCALL | METH_KEYWORDS,
     "counter($module, name, value)\n--\n\nRecords a number: a loss, a learning rate."},
    {"mark", FAST(mark), METH_FASTCALL | METH_KEYWORDS,
     "mark($module, name, text='')\n--\n\nRecords that something happened."},
    {"plan", FAST(plan), METH_FASTCALL | METH_KEYWORDS,
     "plan($module, steps=None, epochs=None, steps_per_epoch=None, batch=None)\n--\n\n"
     "States what is known in advance, so that the time left can be estimated."},
    {0},
};

static int record_add(PyObject *module)
{
    standalone_run_join();
    return PyModule_AddFunctions(module, methods);
}

/* Before 3.12 a module cannot say by a slot that it is for the main interpreter only. */
static int check_interpreter(void)
{
    if (PyInterpreterState_Get() == PyInterpreterState_Main())
        return 0;
    PyErr_SetString(PyExc_ImportError, "stepscope is inert in subinterpreters");
    return -1;
}

#ifdef Py_GIL_DISABLED
PyObject *guard_object; /* one for all tables: guard.h */
#endif

/* Calls of MPI are recorded here too, not by a second recorder in this process. */
static void give_recorder_to_mpi(void)
{
    static const struct mpi_recorder recorder = {ss_intern, ss_begin, ss_end};
    void *const function = dlsym(RTLD_DEFAULT, MPI_RECORDER_TAKE);
    void (*take)(const struct mpi_recorder *own);
    memcpy(&take, &function, sizeof take);
    if (take)
        take(&recorder);
}

static int fill(PyObject *module)
{
    notes_fact("python", Py_GetVersion());
    give_recorder_to_mpi();
#ifdef Py_GIL_DISABLED
    if (!guard_object && !(guard_object = PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type)))
        return -1;
#endif
    return check_interpreter() || record_add(module) || span_add(module) || timed_add(module) ||
                   hook_add(module) || cells_add(module) || sampler_add(module) ||
                   collector_add(module) || generated_files_add(module) || loop_clock_add(module)
               ? -1
               : 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030d0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
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
