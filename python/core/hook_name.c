#include "hook_name.h"

#include "hook_instance.h"
#include <stdlib.h>
#include <string.h>

enum { KEYS_MOST = 1024, KEY_BYTES = INSTANCE_TEXT, RECENT = 8 };

struct key { /* an object's text and the name that it makes */
    char text[KEY_BYTES];
    ss_name name;
};

struct hook_naming {
    char *text, *prefix;
    size_t prefix_bytes;
    enum ss_stage stage;
    enum ss_role role;
    enum ss_scope scope;
    PyObject *attribute;
    PyObject *caller; /* the variable of the caller that has the object, else NULL */
    struct key *keys;
    unsigned key_count;
    struct { /* where the text of a type was found last time */
        const PyTypeObject *type;
        unsigned key;
    } recent[RECENT];
};

struct hook_naming *hook_naming_new(const char *text, enum ss_stage stage,
                                    enum ss_role role, enum ss_scope scope)
{
    struct hook_naming *naming = calloc(1, sizeof *naming);
    if (!naming) {
        return NULL;
    }
    *naming = (struct hook_naming){.stage = stage, .role = role, .scope = scope};
    naming->text = strdup(text);
    if (!naming->text) {
        free(naming);
        return NULL;
    }
    return naming;
}

void hook_naming_free(struct hook_naming *naming)
{
    if (!naming) {
        return;
    }
    Py_XDECREF(naming->attribute);
    Py_XDECREF(naming->caller);
    free(naming->keys);
    free(naming->prefix);
    free(naming->text);
    free(naming);
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

void hook_naming_from_caller(struct hook_naming *naming, PyObject *variable)
{
    naming->caller = Py_NewRef(variable);
}

static ss_name intern(const struct hook_naming *naming, const char *object)
{
    return ss_intern(naming->text, naming->stage, naming->role, naming->scope, object);
}

/* The index of the key with this text, made if it is new; -1: there are too many. */
static int find_key(struct hook_naming *naming, const char *text, size_t bytes)
{
    bytes = bytes < KEY_BYTES - 1 ? bytes : KEY_BYTES - 1;
    for (unsigned i = 0; i < naming->key_count; i++) {
        const char *known = naming->keys[i].text;
        if (strncmp(known, text, bytes) == 0 && known[bytes] == '\0') {
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

static int key_of_type(struct hook_naming *naming, const PyTypeObject *type)
{
    const char *text = hook_instance_type(type);
    const size_t at = ((uintptr_t)type >> 6) % RECENT;
    if (naming->recent[at].type == type) { /* or another type where it was */
        const unsigned key = naming->recent[at].key;
        if (strncmp(naming->keys[key].text, text, KEY_BYTES - 1) == 0) {
            return (int)key;
        }
    }
    const int key = find_key(naming, text, strlen(text));
    if (key >= 0) {
        naming->recent[at].type = type;
        naming->recent[at].key = (unsigned)key;
    }
    return key;
}

static int key_of_instance(struct hook_naming *naming, PyObject *object)
{
    const char *text = hook_instance_text(object);
    return find_key(naming, text, strlen(text));
}

static int key_of_attribute(struct hook_naming *naming, PyObject *self)
{
    PyObject *value = PyObject_GetAttr(self, naming->attribute);
    Py_ssize_t bytes = 0;
    const char *text =
        value && PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, &bytes) : NULL;
    int key = -1;
    if (text && strncmp(text, naming->prefix, naming->prefix_bytes) == 0) {
        const char *object = text + naming->prefix_bytes;
        key = find_key(naming, object, strcspn(object, "."));
    }
    Py_XDECREF(value);
    PyErr_Clear();
    return key;
}

static int key_of_caller(struct hook_naming *naming)
{
    PyObject *object = hook_instance_of_caller(naming->caller);
    const int key = object ? key_of_instance(naming, object) : -1;
    Py_XDECREF(object);
    return key;
}

bool hook_naming_of(struct hook_naming *naming, unsigned options, PyObject *self,
                    ss_name *name)
{
    if (!self) {
        return false;
    }
    int at = options & HOOK_BY_ATTRIBUTE  ? key_of_attribute(naming, self)
             : options & HOOK_BY_INSTANCE ? key_of_instance(naming, self)
                                          : key_of_type(naming, Py_TYPE(self));
    if (at >= 0 && naming->caller) {
        const int found = key_of_caller(naming);
        at = found >= 0 ? found : at;
    }
    if (at >= 0) {
        *name = naming->keys[at].name;
    }
    return at >= 0;
}
