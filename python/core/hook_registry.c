/* All hooks of this process: laid, put back, found by what they hook; and what the run records of
 * them. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "generator_span.h"
#include "guard.h"
#include "hook_technique.h"
#include "record/notes.h"
#include "sampler.h"

/* Open addressing; a key is never taken out, because a call may be inside its trampoline. Calls
 * look without a guard: an entry is there when its key is. */
struct entry {
    const void *_Atomic target;
    struct hook *hook;
};

struct table {
    size_t mask; /* entries - 1 */
    struct entry entries[];
};

/* By key, and in the order in which they were made. */
ATTR_HOT_DATA static struct {
    struct table *_Atomic table; /* NULL: there are none */
    struct hook **hooks;
    unsigned count;
} all;

static size_t place_of(const void *target)
{
    const uint64_t mixed = (uint64_t)(uintptr_t)target * 0x9e3779b97f4a7c15u;
    return (size_t)(mixed >> 32);
}

static struct entry *find_entry(struct table *table, const void *target)
{
    size_t i = place_of(target) & table->mask;
    const void *there;
    while ((there = atomic_load_explicit(&table->entries[i].target, memory_order_acquire)) &&
           there != target)
        i = (i + 1) & table->mask;
    return &table->entries[i];
}

static void add_entry(struct table *table, struct hook *hook)
{
    struct entry *entry = find_entry(table, hook->key);
    entry->hook = hook;
    atomic_store_explicit(&entry->target, hook->key, memory_order_release);
}

struct hook *hook_list_find(const void *key)
{
    struct table *table = atomic_load_explicit(&all.table, memory_order_acquire);
    const struct entry *entry = table ? find_entry(table, key) : NULL;
    return entry && atomic_load_explicit(&entry->target, memory_order_relaxed) ? entry->hook : NULL;
}

struct hook *hook_list_at(unsigned i)
{
    return i < all.count ? all.hooks[i] : NULL;
}

/* Makes room for one more: at most half of the entries are taken. */
static bool grow(void)
{
    struct hook **more = realloc(all.hooks, (all.count + 1) * sizeof(struct hook *));
    if (!more)
        return false;
    all.hooks = more;
    struct table *old = all.table;
    if (old && all.count * 2 < old->mask)
        return true;
    const size_t size = old ? (old->mask + 1) * 4 : 64;
    struct table *table = calloc(1, sizeof *table + size * sizeof *table->entries);
    if (!table)
        return false;
    table->mask = size - 1;
    for (unsigned i = 0; i < all.count; i++)
        add_entry(table, all.hooks[i]);
    atomic_store_explicit(&all.table, table, memory_order_release);
    if (HAS_GIL) /* else another thread may be in a lookup */
        free(old);
    return true;
}

struct hook *hook_list_new(const struct hook_technique *technique, const void *key,
                           PyObject *target, PyObject *owner, PyObject *attribute,
                           struct hook_point *points)
{
    struct hook *hook = hook_memory_new(sizeof *hook);
    if (!hook || !grow())
        return NULL;
    *hook = (struct hook){.technique = technique, .points = points, .key = key};
    hook->target = Py_NewRef(target);
    hook->owner = Py_XNewRef(owner);
    hook->attribute = Py_XNewRef(attribute);
    add_entry(all.table, hook);
    all.hooks[all.count++] = hook;
    return hook;
}

static const struct hook_technique *const techniques[] = {
    &hook_function, &hook_method, &hook_object, &hook_callable, &hook_library, &hook_buffer,
};

static const struct hook_technique *find_technique(const char *name)
{
    for (size_t i = 0; i < sizeof techniques / sizeof *techniques; i++)
        if (strcmp(techniques[i]->name, name) == 0)
            return techniques[i];
    return NULL;
}

/* A second row for the same target: calls that the first ones do not take. */
static const char *append_point(struct hook *hook, struct hook_point *point)
{
    struct hook_point *last = hook->points;
    while (last->next)
        last = last->next;
    if (last->object != HOOK_OBJECT_ATTRIBUTE ||
        (last->part == HOOK_PART_END) != (point->part == HOOK_PART_END))
        return "it is hooked already";
    if (last->never_in != point->never_in)
        return "another row for it has another 'never_in'";
    __atomic_store_n(&last->next, point, __ATOMIC_RELEASE); /* a call may be on its way there */
    hook->points->all_outermost |= point->all_outermost;
    return NULL;
}

/* Two classes that inherit one function are two places for objects of ours, and neither has the
 * other's calls. */
static bool is_elsewhere(const struct hook *hook, const struct hook_technique *technique,
                         const PyObject *owner)
{
    return technique == &hook_callable && hook->technique == technique && hook->owner != owner;
}

/* The hook on this object, laid or off: of the object itself, or of the one in its place. */
static struct hook *find_known(const struct hook_technique *technique, PyObject *target,
                               const PyObject *owner)
{
    struct hook *hook = NULL;
    for (unsigned i = 0; (hook = hook_list_at(i)); i++) {
        const bool is_same = hook->target == target && !is_elsewhere(hook, technique, owner);
        if (target != Py_None && (is_same || hook->place == target))
            return hook;
    }
    return NULL;
}

/* A call of a generator function only makes a generator. What it does then, an object of ours in
 * its place sees; a hook that only has to see the call needs no more. */
static const char *check_flow(const struct hook_technique *technique, PyObject *target,
                              const struct hook_point *point)
{
    PyObject *inside =
        Py_IS_TYPE(target, &PyStaticMethod_Type) || Py_IS_TYPE(target, &PyClassMethod_Type)
            ? PyObject_GetAttrString(target, "__func__")
            : Py_NewRef(target);
    const bool is_flow = inside && generator_span_is_made_by(inside);
    Py_XDECREF(inside);
    PyErr_Clear();
    return !is_flow || !point->is_recorded ? NULL
           : technique == &hook_callable && point->is_name_only
               ? NULL
               : "a call of it only makes a generator or coroutine";
}

static void let_go(struct hook *hook)
{
    Py_CLEAR(hook->target);
    Py_CLEAR(hook->owner);
    Py_CLEAR(hook->attribute);
}

static const char *lay_point(const struct hook_technique *technique, PyObject *target,
                             PyObject *owner, PyObject *attribute, struct hook_point *point)
{
    struct hook *hook = find_known(technique, target, owner);
    if (hook) {
        const char *reason = append_point(hook, point);
        if (reason)
            hook_point_release(point);
        return reason;
    }
    hook = hook_list_new(technique, target, target, owner, attribute, point);
    if (!hook) {
        hook_point_release(point);
        return "no memory";
    }
    const char *reason = technique->lay(hook);
    hook->is_laid = !reason;
    if (reason)
        let_go(hook);
    return reason;
}

const char *hook_lay(const char *technique, PyObject *target, PyObject *owner, PyObject *attribute,
                     struct hook_point *point)
{
    const struct hook_technique *found = find_technique(technique);
    const char *reason = found ? check_flow(found, target, point) : "no such technique";
    if (!reason)
        return lay_point(found, target, owner, attribute, point);
    hook_point_release(point);
    return reason;
}

long hook_restore_all(void)
{
    long stuck = 0;
    struct hook *hook = NULL;
    hook_state.is_on = false;
    for (unsigned i = 0; (hook = hook_list_at(i)); i++) {
        if (hook->is_laid) {
            hook->is_laid = hook->technique->restore(hook) != NULL;
            stuck += hook->is_laid;
        }
    }
    return stuck;
}

long hook_lay_all(void)
{
    long failed = 0;
    struct hook *hook = NULL;
    for (unsigned i = 0; (hook = hook_list_at(i)); i++) {
        if (hook->target && !hook->is_laid) {
            hook->is_laid = hook->technique->lay(hook) == NULL;
            failed += !hook->is_laid;
        }
    }
    hook_state.is_on = true;
    return failed;
}

void hook_forget_all(void)
{
    struct hook *hook = NULL;
    for (unsigned i = 0; (hook = hook_list_at(i)); i++)
        if (!hook->is_laid)
            let_go(hook);
}

/* What was hooked and what was not. */

struct status {
    char *target; /* or the mark's name */
    char *reason; /* NULL: in place; or the mark's text */
    bool is_mark;
    pid_t process; /* of a mark: what is true of it need not be so of a child that it forks */
};

/* In the order in which they came. */
static struct {
    struct status *list;
    unsigned count;
    unsigned told; /* how many of the first are known to the recording `hook_state.told` */
} statuses;

static void add_guarded(const char *target, const char *reason, bool is_mark)
{
    struct status *more = realloc(statuses.list, (statuses.count + 1) * sizeof *more);
    if (!more)
        return;
    statuses.list = more;
    struct status status = {strdup(target), reason ? strdup(reason) : NULL, is_mark, getpid()};
    if (!status.target || (reason && !status.reason)) {
        free(status.target);
        free(status.reason);
        return;
    }
    statuses.list[statuses.count++] = status;
    if (hook_state.told && (uint32_t)hook_state.told == notes_recording())
        hook_tell();
}

static void add_status(const char *target, const char *reason, bool is_mark)
{
    struct guard guard;
    guard_enter(&guard);
    add_guarded(target, reason, is_mark);
    guard_leave(&guard);
}

void hook_status_add(const char *target, const char *reason)
{
    add_status(target, reason, false);
}

void hook_status_mark(const char *name, const char *text)
{
    add_status(name, text, true);
}

static void tell(const struct status *status)
{
    if (status->is_mark && status->process != getpid())
        return;
    if (status->is_mark) {
        ss_mark(ss_intern(status->target, SS_STAGE_OTHER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL),
                status->reason);
    } else {
        notes_hook(status->target, status->reason);
    }
}

/* The gate changes with each fork too; the file does not. */
static bool is_same_file(void)
{
    /* Of the file that was told last. */
    static unsigned char known[sizeof((struct ss_file_header *)NULL)->file_id];
    const struct pen *pen = session_pen();
    if (!pen)
        return false;
    const unsigned char *file = pen->lane->session->store.header->file_id;
    const bool is_same = memcmp(known, file, sizeof known) == 0;
    memcpy(known, file, sizeof known);
    return is_same;
}

static void tell_all(uint32_t recording)
{
    if (recording != (uint32_t)hook_state.told) {
        hook_state.told = (int32_t)recording;
        statuses.told = is_same_file() ? statuses.told : 0;
        hook_library_check();
        sampler_poke(); /* a hook may see the first event */
    }
    for (; statuses.told < statuses.count; statuses.told++)
        tell(&statuses.list[statuses.told]);
}

void hook_tell(void)
{
    const uint32_t recording = notes_recording();
    struct guard guard;
    if (!recording)
        return;
    guard_enter(&guard);
    tell_all(recording);
    guard_leave(&guard);
}

PyObject *hook_status_list(void)
{
    PyObject *list = PyList_New(0);
    for (unsigned i = 0; list && i < statuses.count; i++) {
        if (statuses.list[i].is_mark)
            continue;
        PyObject *pair = Py_BuildValue("(sz)", statuses.list[i].target, statuses.list[i].reason);
        if (!pair || PyList_Append(list, pair) != 0)
            Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}
