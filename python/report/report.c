/* The extension stepscope._report: reads runs, for summary() and load(). The recorder and the hooks
 * are in stepscope._core; neither needs the other, and a training that reads no run never loads
 * this. */
#define PY_SSIZE_T_CLEAN
#include "report/report.h"

#include <Python.h>

#include <string.h>

#include "html/html_page.h"

enum { COLUMNS = 80 };
enum form { FORM_TEXT, FORM_JSON, FORM_HTML }; /* python/stepscope/__init__.py has the same */

/* Called without the GIL. The text asks for the environment, which others change under it. */
static void write_text(struct sink *sink, const struct analysis *analysis)
{
    const struct style style = {.columns = COLUMNS, .blocks = true};
    const PyGILState_STATE state = PyGILState_Ensure();

    report_text(sink, analysis, &style);
    PyGILState_Release(state);
}

static int write_report(struct buf *out, struct ss_run *run, const struct run_facts *facts,
                        enum form form)
{
    struct sink sink;
    struct feed feed;
    struct snapshot *snapshot;
    int failed = snapshot_run(&feed, run, facts, &snapshot);

    if (!failed) {
        struct analysis analysis;
        analysis_make(&analysis, snapshot, run, facts, &feed.hooks);
        sink_init_buf(&sink, out);
        if (form == FORM_JSON)
            report_json(&sink, &analysis);
        else if (form == FORM_HTML)
            html_summary_write(&sink, &analysis);
        else
            write_text(&sink, &analysis);
        failed = sink_flush(&sink);
    }
    snapshot_free(snapshot);
    feed_release(&feed);
    return failed || out->failed ? SS_E_NOMEM : 0;
}

static int read_run(struct buf *out, const char *path, enum form form, struct ss_error *error)
{
    struct run_facts facts;
    int failed = run_facts_load(&facts, path);
    struct ss_run *run = NULL;

    if (!failed) {
        run = ss_run_open(facts.elsewhere ? facts.elsewhere : path, error);
        failed = run ? write_report(out, run, &facts, form) : error->code;
    }
    if (failed && run)
        *error = (struct ss_error){.code = failed};
    ss_run_close(run);
    run_facts_release(&facts);
    return failed;
}

/* Programs see what they know: a file that is missing is an OSError, damage a ValueError. */
static PyObject *raise_error(const struct ss_error *error, const char *path)
{
    PyObject *kind = error->code == SS_E_NOTFOUND ? PyExc_FileNotFoundError
                     : error->code == SS_E_ACCESS ? PyExc_PermissionError
                     : error->code == SS_E_NOMEM  ? PyExc_MemoryError
                                                  : PyExc_ValueError;
    const char *text = error->message[0] ? error->message : ss_error_text(error->code);

    return PyErr_Format(kind, "cannot read run '%s': %s", path, text);
}

static PyObject *report(PyObject *module, PyObject *arguments)
{
    PyObject *path = NULL, *text = NULL;
    struct ss_error error = {0};
    struct buf out = {0};
    int form;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&i", PyUnicode_FSConverter, &path, &form))
        return NULL;
    PyThreadState *state = PyEval_SaveThread(); /* it may take seconds */
    const int failed = read_run(&out, PyBytes_AS_STRING(path), (enum form)form, &error);
    PyEval_RestoreThread(state);
    if (failed)
        raise_error(&error, PyBytes_AS_STRING(path));
    else
        text = PyUnicode_DecodeUTF8(buf_text(&out), (Py_ssize_t)out.size, "replace");
    buf_release(&out);
    Py_DECREF(path);
    return text;
}

static PyObject *is_live(PyObject *module, PyObject *arguments)
{
    PyObject *path = NULL;
    bool lives;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    struct ss_run *run = ss_run_open(PyBytes_AS_STRING(path), NULL);
    lives = run && ss_run_is_live(run);
    ss_run_close(run);
    Py_END_ALLOW_THREADS;
    Py_DECREF(path);
    return PyBool_FromLong(lives);
}

static PyMethodDef methods[] = {
    {"report", report, METH_VARARGS,
     "report($module, run, form, /)\n--\n\nThe report of a run directory: 0 text, 1 JSON, 2 HTML."},
    {"is_live", is_live, METH_VARARGS,
     "is_live($module, run, /)\n--\n\nWhether a process is still recording to a run directory."},
    {0},
};

/* Before 3.12 a module cannot say by a slot that it is for the main interpreter only. */
static int check_interpreter(PyObject *module)
{
    (void)module;
    if (PyInterpreterState_Get() == PyInterpreterState_Main())
        return 0;
    PyErr_SetString(PyExc_ImportError, "stepscope is inert in subinterpreters");
    return -1;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)check_interpreter},
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
    .m_name = "stepscope._report",
    .m_doc = "Reads runs in C; use the module stepscope instead.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__report(void); /* the interpreter finds it by its name */

PyMODINIT_FUNC PyInit__report(void)
{
    return PyModuleDef_Init(&definition);
}
