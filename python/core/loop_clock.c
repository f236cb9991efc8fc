/* The arms of an experiment, written by the loop's own thread where a block of steps begins, with
 * the clock that tells how long it waited for a core. */
#include "core.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "guard.h"
#include "record/notes.h"

enum { READINGS_MOST = 5, TEXT_SIZE = 96 };
static const int64_t undisturbed_ns = 30000;

/* Of the thread that asked last. */
static struct {
    pid_t thread;
    int fd;
} source = {.fd = -1};

static int64_t now_ns(clockid_t clock)
{
    struct timespec time;

    return clock_gettime(clock, &time) == 0 ? time.tv_sec * INT64_C(1000000000) + time.tv_nsec : 0;
}

static bool open_source(void)
{
    const pid_t thread = gettid();
    char path[TEXT_SIZE];

    if (source.thread == thread)
        return source.fd >= 0;
    if (source.fd >= 0)
        close(source.fd);
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", (int)thread);
    source.fd = open(path, O_RDONLY | O_CLOEXEC);
    source.thread = thread;
    return source.fd >= 0;
}

/* "RAN WAITED SLICES" */
static bool read_waited(uint64_t *waited_ns)
{
    char text[TEXT_SIZE], *end;
    const ssize_t size = pread(source.fd, text, sizeof text - 1, 0);

    if (size <= 0)
        return false;
    text[size] = '\0';
    (void)strtoull(text, &end, 10);
    const char *const second = end;
    *waited_ns = strtoull(second, &end, 10);
    return end != second;
}

/* A thread loses its core mostly where a system call returns: one that did so between the two
 * clocks would have that time in the wrong block, so it reads again. 0: not known. */
static ss_ticks read_clock(uint64_t *waited_ns, uint64_t *others_ns)
{
    ss_ticks when = 0;

    if (!open_source())
        return 0;
    for (int i = 0; i < READINGS_MOST; i++) {
        const int64_t before_ns = now_ns(CLOCK_MONOTONIC);
        if (!read_waited(waited_ns))
            return 0;
        when = ss_now();
        if (now_ns(CLOCK_MONOTONIC) - before_ns < undisturbed_ns)
            break;
    }
    const int64_t all_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    const int64_t own_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    *others_ns = all_ns > own_ns ? (uint64_t)(all_ns - own_ns) : 0;
    return when;
}

static PyObject *begin_block(PyObject *module, PyObject *arguments)
{
    unsigned long long round;
    const char *label;
    int is_settling, has_clock;
    uint64_t waited_ns = 0, others_ns = 0;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "sKpp", &label, &round, &is_settling, &has_clock))
        return NULL;
    const int error_number = errno;
    const ss_name name = ss_intern(label, SS_STAGE_OTHER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    const ss_ticks when = has_clock ? read_clock(&waited_ns, &others_ns) : 0;
    if (when)
        notes_clock(when, waited_ns, others_ns);
    notes_arm(when ? when : ss_now(), name, is_settling ? SS_FLAG_PERTURBED : 0, round);
    errno = error_number;
    Py_RETURN_NONE;
}

GUARDED(begin_block)

static PyMethodDef methods[] = {
    {"arm", begin_block_guarded, METH_VARARGS,
     "arm(label, round, settling, clock): a block of an experiment begins."},
    {NULL, NULL, 0, NULL},
};

int loop_clock_add(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
