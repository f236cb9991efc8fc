#include "window.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "guard.h"
#include "hook_extras.h"
#include "hook_technique.h"

enum {
    WARM_UP = 20,      /* updates before the first window, */
    WARM_UP_ASKED = 3, /* and if it is asked for */
    WARM_UP_S = 10,    /* and so long */
    PAUSE = 2,         /* updates between two windows that are asked for */
    LATER = 20,        /* updates until it is tried again */
    RARE = 10000,      /* updates to the next look at the clock, at most */
    PROBE = 1,         /* steps of the first window, */
    STEPS = 3,         /* of others, */
    WINDOWS = 4,       /* of all, with the first one */
    DROPS = 3,         /* that may be dropped */
    BUDGET = 1000,     /* a part of the time */
    EVENTS_MOST = 50000,
    EVENT_BYTES = 260, /* of a file; and what an event takes from the loop while it is recorded */
    EVENT_NS = 350,
    OTHERS_MOST = 64 /* updates of other optimizers after which one of them makes the steps */
};
#define NO_WINDOWS "no windows of operations" /* a mark: why */
static const int64_t second_ns = 1000000000;
static const int64_t probe_least_ns = 20000000; /* what the first window may cost */
static const int64_t slack_ns = 500000000;      /* that a window may last longer than its steps */
enum { TIMES_LONGER = 4 };

/* A framework's profiler watches a process: so there is one window at a time, of the one thread
 * that makes the updates. */
static struct {
    bool is_off, is_asked, is_theirs, is_open, is_owned;
    char framework[32], ending[16];
    PyObject *begin, *end;
    pthread_t owner;
    ss_name name; /* of the update that makes the steps, own: of what we do */
    ss_name own;
    uint64_t updates, due; /* of all optimizers; when to look again */
    unsigned others, taken, dropped, files;
    uint64_t steps, first_update; /* of `name` */
    int64_t first_ns, cost_ns;    /* since when, and what all windows have cost */
    int64_t step_cost_ns;         /* what a step of a window costs, as the last one told */
    uint64_t step_events;
    /* Of the open one. */
    unsigned wanted, seen;
    int64_t opened_ns, began_real_ns, begin_cost_ns;
} window = {.is_off = true};

/* Waits for a window that lasts too long; `number` changes with each. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t number;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    return clock_gettime(clock, &now) == 0 ? (int64_t)now.tv_sec * second_ns + now.tv_nsec : 0;
}

static int64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static void give_up(const char *reason)
{
    window.is_off = true;
    hook_status_mark(NO_WINDOWS, reason);
}

static int64_t usual_step_ns(int64_t now)
{
    return window.steps > 0 ? (now - window.first_ns) / (int64_t)window.steps : 0;
}

/* What is too long. */

static void drop(void);

/* In the main thread, between two instructions of Python. */
static int drop_late(void *number)
{
    if (window.is_open && (uintptr_t)number == watch.number)
        drop();
    return 0;
}

struct wait {
    uint64_t number;
    struct timespec until;
};

static void *wait_for_end(void *argument)
{
    struct wait wait = *(struct wait *)argument;
    int failed = 0;

    free(argument);
    pthread_mutex_lock(&watch.lock);
    while (watch.number == wait.number && failed == 0)
        failed = pthread_cond_timedwait(&watch.changed, &watch.lock, &wait.until);
    const bool is_late = watch.number == wait.number;
    pthread_mutex_unlock(&watch.lock);
    if (is_late)
        (void)Py_AddPendingCall(drop_late, (void *)(uintptr_t)wait.number);
    return NULL;
}

static void watch_changes(void)
{
    pthread_mutex_lock(&watch.lock);
    watch.number++;
    pthread_cond_broadcast(&watch.changed);
    pthread_mutex_unlock(&watch.lock);
}

static bool watch_for(int64_t most_ns)
{
    struct wait *wait = malloc(sizeof *wait);
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + most_ns;
    pthread_attr_t attributes;
    pthread_t thread;

    if (!wait)
        return false;
    watch_changes();
    *wait = (struct wait){.number = watch.number,
                          .until = {until_ns / second_ns, until_ns % second_ns}};
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    const bool is_begun = pthread_create(&thread, &attributes, wait_for_end, wait) == 0;
    pthread_attr_destroy(&attributes);
    if (!is_begun)
        free(wait);
    return is_begun;
}

/* One window. */

/* Ends what the framework does; false: without a file. */
static bool end_it(const char *path)
{
    PyObject *name = path ? PyUnicode_DecodeFSDefault(path) : Py_NewRef(Py_None);
    PyObject *done = name ? PyObject_CallOneArg(window.end, name) : NULL;
    const bool is_fine = done == Py_True;

    Py_XDECREF(done);
    Py_XDECREF(name);
    hook_forget_error();
    return is_fine;
}

static void is_over(void)
{
    window.is_open = false; /* first: what is called now may be hooked */
    watch_changes();
}

static void drop(void)
{
    const int error = errno;
    const int64_t start_ns = now_ns();
    struct hook_visit own;

    hook_begin(window.own, SS_FLAG_PERTURBED, &own);
    is_over();
    end_it(NULL);
    hook_put_condition(HOOK_CONDITION_WINDOW, 0);
    hook_end(&own, SS_FLAG_PERTURBED, 0);
    window.cost_ns += now_ns() - start_ns + window.begin_cost_ns;
    window.due = window.updates + LATER;
    if (++window.dropped == DROPS)
        give_up("they took too long, or were interrupted");
    errno = error;
}

/* What a reader needs beside the file, and its sign that both are there: a row of the table that it
 * makes (format 1.4). */
static bool write_facts(const char *dir, const char *name, int64_t wall_ns, int64_t cost_ns)
{
    struct buf text = {0}, file = {0};

    buf_printf(&text, "window\t%ld\t%u\t%lld\t%lld\t0\t0\t%lld\t%s\n", (long)getpid(), window.seen,
               (long long)window.began_real_ns, (long long)wall_ns, (long long)cost_ns,
               window.framework);
    buf_printf(&file, "%s.facts", name);
    const bool is_fine = !file.failed && small_file_write(dir, file.data, &text) == 0;
    buf_release(&text);
    buf_release(&file);
    return is_fine;
}

static void plan_next(uint64_t events, int64_t cost_ns)
{
    window.taken++;
    window.step_events = events / window.seen;
    window.step_cost_ns = cost_ns / window.seen;
    window.due = window.updates + PAUSE;
    if (window.taken == WINDOWS)
        window.is_off = true;
    else if (window.step_events > EVENTS_MOST)
        give_up("a step has too many operations");
}

static void save(const char *dir)
{
    const int64_t start_ns = now_ns(), wall_ns = start_ns - window.opened_ns;
    struct buf name = {0}, path = {0};
    struct stat status;

    buf_printf(&name, "window-%ld-%u.%s", (long)getpid(), ++window.files, window.ending);
    buf_printf(&path, "%s/%s", dir, buf_text(&name));
    const bool is_saved = !path.failed && end_it(path.data) && stat(path.data, &status) == 0;
    if (!is_saved) {
        give_up("the profiler of the framework gave nothing");
    } else {
        const uint64_t events = (uint64_t)status.st_size / EVENT_BYTES;
        const int64_t cost_ns =
            window.begin_cost_ns + now_ns() - start_ns + (int64_t)events * EVENT_NS;
        window.cost_ns += cost_ns;
        if (!write_facts(dir, buf_text(&name), wall_ns, cost_ns))
            (void)unlink(path.data);
        plan_next(events, cost_ns);
    }
    buf_release(&name);
    buf_release(&path);
}

static void close_window(void)
{
    const char *dir = standalone_run_dir();
    struct hook_visit own;

    if (!dir) {
        drop();
        return;
    }
    hook_begin(window.own, SS_FLAG_PERTURBED, &own);
    is_over();
    save(dir);
    hook_put_condition(HOOK_CONDITION_WINDOW, 0);
    hook_end(&own, SS_FLAG_PERTURBED, 0);
}

/* 1: it has begun; 0: not now; -1: never. */
static int begin_it(void)
{
    PyObject *answer = PyObject_CallNoArgs(window.begin);
    const char *reason = answer && PyUnicode_Check(answer) ? PyUnicode_AsUTF8(answer) : NULL;
    const int begun = answer == Py_None ? 1 : answer == Py_False ? 0 : -1;

    if (begun < 0)
        give_up(reason ? reason : "the framework's profiler cannot be asked");
    Py_XDECREF(answer);
    hook_forget_error();
    return begun;
}

static bool begin_window(unsigned steps, int64_t start_ns)
{
    const int64_t most_ns = usual_step_ns(start_ns) * (int64_t)steps * TIMES_LONGER + slack_ns;

    if (begin_it() != 1)
        return false;
    window.is_open = true;
    window.wanted = steps;
    window.seen = 0;
    window.opened_ns = now_ns();
    window.began_real_ns = clock_ns(CLOCK_REALTIME);
    window.begin_cost_ns = window.opened_ns - start_ns;
    window.due = window.updates + 1;
    hook_put_condition(HOOK_CONDITION_WINDOW, SS_FLAG_PERTURBED);
    return watch_for(most_ns);
}

static void open_window(unsigned steps)
{
    struct hook_visit own;

    hook_begin(window.own, SS_FLAG_PERTURBED, &own);
    window.due = window.updates + LATER;
    const bool is_watched = begin_window(steps, now_ns());
    hook_end(&own, SS_FLAG_PERTURBED, 0);
    if (window.is_open && !is_watched)
        drop();
}

/* When to begin one. */

static unsigned next_steps(void)
{
    return window.taken == 0 || window.step_events * STEPS > EVENTS_MOST ? PROBE : STEPS;
}

/* 0: the next one is within the budget. */
static int64_t too_early_ns(int64_t now, unsigned steps)
{
    const int64_t half_ns = usual_step_ns(now) / 2;
    const int64_t first_ns = half_ns > probe_least_ns ? half_ns : probe_least_ns;
    const int64_t next_ns = window.taken ? window.step_cost_ns * (int64_t)steps : first_ns;
    const int64_t passed_ns = now - window.first_ns;
    const int64_t needed_ns = (window.cost_ns + next_ns) * BUDGET;
    const int64_t most_ns = needed_ns > WARM_UP_S * second_ns ? needed_ns : WARM_UP_S * second_ns;

    return most_ns > passed_ns ? most_ns - passed_ns : 0;
}

static void consider(void)
{
    const int64_t now = now_ns();
    const unsigned steps = next_steps();
    const int64_t early_ns = window.is_asked ? 0 : too_early_ns(now, steps);
    const uint64_t least = window.is_asked ? WARM_UP_ASKED : WARM_UP;

    if (window.steps < least) {
        window.due = window.updates + 1;
        return;
    }
    if (early_ns > 0) {
        const int64_t updates = early_ns / (usual_step_ns(now) + 1);
        window.due = window.updates + 1 + (uint64_t)(updates < RARE ? updates : RARE);
        return;
    }
    if (window.is_theirs || hook_state.condition || hook_state.measuring & HOOK_MEASURES_LAYERS)
        window.due = window.updates + 1;
    else
        open_window(steps);
}

/* The update that begins a step: always the one of the first optimizer, as long as it comes. */
static bool makes_steps(ss_name name)
{
    if (window.name == name) {
        window.others = 0;
        return true;
    }
    if (window.name && ++window.others < OTHERS_MOST)
        return false;
    if (window.is_open)
        drop();
    window.name = name;
    window.others = 0;
    window.steps = 0;
    window.first_ns = now_ns();
    return true;
}

static void turn(ss_name name)
{
    window.due = window.updates + 1;
    if (!window.is_owned) {
        window.is_owned = true;
        window.owner = pthread_self();
    }
    if (!pthread_equal(window.owner, pthread_self()) || !makes_steps(name))
        return;
    window.seen++;
    if (!window.is_open)
        consider();
    else if (window.seen == window.wanted)
        close_window();
}

/* An update has begun. */
static bool update_enter(struct hook_visit *visit, const struct hook_call *call)
{
    (void)call;
    if (LIKELY(window.is_off))
        return true;
    window.updates++;
    window.steps += visit->name == window.name;
    if (window.updates >= window.due) {
        const int error = errno;
        turn(visit->name);
        errno = error;
    }
    return true;
}

static int update_read(PyObject *row, struct hook_point *point)
{
    (void)row;
    return point->layers == HOOK_LAYERS_UPDATE;
}

const struct hook_extra hook_windows = {.read = update_read, .enter = update_enter};

/* What adapters call. */

/* What was open is the parent's. */
static void after_fork_in_child(void)
{
    pthread_mutex_init(&watch.lock, NULL);
    window.is_open = window.is_owned = false;
    window.name = 0;
    window.steps = window.updates = window.due = 0;
    window.cost_ns = 0;
    window.taken = window.dropped = window.files = 0;
    hook_put_condition(HOOK_CONDITION_WINDOW, 0);
}

static void be_ready(void)
{
    static bool is_ready; /* adapters of several frameworks may start */
    pthread_condattr_t attributes;

    if (is_ready)
        return;
    is_ready = true;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&watch.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_atfork(NULL, NULL, after_fork_in_child);
    window.own =
        ss_intern("window of operations", SS_STAGE_OTHER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
}

PyObject *windows_start(PyObject *module, PyObject *arguments)
{
    const char *wanted = secure_getenv("STEPSCOPE_OPS"), *framework, *ending;
    PyObject *begin, *end;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "ssOO", &framework, &ending, &begin, &end))
        return NULL;
    window.is_asked = wanted && strcmp(wanted, "now") == 0;
    if (!window.is_asked && (!wanted || strcmp(wanted, "auto") != 0))
        Py_RETURN_FALSE;
    if (!HAS_GIL) {
        give_up("this Python is built without the GIL");
        Py_RETURN_FALSE;
    }
    be_ready();
    snprintf(window.framework, sizeof window.framework, "%s", framework);
    snprintf(window.ending, sizeof window.ending, "%s", ending);
    Py_XSETREF(window.begin, Py_NewRef(begin));
    Py_XSETREF(window.end, Py_NewRef(end));
    window.is_off = false;
    Py_RETURN_TRUE;
}

PyObject *windows_drop(PyObject *module, PyObject *reason)
{
    const char *text = PyUnicode_Check(reason) ? PyUnicode_AsUTF8(reason) : NULL;

    (void)module;
    if (window.is_open && pthread_equal(window.owner, pthread_self()))
        drop();
    if (text && !window.is_off)
        give_up(text);
    Py_RETURN_NONE;
}

/* Only the thread that began it can end it: it is asked to, and waited for, though not for ever. */
static void end_elsewhere(void)
{
    enum { TRIES = 100 };
    const struct timespec pause = {.tv_nsec = 5000000};

    if (Py_AddPendingCall(drop_late, (void *)(uintptr_t)watch.number) != 0)
        return;
    for (int i = 0; i < TRIES && window.is_open; i++) {
        Py_BEGIN_ALLOW_THREADS;
        (void)nanosleep(&pause, NULL);
        Py_END_ALLOW_THREADS;
    }
}

/* Unless windows are asked for, a script that profiles itself before there was one has none at all:
 * its profiler then says and does what it always did. */
static void say_first(void)
{
    static const char reason[] = "the script's own profiler came first";

    if (window.is_asked || window.taken > 0 || window.is_open)
        hook_status_mark(NO_WINDOWS, reason);
    else
        give_up(reason);
}

PyObject *windows_yield(PyObject *module, PyObject *yes)
{
    (void)module;
    window.is_theirs = yes == Py_True;
    if (window.is_theirs && !window.is_off)
        say_first();
    if (!window.is_theirs || !window.is_open)
        return PyBool_FromLong(!window.is_off);
    if (pthread_equal(window.owner, pthread_self()))
        drop();
    else
        end_elsewhere();
    if (window.is_open) { /* theirs takes over */
        is_over();
        hook_put_condition(HOOK_CONDITION_WINDOW, 0);
        give_up("a profiler of the script began beside one");
    }
    return PyBool_FromLong(!window.is_off);
}
