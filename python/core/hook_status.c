#include "hook_status.h"

#include "hook_technique.h"
#include "record/notes.h"
#include "sampler.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct status {
    char *target; /* or the mark's name */
    char *reason; /* NULL: in place; or the mark's text */
    bool is_mark;
    pid_t
        process; /* of a mark: what is true of it need not be so of a child that it forks */
};

ATTR_HOT_DATA int32_t hook_told;

static struct status *statuses;
static unsigned count;
static unsigned told; /* the first so many are known to the recording `hook_told` */

static void add(const char *target, const char *reason, bool is_mark)
{
    struct status *more = realloc(statuses, (count + 1) * sizeof *more);
    if (!more) {
        return;
    }
    statuses = more;
    struct status status = {strdup(target), reason ? strdup(reason) : NULL, is_mark,
                            getpid()};
    if (!status.target || (reason && !status.reason)) {
        free(status.target);
        free(status.reason);
        return;
    }
    statuses[count++] = status;
    if (hook_told && (uint32_t)hook_told == notes_recording()) {
        hook_tell();
    }
}

void hook_status_add(const char *target, const char *reason)
{
    add(target, reason, false);
}

void hook_status_mark(const char *name, const char *text)
{
    add(name, text, true);
}

static void tell(const struct status *status)
{
    if (status->is_mark && status->process != getpid()) {
        return;
    }
    if (status->is_mark) {
        ss_mark(
            ss_intern(status->target, SS_STAGE_OTHER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL),
            status->reason);
    } else {
        notes_hook(status->target, status->reason);
    }
}

/* The gate changes with each fork too; the file does not. */
static bool is_same_file(void)
{
    static unsigned char known[sizeof((struct ss_file_header *)NULL)->file_id];
    const struct pen *pen = session_pen();
    if (!pen) {
        return false;
    }
    const unsigned char *file = pen->lane->session->store.header->file_id;
    const bool is_same = memcmp(known, file, sizeof known) == 0;
    memcpy(known, file, sizeof known);
    return is_same;
}

void hook_tell(void)
{
    const uint32_t recording = notes_recording();
    if (!recording) {
        return;
    }
    if (recording != (uint32_t)hook_told) {
        hook_told = (int32_t)recording;
        told = is_same_file() ? told : 0;
        hook_library_check();
        sampler_poke(); /* a hook may see the first event */
    }
    for (; told < count; told++) {
        tell(&statuses[told]);
    }
}

PyObject *hook_status_list(void)
{
    PyObject *list = PyList_New(0);
    for (unsigned i = 0; list && i < count; i++) {
        if (statuses[i].is_mark) {
            continue;
        }
        PyObject *pair = Py_BuildValue("(sz)", statuses[i].target, statuses[i].reason);
        if (!pair || PyList_Append(list, pair) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(pair);
    }
    return list;
}
