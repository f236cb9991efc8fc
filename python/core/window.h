/* Windows: a few steps in which a framework's own profiler says which operations took the time.
 *
 * They begin and end where an update does, always the same optimizer's: first one of a single step,
 * which tells what others would cost, then three of three steps. Unless the user asks for them at
 * once (STEPSCOPE_OPS=now), there is none before a run has been steady for a while, nor as long as
 * all of them would have cost more than a thousandth of the time. What the profiler has seen goes
 * to a file of the run; a second file, which says how long the window was and what it cost, is made
 * last: then the supervisor makes a table of both (docs/format.md).
 *
 * The user's own profiler comes first, in all of its phases: while there is one no window begins,
 * and one that is open has ended before the other begins. A window that gets no update for a while,
 * because an evaluation began, is dropped: memory of the profiler grows with each operation. So is
 * one that is open when the process forks or exits. Its steps count as disturbed.
 *
 * Only the main thread has windows, with the GIL held but for the thread that waits. */
#ifndef PYTHON_WINDOW_H
#define PYTHON_WINDOW_H

#include "hook.h"

/* windows_start(framework, ending, begin, end): what an adapter knows. begin() gives None, a text
 * that says why there are no windows in this process, or False: not now. end(path) ends what it
 * began, and writes a file of that name if it is not None; its ending says what is in it. */
PyObject *windows_start(PyObject *module, PyObject *arguments);

/* windows_yield(yes): the user's own profiler is about to begin, or has ended. Says whether there
 * may be windows afterwards. */
PyObject *windows_yield(PyObject *module, PyObject *yes);

/* windows_drop(reason): one that is open ends, and its file is not made. Never again if there is a
 * reason, which is a text. */
PyObject *windows_drop(PyObject *module, PyObject *reason);

#endif
