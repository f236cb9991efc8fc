/* The extension stepscope._core: the recorder inside a Python process, and what hooks Python code.
 * Nothing that reads runs is in it: that is python/report, which only those load that read one.
 *
 * Each part adds what it has to the module with one function below. Parts know each other only by
 * their headers, and small ones by what is at the end of this one. Nothing here may raise into the
 * script but for wrong arguments of our own API.
 *
 * The module lives in the main interpreter only, so types and tables are plain static ones. */
#ifndef PYTHON_CORE_H
#define PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

/* 0, or -1 with a Python exception; called with the module that is being made. */
int span_add(PyObject *module);      /* span.c: span, stage, loop, epoch */
int timed_add(PyObject *module);     /* timed.c: the decorator */
int hook_add(PyObject *module);      /* hook.c: laying hooks, and the switch that turns them off */
int cells_add(PyObject *module);     /* cells.c: what cells of a notebook are called */
int sampler_add(PyObject *module);   /* sampler.c: stacks of Python threads, without the GIL */
int collector_add(PyObject *module); /* collector.c: pauses of the garbage collector */
int loop_clock_add(
    PyObject *module); /* loop_clock.c: the arms of an experiment, by the quiet clock */
int generated_files_add(PyObject *module); /* generated_files.c: code made from the user's own */

/* A run without the command: for notebooks and scripts that call stepscope.start().
 *
 * It lies where `stepscope run` would have put it. One at a time; callers hold the GIL. */

struct run_place_wish;
struct ss_error;

/* Records from here on, into a new run. 0, or SS_E with a sentence; then nothing is left behind. */
int standalone_run_start(const struct run_place_wish *wish, struct ss_error *error);

/* Ends the recording of this process. The one that started it brings the run to its place, if it
 * was recorded elsewhere; so does the end of the interpreter. */
void standalone_run_stop(void);

/* Remembers the run of `stepscope run`, if there is one. */
void standalone_run_join(void);

/* The run that the process records to, or recorded to last; NULL: it never did, or it is not
 * known. */
const char *standalone_run_dir(void);

/* Files of Python code that a framework has generated from the user's own, as AutoGraph does: which
 * line of which function and file a line there comes from. */
struct generated_line {
    const char *file, *function; /* for the life of the process */
    uint32_t line;
};

/* From any thread, without the GIL. False: that file is not known as generated. */
bool generated_line_find(const char *file, uint32_t line, struct generated_line *out);

/* Cells of a notebook. IPython compiles each under the name of a temporary file, which tells a
 * reader nothing; in stacks it is "cell [4]" instead, with the number that the notebook shows.
 *
 * What the file is called in records, to be freed by the caller; NULL: it is no cell. Any thread.
 */
char *cells_name(const char *file);

#endif
