/* The extension stepscope._core: the recorder inside a Python process, and what hooks Python code.
 *
 * Each part adds what it has to the module with one function below. Parts know each other only by
 * their headers. Nothing here may raise into the script but for wrong arguments of our own API.
 *
 * The module lives in the main interpreter only, so types and tables are plain static ones. */
#ifndef PYTHON_CORE_H
#define PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* 0, or -1 with a Python exception; called with the module that is being made. */
int record_add(PyObject *module); /* record.c: start, stop, step, counter, ... */
int span_add(PyObject *module);   /* span.c: span, stage, loop, epoch */
int timed_add(PyObject *module);  /* timed.c: the decorator */
int hook_add(
    PyObject *module); /* hook.c: laying hooks, and the switch that turns them off */
int sampler_add(
    PyObject *module); /* sampler.c: stacks of Python threads, without the GIL */
int collector_add(PyObject *module); /* collector.c: pauses of the garbage collector */
int report_add(PyObject *module);    /* report.c: reads runs */

#endif
