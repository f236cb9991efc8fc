/* All hooks of this process, and the one that belongs to an object. */
#ifndef PYTHON_HOOK_LIST_H
#define PYTHON_HOOK_LIST_H

#include "hook_technique.h"

/* A hook that is not laid yet; takes over the points. NULL: no memory. hook_list_find() finds it by its
 * key, most often the target itself. */
struct hook *hook_list_new(const struct hook_technique *technique, const void *key,
                           PyObject *target, PyObject *owner, PyObject *attribute,
                           struct hook_point *points);

/* The hook with this key, or NULL. Hot: called for each call of a hooked function. */
ATTR_HOT struct hook *hook_list_find(const void *key);

/* The i-th hook, NULL after the last one. */
struct hook *hook_list_at(unsigned i);

#endif
