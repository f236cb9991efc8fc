/* What was hooked and what was not, for the run. Nothing is written before the first event of a
 * recording, so the list is kept and told to each recording anew, and in each forked child. */
#ifndef PYTHON_HOOK_STATUS_H
#define PYTHON_HOOK_STATUS_H

#include "core.h"

/* The reason may be NULL: it is in place. Texts are copied. */
void hook_status_add(const char *target, const char *reason);

/* A mark that each recording has, from when it is known on: something is true of the whole process. */
void hook_status_mark(const char *name, const char *text);

/* Tells the present recording what it does not know yet; nothing if there is none. */
void hook_tell(void);

/* A list of (target, reason or None); NULL with an exception. */
PyObject *hook_status_list(void);

#endif
