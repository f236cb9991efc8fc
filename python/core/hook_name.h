/* Names that depend on the call: on the type of self, on which object it is, or on a text of it.
 *
 * A name is interned at its first call and kept by its text, never by the address of a type: types
 * come and go. */
#ifndef PYTHON_HOOK_NAME_H
#define PYTHON_HOOK_NAME_H

#include "hook.h"

/* Texts and the attribute are copied or referenced. NULL: no memory. */
struct hook_naming *hook_naming_new(const char *text, enum ss_stage stage,
                                    enum ss_role role, enum ss_scope scope);
void hook_naming_release(struct hook_naming *naming);

/* BY_ATTRIBUTE: calls whose self.attribute starts with `prefix`; the object of the name is what
 * follows, up to a full stop. */
int hook_naming_filter(struct hook_naming *naming, PyObject *attribute,
                       const char *prefix);

/* The object of the name is the one that the caller has in this variable; if it has none, as
 * without this. `module`, NULL or a dictionary: functions of it begin one scope each. */
void hook_naming_from_caller(struct hook_naming *naming, PyObject *variable,
                             PyObject *module);

/* What is asked of the same call: its self, and the text of it that was read last. */
struct hook_subject {
    PyObject *self;
    PyObject *attribute; /* which one that was; NULL: none yet */
    PyObject *value;     /* to be released by whoever asks; NULL: there is none */
};

/* Of the caller's object: whether the call comes from the function of the module that the last one for this
 * point came from: `frame` is that of the caller (frames_layout_running()). Then neither the function nor, BY_ATTRIBUTE,
 * a text need be looked at again, which takes longer than all the rest. */
ATTR_HOT bool hook_naming_is_again(struct hook_naming *naming, const void *frame,
                                   ss_name *name);

/* BY_TYPE and BY_INSTANCE, of this very object; NULL has no name. */
ATTR_HOT bool hook_naming_of_object(struct hook_naming *naming, unsigned options,
                                    PyObject *object, ss_name *name);

/* False: the call is not for this point. No exception is left. */
ATTR_HOT bool hook_naming_of(struct hook_naming *naming, unsigned options,
                             struct hook_subject *subject, ss_name *name);

#endif
