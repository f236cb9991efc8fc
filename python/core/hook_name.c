#include "hook_name.h"

#include "hook_instance.h"
#include "hook_memory.h"
#include <stdlib.h>
#include <string.h>

enum { KEYS_MOST = 1024, KEY_BYTES = INSTANCE_TEXT, RECENT = 9 };

struct key { /* an object's text and the name that it makes */
    char text[KEY_BYTES];
    ss_name name;
};

/* What was named last: found again without a look at texts. */
struct recent {
    const void *what; /* a type or an object */
    PyObject *weak;   /* of an object: refers to it as long as it is the same */
    unsigned
        version; /* of a type: no other has it, 0: it has none; of an object: of the counting */
    ss_name name;
};

/* The first line of the cache is all that a call needs, if there is one object to name. */
struct hook_naming {
    struct frames_variable
        caller; /* what has the object there; without a name: nothing */
    struct recent recent[RECENT];
    char *text, *prefix;
    size_t prefix_bytes;
    enum ss_stage stage;
    enum ss_role role;
    enum ss_scope scope;
    PyObject *attribute;
    struct key *keys;
    unsigned key_count;
};

struct hook_naming *hook_naming_new(const char *text, enum ss_stage stage,
                                    enum ss_role role, enum ss_scope scope)
{
    struct hook_naming *naming = hook_memory_new(sizeof *naming);
    if (!naming) {
        return NULL;
    }
    *naming = (struct hook_naming){.stage = stage, .role = role, .scope = scope};
    naming->text = strdup(text);
    if (!naming->text) {
        return NULL;
    }
    return naming;
}

void hook_naming_release(struct hook_naming *naming)
{
    if (!naming) {
        return;
    }
    for (unsigned i = 0; i < RECENT; i++) {
        Py_XDECREF(naming->recent[i].weak);
    }
    Py_XDECREF(naming->attribute);
    frames_layout_release(&naming->caller);
    free(naming->keys);
    free(naming->prefix);
    free(naming->text);
}

int hook_naming_filter(struct hook_naming *naming, PyObject *attribute,
                       const char *prefix)
{
    naming->prefix = strdup(prefix);
    if (!naming->prefix) {
        PyErr_NoMemory();
        return -1;
    }
    naming->prefix_bytes = strlen(prefix);
    naming->attribute = Py_NewRef(attribute);
    return 0;
}

void hook_naming_from_caller(struct hook_naming *naming, PyObject *variable,
                             PyObject *module)
{
    naming->caller.name = Py_NewRef(variable);
    naming->caller.module = Py_XNewRef(module);
}

static ss_name intern(const struct hook_naming *naming, const char *object)
{
    return ss_intern(naming->text, naming->stage, naming->role, naming->scope, object);
}

/* Between two calls nothing of ours is in a cache, nor is what others have in libraries: a loop over
 * some bytes is faster than a call. */
static bool starts_with(const char *text, const char *start, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] != start[i]) {
            return false;
        }
    }
    return true;
}

/* The index of the key with this text, made if it is new; -1: there are too many. */
ATTR_HOT static int find_key(struct hook_naming *naming, const char *text, size_t bytes)
{
    bytes = bytes < KEY_BYTES - 1 ? bytes : KEY_BYTES - 1;
    for (unsigned i = 0; i < naming->key_count; i++) {
        const char *known = naming->keys[i].text;
        if (starts_with(known, text, bytes) && known[bytes] == '\0') {
            return (int)i;
        }
    }
    struct key *more = naming->key_count < KEYS_MOST
                           ? realloc(naming->keys, (naming->key_count + 1) * sizeof *more)
                           : NULL;
    if (!more) {
        return -1;
    }
    naming->keys = more;
    struct key *key = &more[naming->key_count];
    memset(key, 0, sizeof *key);
    memcpy(key->text, text, bytes);
    key->name = intern(naming, key->text);
    return (int)naming->key_count++;
}

/* Where it is, or may be put: the first one that was named has a place of its own. */
static struct recent *recent_of(struct hook_naming *naming, const void *what)
{
    struct recent *first = &naming->recent[0];
    if (LIKELY(first->what == what || !first->what)) {
        return first;
    }
    return first + 1 + ((uintptr_t)what >> 6) % (RECENT - 1);
}

static bool name_by_text(struct hook_naming *naming, const char *text, size_t bytes,
                         ss_name *name)
{
    const int key = find_key(naming, text, bytes);
    if (key >= 0) {
        *name = naming->keys[key].name;
    }
    return key >= 0;
}

/* One that is renamed keeps the name of its first call. */
ATTR_HOT static bool name_by_type(struct hook_naming *naming, const PyTypeObject *type,
                                  ss_name *name)
{
    struct recent *recent = recent_of(naming, type);
    const unsigned version = type->tp_version_tag;
    if (recent->what == type && recent->version == version && version != 0) {
        *name = recent->name;
        return true;
    }
    const char *text = hook_instance_type(type);
    if (!name_by_text(naming, text, strlen(text), name)) {
        return false;
    }
    Py_CLEAR(recent->weak);
    *recent = (struct recent){.what = type, .version = version, .name = *name};
    return true;
}

ATTR_HOT static bool name_by_instance(struct hook_naming *naming, PyObject *object,
                                      ss_name *name)
{
    struct recent *recent = recent_of(naming, object);
    if (recent->what == object && recent->version == hook_instance_counts &&
        recent->weak && hook_instance_is(recent->weak, object)) {
        *name = recent->name;
        return true;
    }
    const char *text = hook_instance_text(object);
    if (!name_by_text(naming, text, strlen(text), name)) {
        return false;
    }
    if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) {
        return true;
    }
    Py_XSETREF(recent->weak, PyWeakref_NewRef(object, NULL));
    PyErr_Clear();
    recent->what = object;
    recent->version = hook_instance_counts;
    recent->name = *name;
    return true;
}

/* To raise what is then forgotten takes longer than all the rest. */
#if PY_VERSION_HEX >= 0x030d0000
#define find_attribute PyObject_GetOptionalAttr
#else
#define find_attribute _PyObject_LookupAttr
#endif

/* The text of an attribute; NULL without an exception if it has none. */
static const char *text_of(struct hook_subject *subject, PyObject *attribute,
                           size_t *bytes)
{
    if (subject->attribute != attribute) {
        Py_CLEAR(subject->value);
        subject->attribute = attribute;
        if (find_attribute(subject->self, attribute, &subject->value) < 0) {
            PyErr_Clear();
        }
    }
    PyObject *value = subject->value;
    if (!value || !PyUnicode_Check(value)) {
        return NULL;
    }
    if (LIKELY(PyUnicode_IS_COMPACT_ASCII(value))) {
        *bytes = (size_t)PyUnicode_GET_LENGTH(value);
        return PyUnicode_DATA(value);
    }
    Py_ssize_t length = 0;
    const char *text = PyUnicode_AsUTF8AndSize(value, &length);
    *bytes = (size_t)length;
    if (!text) {
        PyErr_Clear();
    }
    return text;
}

ATTR_HOT static bool name_by_caller(struct hook_naming *naming, ss_name *name)
{
    PyObject *object =
        naming->caller.name ? hook_instance_of_caller(&naming->caller) : NULL;
    const bool has_name = object && name_by_instance(naming, object, name);
    Py_XDECREF(object);
    return has_name;
}

static bool name_by_attribute(struct hook_naming *naming, struct hook_subject *subject,
                              ss_name *name)
{
    size_t bytes = 0;
    const char *text = text_of(subject, naming->attribute, &bytes);
    if (!text || bytes < naming->prefix_bytes ||
        !starts_with(text, naming->prefix, naming->prefix_bytes)) {
        return false;
    }
    const size_t start = naming->prefix_bytes;
    size_t end = start;
    while (end < bytes && text[end] != '.') {
        end++;
    }
    return name_by_caller(naming, name) ||
           name_by_text(naming, text + start, end - start, name);
}

bool hook_naming_is_again(struct hook_naming *naming, const void *frame, ss_name *name)
{
    PyObject *object = Py_XNewRef(frames_layout_again(&naming->caller, frame));
    const bool has_name = object && name_by_instance(naming, object, name);
    Py_XDECREF(object);
    return has_name;
}

bool hook_naming_of_object(struct hook_naming *naming, unsigned options, PyObject *object,
                           ss_name *name)
{
    if (!object) {
        return false;
    }
    return options & HOOK_BY_INSTANCE ? name_by_instance(naming, object, name)
                                      : name_by_type(naming, Py_TYPE(object), name);
}

bool hook_naming_of(struct hook_naming *naming, unsigned options,
                    struct hook_subject *subject, ss_name *name)
{
    PyObject *self = subject->self;
    if (!self) {
        return false;
    }
    if (options & HOOK_BY_ATTRIBUTE) {
        return name_by_attribute(naming, subject, name);
    }
    return name_by_caller(naming, name) ||
           hook_naming_of_object(naming, options, self, name);
}
