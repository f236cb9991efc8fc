#include "own_place.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "at_exit.h"
#include "base/fact_line.h"
#include "base/small_file.h"
#include "output/run_facts.h"
#include "record/notes.h"
#include "stepscope/reader.h"
#include "supervise/carry.h"

static struct place place;
static pid_t
    owner; /* a forked child records into the place too, but only this one ends it */
static char *joined; /* what STEPSCOPE_RUN was: a script may clear its environment */

static bool go_on(void *unused)
{
    (void)unused;
    return true;
}

/* Whoever looks at home finds the files, also if nobody brings them there. */
static void say_where(const char *home, const char *local)
{
    struct buf text = {0};

    if (local)
        fact_line(&text, "elsewhere", local);
    (void)small_file_write(home, RUN_OUTCOME_FILE, &text);
    buf_release(&text);
}

static bool is_still_written(const char *local)
{
    struct ss_run *run = ss_run_open(local, NULL);
    const bool is_live = run && ss_run_is_live(run);

    ss_run_close(run);
    return is_live;
}

static void bring_home(const char *local, const char *home)
{
    struct ss_error error;

    if (carry_home(local, home, go_on, NULL, &error) != 0 || is_still_written(local))
        return;
    say_where(home, NULL);
    carry_remove(local);
}

static PyObject *stop_at_exit(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    if (place.local && owner == getpid())
        own_place_stop();
    Py_RETURN_NONE;
}

static void keep(const struct place *fresh)
{
    static PyMethodDef at_exit = {"stop", stop_at_exit, METH_NOARGS, NULL};
    static bool is_registered;

    if (fresh->local)
        say_where(fresh->home, fresh->local);
    if (fresh->local && !is_registered) {
        is_registered = true;
        at_exit_call(&at_exit);
    }
    place_publish(fresh);
    place_release(&place);
    place = *fresh;
    owner = getpid();
}

int own_place_start(const struct place_wish *wish, struct ss_error *error)
{
    struct place fresh;
    int failed = place_make(&fresh, wish, error);

    if (!failed) {
        const struct ss_options options = {place_dir(&fresh), -1, 0, 0};
        failed = ss_start(&options);
        if (failed)
            place_remove(&fresh);
    }
    if (failed)
        place_release(&fresh);
    else
        keep(&fresh);
    return failed;
}

void own_place_stop(void)
{
    char *home, *local = place.local;

    ss_stop();
    if (!local || owner != getpid())
        return;
    place.local = NULL; /* ours alone: another thread may start the next run meanwhile */
    home = strdup(place.home);
    Py_BEGIN_ALLOW_THREADS;
    if (home)
        bring_home(local, home);
    Py_END_ALLOW_THREADS;
    free(home);
    free(local);
}

void own_place_join(void)
{
    const char *run = secure_getenv("STEPSCOPE_RUN");

    if (run && *run && (!joined || strcmp(joined, run) != 0)) {
        free(joined);
        joined = strdup(run);
    }
}

const char *own_place_dir(void)
{
    if (place.home)
        return place.home;
    own_place_join();
    return notes_recording() ? joined : NULL;
}
