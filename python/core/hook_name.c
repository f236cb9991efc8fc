#include "hook_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"

enum { INSTANCES_MOST = 64, TYPES_MOST = 64, TYPE_TEXT = 120, COUNT_MOST = 1024 };
enum { INSTANCE_TEXT = TYPE_TEXT + 16 };
enum { KEYS_MOST = 1024, KEY_BYTES = INSTANCE_TEXT, RECENT = 9 };

/* Objects that have names of their own. */

struct instance {
    PyObject *weak;
    PyObject *object; /* only compared, and only while `weak` is alive */
    char text[INSTANCE_TEXT];
};

struct counted_type {
    char text[TYPE_TEXT];
    unsigned seen; /* objects so far */
};

/* All objects that have names of their own. */
ATTR_HOT_DATA static struct {
    unsigned counting; /* how often it was restarted */
    unsigned instance_count, type_count;
    struct instance *instances; /* INSTANCES_MOST; NULL: none was asked for */
    struct counted_type *types; /* TYPES_MOST */
} objects = {.counting = 1};

bool hook_instance_is(PyObject *weak, const PyObject *object)
{
#if PY_VERSION_HEX >= 0x030d0000
    PyObject *found = NULL;
    const bool is_it = PyWeakref_GetRef(weak, &found) == 1 && found == object;
    Py_XDECREF(found); /* the caller holds it too */
    return is_it;
#else
    return PyWeakref_GET_OBJECT(weak) == object;
#endif
}

static void drop_dead(void)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < objects.instance_count; i++)
        if (hook_instance_is(objects.instances[i].weak, objects.instances[i].object))
            objects.instances[kept++] = objects.instances[i];
        else
            Py_DECREF(objects.instances[i].weak);
    objects.instance_count = kept;
}

void hook_instance_forget(void)
{
    struct guard guard;
    guard_enter(&guard);
    while (objects.instance_count > 0)
        Py_DECREF(objects.instances[--objects.instance_count].weak);
    objects.type_count = 0;
    objects.counting++;
    guard_leave(&guard);
}

/* Without its module; valid as long as the type. */
static const char *text_of_type(const PyTypeObject *type)
{
    const char *dot = strrchr(type->tp_name, '.');
    return dot ? dot + 1 : type->tp_name;
}

/* Which one of its type a new object is; 0: too many to count. */
static unsigned count_type(const char *text)
{
    unsigned i = 0;
    while (i < objects.type_count && strncmp(objects.types[i].text, text, TYPE_TEXT - 1) != 0)
        i++;
    if (i == TYPES_MOST || (i < objects.type_count && objects.types[i].seen == COUNT_MOST))
        return 0;
    if (i == objects.type_count) {
        objects.type_count++;
        snprintf(objects.types[i].text, TYPE_TEXT, "%s", text);
        objects.types[i].seen = 0;
    }
    return ++objects.types[i].seen;
}

static bool has_room(void)
{
    if (!objects.instances)
        objects.instances = calloc(INSTANCES_MOST, sizeof *objects.instances);
    if (!objects.types)
        objects.types = calloc(TYPES_MOST, sizeof *objects.types);
    return objects.instances && objects.types && objects.instance_count < INSTANCES_MOST;
}

static const char *text_of_new(PyObject *object)
{
    const char *type = text_of_type(Py_TYPE(object));
    drop_dead();
    PyObject *weak = has_room() ? PyWeakref_NewRef(object, NULL) : NULL;
    const unsigned number = weak ? count_type(type) : 0;
    if (number == 0) {
        Py_XDECREF(weak);
        PyErr_Clear();
        return type;
    }
    char *text = objects.instances[objects.instance_count].text;
    if (number == 1)
        snprintf(text, INSTANCE_TEXT, "%.*s", TYPE_TEXT - 1, type);
    else
        snprintf(text, INSTANCE_TEXT, "%.*s#%u", TYPE_TEXT - 1, type, number);
    objects.instances[objects.instance_count].weak = weak;
    objects.instances[objects.instance_count++].object = object;
    return text;
}

/* The text of an object; one without a name of its own has that of its type. Valid until the next
 * call. No exception is left. */
ATTR_HOT static const char *text_of_object(PyObject *object)
{
    for (unsigned i = 0; i < objects.instance_count; i++)
        if (objects.instances[i].object == object &&
            hook_instance_is(objects.instances[i].weak, object))
            return objects.instances[i].text;
    return text_of_new(object);
}

/* Before 3.12 a variable can only be had with all others. */
static PyObject *variable_of(PyFrameObject *frame, PyObject *name)
{
#if PY_VERSION_HEX >= 0x030c0000
    return PyFrame_GetVar(frame, name);
#else
    PyObject *all = PyObject_GetAttrString((PyObject *)frame, "f_locals");
    PyObject *value = all ? PyObject_GetItem(all, name) : NULL;
    Py_XDECREF(all);
    return value;
#endif
}

static PyObject *find_in_caller(struct frames_variable *variable)
{
    static enum { NOT_YET, IS_RIGHT, IS_WRONG } layout; /* as far as was checked */
    PyObject *local = NULL;
    if (layout != IS_WRONG && frames_layout_local(variable, &local) && layout == IS_RIGHT)
        return local;
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    PyObject *value = frame ? variable_of(frame, variable->name) : NULL;
    Py_XDECREF((PyObject *)frame);
    PyErr_Clear();
    if (layout == NOT_YET && local)
        layout = local == value ? IS_RIGHT : IS_WRONG;
    variable->is_in_module &= layout == IS_RIGHT;
    Py_XDECREF(local);
    return value;
}

PyObject *hook_variable_of_caller(struct frames_variable *variable)
{
    struct guard guard;
    guard_enter(&guard);
    PyObject *value = find_in_caller(variable);
    guard_leave(&guard);
    return value;
}

/* Names. */

struct key { /* an object's text and the name that it makes */
    char text[KEY_BYTES];
    ss_name name;
};

/* What was named last: found again without a look at texts. */
struct recent {
    const void *what; /* a type or an object */
    PyObject *weak;   /* of an object: refers to it as long as it is the same */
    /* Of a type: no other has it, 0: it has none. Of an object: of the counting. */
    unsigned version;
    ss_name name;
};

/* The first line of the cache is all that a call needs, if there is one object to name. */
struct hook_naming {
    struct frames_variable caller; /* what has the object there; without a name: nothing */
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

struct hook_naming *hook_naming_new(const char *text, enum ss_stage stage, enum ss_role role,
                                    enum ss_scope scope)
{
    struct hook_naming *naming = hook_memory_new(sizeof *naming);
    if (!naming)
        return NULL;
    *naming = (struct hook_naming){.stage = stage, .role = role, .scope = scope};
    naming->text = strdup(text);
    if (!naming->text)
        return NULL;
    return naming;
}

void hook_naming_release(struct hook_naming *naming)
{
    if (!naming)
        return;
    for (unsigned i = 0; i < RECENT; i++)
        Py_XDECREF(naming->recent[i].weak);
    Py_XDECREF(naming->attribute);
    frames_layout_release(&naming->caller);
    free(naming->keys);
    free(naming->prefix);
    free(naming->text);
}

int hook_naming_filter(struct hook_naming *naming, PyObject *attribute, const char *prefix)
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

void hook_naming_from_caller(struct hook_naming *naming, PyObject *whose, PyObject *whose_module)
{
    naming->caller.name = Py_NewRef(whose);
    naming->caller.module = Py_XNewRef(whose_module);
}

static ss_name intern(const struct hook_naming *naming, const char *object)
{
    return ss_intern(naming->text, naming->stage, naming->role, naming->scope, object);
}

/* Between two calls nothing of ours is in a cache, nor is what others have in libraries: a loop
 * over some bytes is faster than a call. */
static bool starts_with(const char *text, const char *start, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (text[i] != start[i])
            return false;
    return true;
}

/* The index of the key with this text, made if it is new; -1: there are too many. */
ATTR_HOT static int find_key(struct hook_naming *naming, const char *text, size_t bytes)
{
    bytes = bytes < KEY_BYTES - 1 ? bytes : KEY_BYTES - 1;
    for (unsigned i = 0; i < naming->key_count; i++) {
        const char *known = naming->keys[i].text;
        if (starts_with(known, text, bytes) && known[bytes] == '\0')
            return (int)i;
    }
    struct key *more = naming->key_count < KEYS_MOST
                           ? realloc(naming->keys, (naming->key_count + 1) * sizeof *more)
                           : NULL;
    if (!more)
        return -1;
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
    if (LIKELY(first->what == what || !first->what))
        return first;
    return first + 1 + ((uintptr_t)what >> 6) % (RECENT - 1);
}

static bool name_by_text(struct hook_naming *naming, const char *text, size_t bytes, ss_name *name)
{
    const int key = find_key(naming, text, bytes);
    if (key >= 0)
        *name = naming->keys[key].name;
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
    const char *text = text_of_type(type);
    if (!name_by_text(naming, text, strlen(text), name))
        return false;
    Py_CLEAR(recent->weak);
    *recent = (struct recent){.what = type, .version = version, .name = *name};
    return true;
}

ATTR_HOT static bool name_by_instance(struct hook_naming *naming, PyObject *object, ss_name *name)
{
    struct recent *recent = recent_of(naming, object);
    if (recent->what == object && recent->version == objects.counting && recent->weak &&
        hook_instance_is(recent->weak, object)) {
        *name = recent->name;
        return true;
    }
    const char *text = text_of_object(object);
    if (!name_by_text(naming, text, strlen(text), name))
        return false;
    if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)))
        return true;
    Py_XSETREF(recent->weak, PyWeakref_NewRef(object, NULL));
    PyErr_Clear();
    recent->what = object;
    recent->version = objects.counting;
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
static const char *text_in_subject(struct hook_subject *subject, PyObject *attribute, size_t *bytes)
{
    if (subject->attribute != attribute) {
        Py_CLEAR(subject->value);
        subject->attribute = attribute;
        if (find_attribute(subject->self, attribute, &subject->value) < 0)
            PyErr_Clear();
    }
    PyObject *value = subject->value;
    if (!value || !PyUnicode_Check(value))
        return NULL;
    if (LIKELY(PyUnicode_IS_COMPACT_ASCII(value))) {
        *bytes = (size_t)PyUnicode_GET_LENGTH(value);
        return PyUnicode_DATA(value);
    }
    Py_ssize_t length = 0;
    const char *text = PyUnicode_AsUTF8AndSize(value, &length);
    *bytes = (size_t)length;
    if (!text)
        PyErr_Clear();
    return text;
}

ATTR_HOT static bool name_by_caller(struct hook_naming *naming, ss_name *name)
{
    PyObject *object = naming->caller.name ? hook_variable_of_caller(&naming->caller) : NULL;
    const bool has_name = object && name_by_instance(naming, object, name);
    Py_XDECREF(object);
    return has_name;
}

static bool name_by_attribute(struct hook_naming *naming, struct hook_subject *subject,
                              ss_name *name)
{
    size_t bytes = 0;
    const char *text = text_in_subject(subject, naming->attribute, &bytes);
    if (!text || bytes < naming->prefix_bytes ||
        !starts_with(text, naming->prefix, naming->prefix_bytes))
        return false;
    const size_t start = naming->prefix_bytes;
    size_t end = start;
    while (end < bytes && text[end] != '.')
        end++;
    return name_by_caller(naming, name) || name_by_text(naming, text + start, end - start, name);
}

bool hook_naming_is_again(struct hook_naming *naming, const void *frame, ss_name *name)
{
    struct guard guard;
    guard_enter(&guard);
    PyObject *object = Py_XNewRef(frames_layout_again(&naming->caller, frame));
    const bool has_name = object && name_by_instance(naming, object, name);
    guard_leave(&guard);
    Py_XDECREF(object);
    return has_name;
}

bool hook_naming_of_object(struct hook_naming *naming, enum hook_object kind, PyObject *object,
                           ss_name *name)
{
    struct guard guard;
    if (!object)
        return false;
    guard_enter(&guard);
    const bool has_name = kind == HOOK_OBJECT_INSTANCE
                              ? name_by_instance(naming, object, name)
                              : name_by_type(naming, Py_TYPE(object), name);
    guard_leave(&guard);
    return has_name;
}

static bool name_it(struct hook_naming *naming, enum hook_object kind, struct hook_subject *subject,
                    ss_name *name)
{
    if (kind == HOOK_OBJECT_ATTRIBUTE)
        return name_by_attribute(naming, subject, name);
    return name_by_caller(naming, name) || hook_naming_of_object(naming, kind, subject->self, name);
}

bool hook_naming_of(struct hook_naming *naming, enum hook_object kind, struct hook_subject *subject,
                    ss_name *name)
{
    struct guard guard;
    if (!subject->self)
        return false;
    guard_enter(&guard);
    const bool has_name = name_it(naming, kind, subject, name);
    guard_leave(&guard);
    return has_name;
}
