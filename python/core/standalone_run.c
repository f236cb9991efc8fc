#include "core.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/notes.h"
#include "supervise/copy_back.h"
#include "supervise/run_place.h"
#include "support.h"

/* One run at a time. */
static struct {
    struct run_place place;
    pid_t owner;  /* a forked child records into the place too, but only this one ends it */
    char *joined; /* what STEPSCOPE_RUN was: a script may clear its environment */
} run;

static bool go_on(void *unused)
{
    (void)unused;
    return true;
}

/* By the extension that reads runs, which this process may not have loaded yet. If it cannot be
 * asked, the files stay where they are. */
static bool is_still_written(const char *local)
{
    PyObject *reader = PyImport_ImportModule("stepscope._report");
    PyObject *answer = reader ? PyObject_CallMethod(reader, "is_live", "y", local) : NULL;
    const bool is_live = answer != Py_False;

    PyErr_Clear();
    Py_XDECREF(answer);
    Py_XDECREF(reader);
    return is_live;
}

/* The GIL is held, but for the time that copying takes. */
static void bring_home(const char *local, const char *home)
{
    struct ss_error error;
    int failed;

    Py_BEGIN_ALLOW_THREADS;
    failed = copy_back(local, home, go_on, NULL, &error);
    Py_END_ALLOW_THREADS;
    if (failed || is_still_written(local))
        return;
    run_place_say_where(home, NULL);
    copy_back_remove(local);
}

static PyObject *stop_at_exit(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    if (run.place.local && run.owner == getpid())
        standalone_run_stop();
    Py_RETURN_NONE;
}

static void keep(struct run_place *fresh)
{
    static PyMethodDef at_exit = {"stop", stop_at_exit, METH_NOARGS, NULL};
    static bool is_registered; /* once a process */

    if (fresh->local)
        run_place_say_where(fresh->home, fresh->local);
    if (fresh->local && !is_registered) {
        is_registered = true;
        at_exit_call(&at_exit);
    }
    run_place_publish(fresh);
    run_place_release(&run.place);
    run.place = *fresh;
    run.owner = getpid();
}

int standalone_run_start(const struct run_place_wish *wish, struct ss_error *error)
{
    struct run_place fresh;
    int failed = run_place_make(&fresh, wish, error);

    if (!failed) {
        const struct ss_options options = {run_place_dir(&fresh), -1, 0, 0};
        failed = ss_start(&options);
        if (failed)
            run_place_remove(&fresh);
    }
    if (failed)
        run_place_release(&fresh);
    else
        keep(&fresh);
    return failed;
}

void standalone_run_stop(void)
{
    char *home, *local = run.place.local;

    ss_stop();
    if (!local || run.owner != getpid())
        return;
    run.place.local = NULL; /* ours alone: another thread may start the next run in the meantime */
    home = strdup(run.place.home);
    if (home)
        bring_home(local, home);
    free(home);
    free(local);
}

void standalone_run_join(void)
{
    const char *wanted = secure_getenv("STEPSCOPE_RUN");

    if (wanted && *wanted && (!run.joined || strcmp(run.joined, wanted) != 0)) {
        free(run.joined);
        run.joined = strdup(wanted);
    }
}

const char *standalone_run_dir(void)
{
    if (run.place.home)
        return run.place.home;
    standalone_run_join();
    return notes_recording() ? run.joined : NULL;
}
