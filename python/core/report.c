/* Reads a run in process: the report as text and as JSON. */
#include "core.h"

#include <string.h>

#include "arguments.h"
#include "output/report.h"

enum { COLUMNS = 80 };

/* Called without the GIL. The text asks for the environment, which others change under it. */
static void write_text(struct sink *sink, const struct report_input *input)
{
    const struct report_style style = {.columns = COLUMNS, .blocks = true};
    const PyGILState_STATE state = PyGILState_Ensure();

    report_text(sink, input, &style);
    PyGILState_Release(state);
}

static int write_report(struct buf *out, struct ss_run *run,
                        const struct run_facts *facts, bool as_json)
{
    struct sink sink;
    struct feed feed;
    struct snapshot *snapshot;
    int failed = feed_snapshot(&feed, run, facts, &snapshot);

    if (!failed) {
        const struct report_input input = {
            .snapshot = snapshot, .run = run, .facts = facts, .hooks = &feed.hooks};
        sink_init_buf(&sink, out);
        if (as_json)
            report_json(&sink, &input);
        else
            write_text(&sink, &input);
        failed = sink_flush(&sink);
    }
    snapshot_free(snapshot);
    feed_release(&feed);
    return failed || out->failed ? SS_E_NOMEM : 0;
}

static int read_run(struct buf *out, const char *path, bool as_json,
                    struct ss_error *error)
{
    struct run_facts facts;
    int failed = run_facts_load(&facts, path);
    struct ss_run *run = NULL;

    if (!failed) {
        run = ss_run_open(facts.elsewhere ? facts.elsewhere : path, error);
        failed = run ? write_report(out, run, &facts, as_json) : error->code;
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

static PyObject *report(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    static const struct arguments_form form = {"report", {"run", "json"}, 2, 2};
    PyObject *given[2], *path = NULL, *text = NULL;
    struct ss_error error = {0};
    struct buf out = {0};

    (void)module;
    if (arguments_take(&form, arguments, count, NULL, given) != 0 ||
        !PyUnicode_FSConverter(given[0], &path))
        return NULL;
    const bool as_json = given[1] == Py_True;
    PyThreadState *state = PyEval_SaveThread(); /* it may take seconds */
    const int failed = read_run(&out, PyBytes_AS_STRING(path), as_json, &error);
    PyEval_RestoreThread(state);
    if (failed)
        raise_error(&error, PyBytes_AS_STRING(path));
    else
        text = PyUnicode_DecodeUTF8(buf_text(&out), (Py_ssize_t)out.size, "replace");
    buf_release(&out);
    Py_DECREF(path);
    return text;
}

static PyMethodDef methods[] = {
    {"report", (PyCFunction)(void (*)(void))report, METH_FASTCALL,
     "report($module, run, json, /)\n--\n\nThe report of a run directory."},
    {0},
};

int report_add(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
