/* Reads a row of an adapter, which is a dictionary with the words of stepscope/_hooks.py. */
#include <stdlib.h>
#include <string.h>

#include "hook_extras.h"
#include "hook_name.h"

enum { GROUPS_MOST = 63 };

#define WORD_OF_STAGE(id, number, text, meaning) [number] = text,
#define WORD_OF(id, number, text) [number] = text,
static const char *const stages[] = {SS_STAGES(WORD_OF_STAGE)};
static const char *const roles[] = {SS_ROLES(WORD_OF)};
static const char *const scopes[] = {SS_SCOPES(WORD_OF)};
static const char *const flags_by_bit[] = {SS_FLAGS(WORD_OF)};
static const char *const objects[] = {"", "type", "instance", "attribute"}; /* enum hook_object */
static const char *const parts[] = {"", "begin", "end"};                    /* enum hook_part */
static const char *const layers[] = {"", "modules", "backward", "update"};  /* hook_layers_of */
static const char *const tells[] = {"", "duration_us", "batch", "asks"};    /* enum hook_tells */

/* In the order in which they enter; they leave in the reverse one. */
static const struct hook_extra *const extras[] = {
    &hook_numbers, &hook_moves,  &hook_samples, &hook_count, &hook_count_batches,
    &hook_updates, &hook_notify, &hook_comm,    &hook_waits, &hook_device,
    &hook_pair,    &hook_layers, &hook_windows,
};
enum { EXTRAS = sizeof extras / sizeof *extras };

void *hook_memory_new(size_t bytes)
{
    enum { PAGE = 4096, CHUNK = 16 * PAGE };
    static unsigned char *unused; /* of the last chunk */
    static size_t left;           /* bytes of that */
    const size_t whole = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    if (whole > CHUNK)
        return NULL;
    if (left < whole) {
        unsigned char *more = aligned_alloc(PAGE, CHUNK);
        if (!more)
            return NULL;
        unused = memset(more, 0, CHUNK);
        left = CHUNK;
    }
    void *made = unused;
    unused += whole;
    left -= whole;
    return made;
}

/* The text of a key, "" if there is none; NULL with an exception. */
static const char *text_in(PyObject *row, const char *key)
{
    PyObject *value = PyDict_GetItemString(row, key);
    return value ? PyUnicode_AsUTF8(value) : "";
}

static int find_word(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return (int)i;
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

int hook_set_condition(const char *word)
{
    const int bit = *word ? FIND_WORD(word, flags_by_bit) : 0;
    if (bit < 0)
        return -1;
    hook_put_condition(HOOK_CONDITION_ADAPTER, *word ? 1u << bit : 0);
    return 0;
}

void hook_put_condition(enum hook_condition_of whose, unsigned flags)
{
    static unsigned conditions[HOOK_CONDITIONS]; /* each has its own */
    conditions[whose] = flags;
    unsigned all = 0;
    for (unsigned i = 0; i < HOOK_CONDITIONS; i++)
        all |= conditions[i];
    hook_state.condition = all;
}

static int read_flags(PyObject *row, struct hook_point *point)
{
    PyObject *list = PyDict_GetItemString(row, "flags");
    for (Py_ssize_t i = 0; list && i < PyTuple_Size(list); i++) {
        const char *word = PyUnicode_AsUTF8(PyTuple_GET_ITEM(list, i));
        const int bit = word ? FIND_WORD(word, flags_by_bit) : -1;
        if (bit < 0)
            return -1;
        point->flags = (uint16_t)(point->flags | 1u << bit);
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* A group is made by its first row. */
int hook_group_read(PyObject *row, const char *key, uint64_t *bit)
{
    static char *groups[GROUPS_MOST]; /* the texts of the bits */
    const char *group = text_in(row, key);
    unsigned i = 0;
    *bit = 0;
    if (!group || !*group)
        return group ? 0 : -1;
    while (i < GROUPS_MOST && groups[i] && strcmp(groups[i], group) != 0)
        i++;
    if (i < GROUPS_MOST && !groups[i])
        groups[i] = strdup(group);
    if (i == GROUPS_MOST || !groups[i]) {
        PyErr_SetString(PyExc_ValueError, "too many groups");
        return -1;
    }
    *bit = (uint64_t)1 << i;
    return 0;
}

static int read_groups(PyObject *row, struct hook_point *point)
{
    if (hook_group_read(row, "outermost", &point->outermost) != 0 ||
        hook_group_read(row, "never_in", &point->never_in) != 0)
        return -1;
    point->all_outermost = point->outermost ? point->outermost : HOOK_NEVER_OPEN;
    return 0;
}

static int read_words(PyObject *row, struct hook_point *point)
{
    const int object = WORD_IN(row, "object", objects);
    const int part = WORD_IN(row, "part", parts);
    const int told = WORD_IN(row, "tells", tells);
    const int layers_of = WORD_IN(row, "layers", layers);
    if (object < 0 || part < 0 || told < 0 || layers_of < 0)
        return -1;
    point->layers = (uint8_t)layers_of;
    point->object = (uint8_t)object;
    point->part = (uint8_t)part;
    point->tells = (uint8_t)told;
    return 0;
}

static int read_name(PyObject *row, struct hook_point *point)
{
    const char *text = text_in(row, "name");
    const char *prefix = text_in(row, "prefix");
    const char *of = text_in(row, "of");
    const char *stage_word = text_in(row, "stage");
    PyObject *attribute = PyDict_GetItemString(row, "attribute");
    const int stage = WORD_IN(row, "stage", stages);
    const int role = WORD_IN(row, "role", roles);
    const int scope = WORD_IN(row, "scope", scopes);
    if (!text || !prefix || !of || stage < 0 || role < 0 || scope < 0)
        return -1;
    point->is_recorded = *stage_word;
    point->is_data = stage == SS_STAGE_DATA || role == SS_ROLE_TRAIN_CALL;
    if (!point->object) {
        point->name = ss_intern(text, (enum ss_stage)stage, (enum ss_role)role,
                                (enum ss_scope)scope, *of ? of : NULL);
        return 0;
    }
    point->naming =
        hook_naming_new(text, (enum ss_stage)stage, (enum ss_role)role, (enum ss_scope)scope);
    if (!point->naming) {
        PyErr_NoMemory();
        return -1;
    }
    if (point->object != HOOK_OBJECT_ATTRIBUTE)
        return 0;
    if (!attribute || !PyUnicode_Check(attribute)) {
        PyErr_SetString(PyExc_ValueError, "'attribute' must name one");
        return -1;
    }
    return hook_naming_filter(point->naming, attribute, prefix);
}

/* An argument by its number, or a variable of the caller by its name; `whose_module` is the
 * dictionary of a module. */
static int read_whose(PyObject *row, struct hook_point *point)
{
    PyObject *whose = PyDict_GetItemString(row, "whose");
    if (!whose)
        return 0;
    if (!point->naming) {
        PyErr_SetString(PyExc_ValueError, "'whose' needs 'object'");
        return -1;
    }
    if (PyUnicode_Check(whose)) {
        point->whose = HOOK_WHOSE_CALLER;
        hook_naming_from_caller(point->naming, whose, PyDict_GetItemString(row, "whose_module"));
        return 0;
    }
    const long argument = PyLong_AsLong(whose);
    if (argument < 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "'whose' is no argument");
    point->whose = (int16_t)argument;
    return PyErr_Occurred() ? -1 : 0;
}

/* A callable. */
static int read_query(PyObject *row, struct hook_point *point)
{
    PyObject *query = PyDict_GetItemString(row, "query");
    point->query = Py_XNewRef(query);
    point->query_function =
        query && PyCFunction_Check(query) && PyCFunction_GET_FLAGS(query) == METH_NOARGS
            ? PyCFunction_GET_FUNCTION(query)
            : NULL;
    return 0;
}

/* `has` is by index of `extras`. */
static int read_extras(PyObject *row, struct hook_point *point, bool *has)
{
    for (unsigned i = 0; i < EXTRAS; i++) {
        const int found = extras[i]->read(row, point);
        if (found < 0 || PyErr_Occurred())
            return -1;
        has[i] = found;
    }
    return 0;
}

/* The call that ends a span has none of its own. */
static int check_end(const struct hook_point *point, const bool *has)
{
    bool fits = point->is_recorded && !point->query && !point->tells;
    for (unsigned i = 0; i < EXTRAS; i++)
        fits &= !has[i] || extras[i] == &hook_device || extras[i] == &hook_comm;
    if (point->part != HOOK_PART_END || fits)
        return 0;
    PyErr_SetString(PyExc_ValueError, "a row that ends a span can do nothing else");
    return -1;
}

/* Puts the extras into the lists of the point: those to leave from the last one on. */
static void arrange(struct hook_point *point, const bool *has)
{
    unsigned enters[2] = {0}, leaves[2] = {0};
    for (unsigned i = 0; i < EXTRAS; i++) {
        const struct hook_extra *extra = extras[i];
        if (has[i] && extra->enter)
            (extra->is_outer ? point->enter_outer : point->enter_inner)[enters[extra->is_outer]++] =
                extra->enter;
    }
    for (unsigned i = EXTRAS; i-- > 0;) {
        const struct hook_extra *extra = extras[i];
        if (has[i] && extra->leave)
            (extra->is_outer ? point->leave_outer : point->leave_inner)[leaves[extra->is_outer]++] =
                extra->leave;
    }
}

/* Known once, so that a call need not ask for each. */
static void find_plain(struct hook_point *point, const bool *has)
{
    const bool is_whole = point->part == HOOK_PART_WHOLE;
    point->is_name_only = is_whole && point->is_recorded && !point->object && !point->tells &&
                          !point->flags && !point->outermost && !point->query;
    point->enters_plainly = is_whole && point->is_recorded &&
                            point->object != HOOK_OBJECT_ATTRIBUTE &&
                            point->whose != HOOK_WHOSE_CALLER;
    point->leaves_plainly = is_whole;
    for (unsigned i = 0; i < EXTRAS; i++) {
        const struct hook_extra *extra = extras[i];
        if (!has[i])
            continue;
        point->is_name_only &= extra == &hook_comm; /* which is by the stage */
        point->enters_plainly &= !extra->enter || extra->is_switched;
        point->leaves_plainly &= !extra->leave || extra->is_switched;
    }
}

struct hook_point *hook_point_new(PyObject *row)
{
    bool has[EXTRAS];
    struct hook_point *point = hook_memory_new(sizeof *point);
    if (!point) {
        PyErr_NoMemory();
        return NULL;
    }
    if (read_flags(row, point) || read_groups(row, point) || read_words(row, point) ||
        read_name(row, point) || read_whose(row, point) || read_query(row, point) ||
        read_extras(row, point, has) || check_end(point, has)) {
        hook_point_release(point);
        return NULL;
    }
    arrange(point, has);
    find_plain(point, has);
    return point;
}

void hook_point_release(struct hook_point *point)
{
    for (unsigned i = 0; i < EXTRAS; i++)
        if (extras[i]->release)
            extras[i]->release(point);
    hook_naming_release(point->naming);
    Py_XDECREF(point->query);
}
