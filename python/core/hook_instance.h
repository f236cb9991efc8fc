/* Objects of a framework that are told apart: "Adam" is the first one of its type, "Adam#2" the
 * next. All hooks share one count, so that two that see the same object call it the same.
 *
 * Objects are known by weak references, so that none is kept alive, and a new one where an old one
 * was is a new one. With the GIL held. */
#ifndef PYTHON_HOOK_INSTANCE_H
#define PYTHON_HOOK_INSTANCE_H

#include "core.h"
#include "base/compiler.h"
#include "frames_layout.h"

#include <stdbool.h>

enum { INSTANCE_TEXT = 136 };

/* The text of an object; one that can not be told apart has that of its type. Valid until the next
 * call. No exception is left. */
ATTR_HOT const char *hook_instance_text(PyObject *object);

/* The name of a type without its module; valid as long as the type. */
ATTR_HOT const char *hook_instance_type(const PyTypeObject *type);

/* Whether a weak reference to this object still refers to it: a new one may lie where it was. */
ATTR_HOT bool hook_instance_is(PyObject *weak, const PyObject *object);

/* Counts anew; how often that was done. */
void hook_instance_forget(void);
extern unsigned hook_instance_counts;

/* The local variable of the function that makes the present call; a new reference, NULL without an
 * exception if there is none. */
ATTR_HOT PyObject *hook_instance_of_caller(struct frames_variable *variable);

#endif
