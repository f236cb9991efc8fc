/* Writes to memory that may be read-only or gone. */
#ifndef PYTHON_HOOK_MEMORY_H
#define PYTHON_HOOK_MEMORY_H

#include <stdbool.h>

/* Puts `value` into an aligned place, at once for whoever reads it meanwhile. False: it can not be
 * written, and nothing happened. */
bool hook_memory_store(void *place, void *value);

#endif
