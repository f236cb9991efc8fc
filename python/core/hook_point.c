#include "hook_point.h"

#include "collector.h"
#include "device_events.h"
#include "hook_count.h"
#include "hook_inform.h"
#include "hook_instance.h"
#include "hook_memory.h"
#include "hook_name.h"
#include "hook_numbers.h"
#include "hook_pair.h"
#include "hook_samples.h"
#include "hook_wait.h"
#include "span_stack.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MOST = 63 };

ATTR_HOT_DATA bool hook_is_on = true;
ATTR_HOT_DATA static unsigned condition; /* flags of every span that begins now */

_Thread_local uint64_t hook_open_groups __attribute__((tls_model(SS_TLS_MODEL)));

static void after_fork_in_child(void)
{
    hook_open_groups = 0;
}

void hook_point_ready(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* Calls that need more than a name. */

static unsigned ask_train(const struct hook_point *point)
{
    PyObject *answer = point->ask ? point->ask(PyCFunction_GET_SELF(point->query), NULL)
                                  : PyObject_CallNoArgs(point->query);
    if (!answer) {
        PyErr_Clear();
        return 0;
    }
    const bool is_true = answer == Py_True;
    Py_DECREF(answer);
    return is_true ? SS_FLAG_TRAIN : SS_FLAG_EVAL;
}

/* The point that took the last call from the function that makes this one; NULL: none did. */
static const struct hook_point *find_again(const struct hook_point *point, ss_name *name)
{
    while (point && !(point->options & HOOK_BY_ATTRIBUTE &&
                      hook_naming_is_again(point->by, name))) {
        point = point->next;
    }
    return point;
}

/* The first point that takes the call, and what it calls it; NULL: none does. */
ATTR_HOT static const struct hook_point *find_point(const struct hook_point *point,
                                                    struct hook_call call, ss_name *name)
{
    const struct hook_point *again = find_again(point, name);
    if (again) {
        return again;
    }
    struct hook_subject subject = {0};
    for (; point; point = point->next) {
        PyObject *self = hook_argument(call, point->named_after);
        if (self != subject.self) {
            Py_XDECREF(subject.value);
            subject = (struct hook_subject){.self = self};
        }
        *name = point->name;
        if (!point->by || hook_naming_of(point->by, point->options, &subject, name)) {
            break;
        }
    }
    Py_XDECREF(subject.value);
    return point;
}

static bool has_device_events(const struct hook_point *point)
{
    return point->options & HOOK_DEVICE && UNLIKELY(device_events_are_on);
}

/* What is measured of a call beside its time. */
static void begin_measures(const struct hook_point *point, struct hook_visit *visit)
{
    if (UNLIKELY(hook_wait_is_on) && (point->options & HOOK_WAITS || point->is_comm)) {
        hook_wait_begin(point, visit);
    }
    if (has_device_events(point)) {
        device_events_begin(visit);
    }
}

static void end_measures(const struct hook_visit *visit, PyObject *result)
{
    const unsigned options = visit->point->options;
    const bool stays_open = options & HOOK_BEGINS && result;
    if (has_device_events(visit->point) && !stays_open) {
        device_events_end(visit->name);
    }
    if (options & HOOK_WAITS && UNLIKELY(visit->cpu_ns)) {
        hook_wait_end(visit);
    }
}

/* What the same self has begun, or whatever has the name of the point. */
static void end_begun(const struct hook_point *point, const PyObject *self)
{
    const int error = errno;
    ss_name name = point->name;
    if (hook_open_groups & point->group || (point->by && !hook_pair_end(self, &name))) {
        return;
    }
    if (has_device_events(point)) {
        device_events_end(name);
    }
    span_stack_end(name, point->flags);
    errno = error;
}

void hook_enter_with_options(const struct hook_point *point, struct hook_call call,
                             struct hook_visit *visit)
{
    ss_name name = 0;
    collector_poke(); /* a step has such a call at least */
    visit->group = 0;
    if (point->options & HOOK_ENDS) {
        visit->point = point;
        visit->open = NULL;
        return;
    }
    point = find_point(point, call, &name);
    if (point && !(hook_open_groups & point->group) &&
        !hook_numbers_has_none(point->numbers, call)) {
        visit->name = name;
        visit->group = point->group;
        hook_open_groups |= point->group;
        if (point->counts_batches) { /* another core has just written it */
            visit->batches = __atomic_load_n(&hook_batches, __ATOMIC_RELAXED);
        }
        visit->cpu_ns = 0;
        if (point->options & HOOK_INFORMS) {
            hook_inform_before(point, call);
        }
        if (point->options & HOOK_SILENT) {
            visit->point = point;
            visit->open = NULL;
        } else {
            const unsigned asked =
                point->options & HOOK_ASKS_TRAIN ? ask_train(point) : 0;
            hook_begin(point, name, point->flags | asked | condition, visit);
            begin_measures(point, visit);
        }
        if (point->options & HOOK_BEGINS && point->by) {
            hook_pair_begin(hook_argument(call, 0), name);
        }
    }
}

/* The innermost open span, if it is the visit's own. */
static struct ss_open_span *own_span(const struct hook_visit *visit)
{
    const struct pen *pen = visit->open ? hook_pen() : NULL;
    return hook_is_open(visit, pen) && visit->open == pen->top - 1 && !pen->too_deep
               ? pen->top - 1
               : NULL;
}

static void drop_span(const struct hook_visit *visit)
{
    const struct ss_open_span *open = own_span(visit);
    if (open) {
        pen_pop(&session_tls, pen_load_head(&open->head));
    } else {
        hook_end(visit, 0, 0);
    }
}

void hook_rename(const struct hook_visit *visit, ss_name name)
{
    struct ss_open_span *open = own_span(visit);
    if (open) {
        open->head.name = SS_NAME_ID(name);
    }
}

static bool is_at_home(const struct hook_point *point, PyObject *object)
{
    PyObject *answer = object ? PyObject_GetAttr(object, point->at_home) : NULL;
    const bool is_true = answer == Py_True;
    Py_XDECREF(answer);
    PyErr_Clear();
    return is_true;
}

/* Whether something moved between host and device; the span's name is by where to. */
static bool has_moved(const struct hook_visit *visit, struct hook_call call,
                      PyObject *result)
{
    const struct hook_point *point = visit->point;
    PyObject *before = hook_argument(call, 0);
    if (result == before) { /* it was there already */
        return false;
    }
    const bool to_host = is_at_home(point, result);
    if (to_host == is_at_home(point, before)) {
        return false;
    }
    if (to_host) {
        hook_rename(visit, point->home_name);
    }
    return true;
}

/* One that another call ends stays open, unless the call that began it failed. */
static inline void end_span(const struct hook_visit *visit, const PyObject *result,
                            unsigned flags, int64_t arg)
{
    if (!(visit->point->options & HOOK_BEGINS) || !result) {
        hook_end(visit, flags, arg);
    }
}

/* What few calls need, some of it from Python, which may change errno. */
ATTR_NOINLINE static void leave_with_more(const struct hook_visit *visit,
                                          struct hook_call call, PyObject *result,
                                          bool looks, bool counts, unsigned flags)
{
    const struct hook_point *point = visit->point;
    const int error = errno;
    int64_t arg = 0;
    end_measures(visit, result);
    if (counts) {
        arg = hook_count_of(visit, call, result);
    }
    if (result == Py_None && point->options & HOOK_NONE_ENDS) {
        flags |= SS_FLAG_FAILED;
    }
    if (looks) {
        hook_samples_look(point->samples, hook_argument(call, 0), result);
    }
    if (result && point->options & HOOK_MOVES && !has_moved(visit, call, result)) {
        drop_span(visit);
    } else {
        end_span(visit, result, flags, arg);
    }
    if (point->options & HOOK_INFORMS) {
        hook_inform_after(point, call, result);
    }
    errno = error;
}

void hook_leave_with_options(const struct hook_visit *visit, struct hook_call call,
                             PyObject *result)
{
    const struct hook_point *point = visit->point;
    const unsigned options = point->options;
    if (options & HOOK_ENDS) {
        end_begun(point, hook_argument(call, 0));
        return;
    }
    const unsigned flags = point->flags | (result ? 0 : hook_failure(point));
    const bool looks =
        point->samples && visit->open &&
        hook_samples_is_due(point->samples, hook_argument(call, 0), result);
    const bool counts =
        result && options & HOOK_COUNTS && hook_count_is_for(point->count, call);
    hook_open_groups &= ~visit->group;
    if (looks || counts || options & (HOOK_NONE_ENDS | HOOK_MOVES | HOOK_INFORMS) ||
        visit->cpu_ns || device_events_are_on) {
        leave_with_more(visit, call, result, looks, counts, flags);
    } else {
        end_span(visit, result, flags, 0);
    }
    if (result && point->numbers) {
        hook_numbers_see(point->numbers, result);
    }
}

void hook_leave_unseen(const struct hook_visit *visit)
{
    if (visit->point) {
        hook_open_groups &= ~(visit->point->options ? visit->group : 0);
        drop_span(visit);
    }
}

static bool is_kind_of(PyObject *raised, PyObject *kind)
{
    return PyType_Check(raised) &&
           PyType_IsSubtype((PyTypeObject *)raised, (PyTypeObject *)kind);
}

unsigned hook_failure(const struct hook_point *point)
{
    PyObject *raised = PyErr_Occurred(); /* none: a C iterator may end without one */
    const bool is_end = !raised || is_kind_of(raised, PyExc_StopIteration) ||
                        is_kind_of(raised, PyExc_StopAsyncIteration) ||
                        is_kind_of(raised, PyExc_GeneratorExit);
    return is_end && !point->is_data ? 0 : SS_FLAG_FAILED;
}

/* Reading a row. */

#define WORD_OF_STAGE(id, number, text, meaning) [number] = text,
#define WORD_OF(id, number, text) [number] = text,
static const char *const stages[] = {SS_STAGES(WORD_OF_STAGE)};
static const char *const roles[] = {SS_ROLES(WORD_OF)};
static const char *const scopes[] = {SS_SCOPES(WORD_OF)};
static const char *const flags_by_bit[] = {SS_FLAGS(WORD_OF)};

/* The text of a key, "" if there is none; NULL with an exception. */
static const char *text_in(PyObject *row, const char *key)
{
    PyObject *value = PyDict_GetItemString(row, key);
    return value ? PyUnicode_AsUTF8(value) : "";
}

static int find_word(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            return (int)i;
        }
    }
    PyErr_Format(PyExc_ValueError, "'%s' is not a word of the vocabulary", word);
    return -1;
}
#define FIND_WORD(word, words) find_word(word, words, sizeof words / sizeof *words)

static int word_in(PyObject *row, const char *key, const char *const *words, size_t count)
{
    const char *word = text_in(row, key);
    return !word ? -1 : *word ? find_word(word, words, count) : 0;
}
#define WORD_IN(row, key, words) word_in(row, key, words, sizeof words / sizeof *words)

static int read_flags(PyObject *row, struct hook_point *point)
{
    PyObject *list = PyDict_GetItemString(row, "flags");
    for (Py_ssize_t i = 0; list && i < PyTuple_Size(list); i++) {
        const char *word = PyUnicode_AsUTF8(PyTuple_GET_ITEM(list, i));
        const int bit = word ? FIND_WORD(word, flags_by_bit) : -1;
        if (bit < 0) {
            return -1;
        }
        point->flags = (uint16_t)(point->flags | 1u << bit);
    }
    return PyErr_Occurred() ? -1 : 0;
}

int hook_point_set_condition(const char *word)
{
    const int bit = *word ? FIND_WORD(word, flags_by_bit) : 0;
    if (bit < 0) {
        return -1;
    }
    condition = *word ? 1u << bit : 0;
    return 0;
}

/* The bit of a group, which is made by its first row. 0, or -1 with an exception. */
static int find_group(const char *group, uint64_t *bit)
{
    static char *groups[GROUPS_MOST];
    unsigned i = 0;
    while (i < GROUPS_MOST && groups[i] && strcmp(groups[i], group) != 0) {
        i++;
    }
    if (i < GROUPS_MOST && !groups[i]) {
        groups[i] = strdup(group);
    }
    if (i == GROUPS_MOST || !groups[i]) {
        PyErr_SetString(PyExc_ValueError, "too many groups");
        return -1;
    }
    *bit = (uint64_t)1 << i;
    return 0;
}

static int read_groups(PyObject *row, struct hook_point *point)
{
    const char *group = text_in(row, "outermost");
    const char *numbers = text_in(row, "numbers");
    uint64_t inside = 0;
    point->shut = HOOK_NEVER_OPEN;
    if (!group || !numbers || (*group && find_group(group, &point->group) != 0) ||
        (*numbers && find_group(numbers, &inside) != 0)) {
        return -1;
    }
    if (*group) {
        point->options |= HOOK_OUTERMOST;
        point->shut = point->group;
    }
    return hook_numbers_read(point, inside);
}

static const struct {
    const char *key, *value;
    enum hook_option option;
} choices[] = {
    {"object", "type", HOOK_BY_TYPE},
    {"object", "instance", HOOK_BY_INSTANCE},
    {"object", "attribute", HOOK_BY_ATTRIBUTE},
    {"part", "begin", HOOK_BEGINS},
    {"part", "end", HOOK_ENDS},
    {"ends", "none", HOOK_NONE_ENDS},
    {"ends", "duration_us", HOOK_DURATION},
    {"ends", "batch", HOOK_BATCH},
    {"stage", "", HOOK_SILENT},
    {"device", "events", HOOK_DEVICE},
};

static int read_choices(PyObject *row, struct hook_point *point)
{
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const char *value = text_in(row, choices[i].key);
        if (!value) {
            return -1;
        }
        if (strcmp(value, choices[i].value) == 0) {
            point->options = (uint16_t)(point->options | choices[i].option);
        }
    }
    point->asks = strcmp(text_in(row, "ends"), "asks") == 0;
    return 0;
}

static int read_name(PyObject *row, struct hook_point *point)
{
    const char *text = text_in(row, "name");
    const char *prefix = text_in(row, "prefix");
    const char *object = text_in(row, "of");
    PyObject *attribute = PyDict_GetItemString(row, "attribute");
    const int stage = WORD_IN(row, "stage", stages);
    const int role = WORD_IN(row, "role", roles);
    const int scope = WORD_IN(row, "scope", scopes);
    if (!text || !prefix || !object || stage < 0 || role < 0 || scope < 0) {
        return -1;
    }
    point->is_comm = stage == SS_STAGE_COMM;
    point->is_data = stage == SS_STAGE_DATA || role == SS_ROLE_TRAIN_CALL;
    if (!(point->options & (HOOK_BY_TYPE | HOOK_BY_INSTANCE | HOOK_BY_ATTRIBUTE))) {
        point->name = ss_intern(text, (enum ss_stage)stage, (enum ss_role)role,
                                (enum ss_scope)scope, *object ? object : NULL);
        return 0;
    }
    point->by = hook_naming_new(text, (enum ss_stage)stage, (enum ss_role)role,
                                (enum ss_scope)scope);
    if (!point->by) {
        PyErr_NoMemory();
        return -1;
    }
    if (!(point->options & HOOK_BY_ATTRIBUTE)) {
        return 0;
    }
    if (!attribute || !PyUnicode_Check(attribute)) {
        PyErr_SetString(PyExc_ValueError, "'attribute' must name one");
        return -1;
    }
    return hook_naming_filter(point->by, attribute, prefix);
}

/* "named_after": which argument; "caller": a variable of the calling function, "caller_module": the
 * dictionary of a module whose functions begin one scope each. */
static int read_whose(PyObject *row, struct hook_point *point)
{
    PyObject *argument = PyDict_GetItemString(row, "named_after");
    PyObject *caller = PyDict_GetItemString(row, "caller");
    if ((argument || caller) && !point->by) {
        PyErr_SetString(PyExc_ValueError, "'whose' needs 'object'");
        return -1;
    }
    if (caller) {
        hook_naming_from_caller(point->by, caller,
                                PyDict_GetItemString(row, "caller_module"));
    }
    point->named_after = argument ? (int)PyLong_AsLong(argument) : 0;
    return PyErr_Occurred() ? -1 : 0;
}

/* "moves": the attribute that says of an object whether it is on the host. */
static int read_moves(PyObject *row, struct hook_point *point)
{
    PyObject *at_home = PyDict_GetItemString(row, "moves");
    const char *text = text_in(row, "name");
    if (!at_home || !text) {
        return text ? 0 : -1;
    }
    point->at_home = Py_NewRef(at_home);
    point->home_name = ss_intern(text, SS_STAGE_SYNC, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    point->options |= HOOK_MOVES;
    return 0;
}

/* "query": a callable. */
static int read_objects(PyObject *row, struct hook_point *point)
{
    if (hook_inform_read(row, point) != 0 || hook_wait_read(row, point) != 0 ||
        hook_samples_read(row, point) != 0 || hook_count_read(row, point) != 0) {
        return -1;
    }
    PyObject *query = PyDict_GetItemString(row, "query");
    if (query) {
        point->query = Py_NewRef(query);
        point->ask =
            PyCFunction_Check(query) && PyCFunction_GET_FLAGS(query) == METH_NOARGS
                ? PyCFunction_GET_FUNCTION(query)
                : NULL;
        point->options |= HOOK_ASKS_TRAIN;
    }
    return 0;
}

/* It has no call of its own. */
static int check_end(const struct hook_point *point)
{
    const unsigned fitting = HOOK_ENDS | HOOK_OUTERMOST | HOOK_BY_TYPE |
                             HOOK_BY_INSTANCE | HOOK_BY_ATTRIBUTE | HOOK_DEVICE;
    if (point->options & HOOK_ENDS && point->options & ~fitting) {
        PyErr_SetString(PyExc_ValueError, "a row that ends a span can do nothing else");
        return -1;
    }
    return 0;
}

struct hook_point *hook_point_new(PyObject *row)
{
    struct hook_point *point = hook_memory_new(sizeof *point);
    if (!point) {
        PyErr_NoMemory();
        return NULL;
    }
    if (read_flags(row, point) || read_groups(row, point) || read_choices(row, point) ||
        read_name(row, point) || read_whose(row, point) || read_moves(row, point) ||
        read_objects(row, point) || check_end(point)) {
        hook_point_free(point);
        return NULL;
    }
    return point;
}

void hook_point_free(struct hook_point *point)
{
    hook_naming_free(point->by);
    hook_samples_free(point->samples);
    hook_count_free(point->count);
    hook_numbers_free(point->numbers);
    Py_XDECREF(point->query);
    Py_XDECREF(point->at_home);
    Py_XDECREF(point->before);
    Py_XDECREF(point->after);
    free(point);
}
