/* Hooks on objects that come and go, as functions that a script has compiled: nothing here keeps them
 * alive, and a new one may lie where an old one was. */
#ifndef PYTHON_HOOK_PASSING_H
#define PYTHON_HOOK_PASSING_H

#include "hook_technique.h"

/* Calls of the object, whose type has a vectorcall slot in each instance, record what the points of
 * `like` say; `wrapper` is what the caller knows it by. NULL, or why not. */
const char *hook_passing_follow(const struct hook *like, PyObject *wrapper,
                                PyObject *object);

/* The wrapper of the outermost such object that is being called on this thread, borrowed; NULL: there
 * is none. */
PyObject *hook_passing_called(void);

/* From this call on that object records what the points of `like` say. */
void hook_passing_become(const struct hook *like, PyObject *wrapper);

/* Calls with these points train: later ones have the flag, and those that are under way if the points have
 * options, as a group. NULL: those of the outermost object that is being called on this thread. */
void hook_passing_trains(const struct hook *like);

#endif
