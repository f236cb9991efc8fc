/* Names that depend on the call: on the type of self, on which object it is, or on a text of it.
 *
 * A name is interned at its first call and kept by its text, never by the address of a type: types
 * come and go. Objects of one type are numbered: "Adam" is the first one of its type,
 * "Adam#2" the next. All hooks share one count, so that two that see the same object call it the
 * same. Objects are known by weak references, so that none is kept alive, and a new one where an
 * old one was is a new one. */
#ifndef PYTHON_HOOK_NAME_H
#define PYTHON_HOOK_NAME_H

#include "frames_layout.h"
#include "hook.h"

/* Texts and the attribute are copied or referenced. NULL: no memory. */
struct hook_naming *hook_naming_new(const char *text, enum ss_stage stage, enum ss_role role,
                                    enum ss_scope scope);
void hook_naming_release(struct hook_naming *naming);

/* `object="attribute"`: calls whose self.attribute starts with `prefix`; the object of the name is
 * what follows, up to a full stop. */
int hook_naming_filter(struct hook_naming *naming, PyObject *attribute, const char *prefix);

/* `whose`: the object of the name is the one that the caller has in this variable; if it has none,
 * as without this. `whose_module`, NULL or a dictionary: functions of it begin one scope each. */
void hook_naming_from_caller(struct hook_naming *naming, PyObject *whose, PyObject *whose_module);

/* What is asked of the same call: its self, and the text of it that was read last. */
struct hook_subject {
    PyObject *self;
    PyObject *attribute; /* which one that was; NULL: none yet */
    PyObject *value;     /* to be released by the caller; NULL: there is none */
};

/* Of the caller's object: whether the call comes from the function of the module that the last one
 * for this point came from: `frame` is that of the caller (frames_layout_running()). Then neither
 * the function nor, `object="attribute"`, a text need be looked at again, which takes longer than
 * all the rest. */
ATTR_HOT bool hook_naming_is_again(struct hook_naming *naming, const void *frame, ss_name *name);

/* By type or instance, of this very object; NULL has no name. */
ATTR_HOT bool hook_naming_of_object(struct hook_naming *naming, enum hook_object kind,
                                    PyObject *object, ss_name *name);

/* False: the call is not for this point. No exception is left. */
ATTR_HOT bool hook_naming_of(struct hook_naming *naming, enum hook_object kind,
                             struct hook_subject *subject, ss_name *name);

/* The local variable of the function that makes the present call; a new reference, NULL without an
 * exception if there is none. */
ATTR_HOT PyObject *hook_variable_of_caller(struct frames_variable *variable);

/* Whether a weak reference to this object still refers to it: a new one may lie where it was. */
ATTR_HOT bool hook_instance_is(PyObject *weak, const PyObject *object);

/* Starts to count objects from 1. */
void hook_instance_forget(void);

#endif
