#include "hook_point.h"

#include "hook_count.h"
#include "hook_inform.h"
#include "hook_memory.h"
#include "hook_name.h"
#include "hook_numbers.h"
#include "hook_samples.h"
#include "hook_wait.h"
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MOST = 63 };

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
    hook_condition = *word ? 1u << bit : 0;
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
    const char *never_in = text_in(row, "never_in");
    uint64_t inside = 0;
    point->shut = HOOK_NEVER_OPEN;
    if (!group || !numbers || !never_in ||
        (*group && find_group(group, &point->group) != 0) ||
        (*numbers && find_group(numbers, &inside) != 0) ||
        (*never_in && find_group(never_in, &point->never_in) != 0)) {
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
        point->is_callers = true;
        hook_naming_from_caller(point->by, caller,
                                PyDict_GetItemString(row, "caller_module"));
    }
    point->named_after = argument ? (int16_t)PyLong_AsLong(argument) : 0;
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

/* Known once, so that a call need not ask for each. */
static void find_simple(struct hook_point *point)
{
    const unsigned more_at_begin =
        HOOK_BY_ATTRIBUTE | HOOK_BEGINS | HOOK_ENDS | HOOK_INFORMS | HOOK_SILENT;
    const unsigned more_at_end = HOOK_BEGINS | HOOK_ENDS | HOOK_COUNTS | HOOK_NONE_ENDS |
                                 HOOK_MOVES | HOOK_INFORMS;
    point->begins_simply = !(point->options & more_at_begin) && !point->numbers &&
                           !point->counts_batches && !point->is_callers;
    point->ends_simply =
        !(point->options & more_at_end) && !point->numbers && !point->samples;
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
        hook_point_release(point);
        return NULL;
    }
    find_simple(point);
    return point;
}

void hook_point_release(struct hook_point *point)
{
    hook_naming_release(point->by);
    hook_samples_release(point->samples);
    hook_count_release(point->count);
    hook_numbers_release(point->numbers);
    Py_XDECREF(point->query);
    Py_XDECREF(point->at_home);
    Py_XDECREF(point->before);
    Py_XDECREF(point->after);
}
