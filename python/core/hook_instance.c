#include "hook_instance.h"

#include <stdio.h>
#include <string.h>

enum { INSTANCES_MOST = 64, TYPES_MOST = 64, TYPE_TEXT = 120, COUNT_MOST = 1024 };

static struct {
    PyObject *weak;
    PyObject *object; /* only compared, and only while `weak` is alive */
    char text[INSTANCE_TEXT];
} instances[INSTANCES_MOST];
static unsigned instance_count;

static struct {
    char text[TYPE_TEXT];
    unsigned seen; /* objects so far */
} types[TYPES_MOST];
static unsigned type_count;
ATTR_HOT_DATA unsigned hook_instance_counts = 1;

bool hook_instance_is(PyObject *weak, const PyObject *object)
{
#if PY_VERSION_HEX >= 0x030d0000
    PyObject *found = NULL;
    const bool is_it = PyWeakref_GetRef(weak, &found) == 1 && found == object;
    Py_XDECREF(found); /* whoever called has it too */
    return is_it;
#else
    return PyWeakref_GET_OBJECT(weak) == object;
#endif
}

static void drop_dead(void)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < instance_count; i++) {
        if (hook_instance_is(instances[i].weak, instances[i].object)) {
            instances[kept++] = instances[i];
        } else {
            Py_DECREF(instances[i].weak);
        }
    }
    instance_count = kept;
}

void hook_instance_forget(void)
{
    while (instance_count > 0) {
        Py_DECREF(instances[--instance_count].weak);
    }
    type_count = 0;
    hook_instance_counts++;
}

const char *hook_instance_type(const PyTypeObject *type)
{
    const char *dot = strrchr(type->tp_name, '.');
    return dot ? dot + 1 : type->tp_name;
}

/* Which one of its type a new object is; 0: too many to count. */
static unsigned count_type(const char *text)
{
    unsigned i = 0;
    while (i < type_count && strncmp(types[i].text, text, TYPE_TEXT - 1) != 0) {
        i++;
    }
    if (i == TYPES_MOST || (i < type_count && types[i].seen == COUNT_MOST)) {
        return 0;
    }
    if (i == type_count) {
        type_count++;
        snprintf(types[i].text, TYPE_TEXT, "%s", text);
        types[i].seen = 0;
    }
    return ++types[i].seen;
}

static const char *text_of_new(PyObject *object)
{
    const char *type = hook_instance_type(Py_TYPE(object));
    drop_dead();
    PyObject *weak =
        instance_count < INSTANCES_MOST ? PyWeakref_NewRef(object, NULL) : NULL;
    const unsigned number = weak ? count_type(type) : 0;
    if (number == 0) {
        Py_XDECREF(weak);
        PyErr_Clear();
        return type;
    }
    char *text = instances[instance_count].text;
    if (number == 1) {
        snprintf(text, INSTANCE_TEXT, "%.*s", TYPE_TEXT - 1, type);
    } else {
        snprintf(text, INSTANCE_TEXT, "%.*s#%u", TYPE_TEXT - 1, type, number);
    }
    instances[instance_count].weak = weak;
    instances[instance_count++].object = object;
    return text;
}

const char *hook_instance_text(PyObject *object)
{
    for (unsigned i = 0; i < instance_count; i++) {
        if (instances[i].object == object &&
            hook_instance_is(instances[i].weak, object)) {
            return instances[i].text;
        }
    }
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

PyObject *hook_instance_of_caller(struct frames_variable *variable)
{
    static enum { NOT_YET, IS_RIGHT, IS_WRONG } layout; /* as far as was checked */
    PyObject *local = NULL;
    if (layout != IS_WRONG && frames_layout_local(variable, &local) &&
        layout == IS_RIGHT) {
        return local;
    }
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    PyObject *value = frame ? variable_of(frame, variable->name) : NULL;
    Py_XDECREF((PyObject *)frame);
    PyErr_Clear();
    if (layout == NOT_YET && local) {
        layout = local == value ? IS_RIGHT : IS_WRONG;
    }
    variable->is_in_module &= layout == IS_RIGHT;
    Py_XDECREF(local);
    return value;
}
