/* Memory that begins with a line of the cache, and writes to such as may be read-only or gone. */
#ifndef PYTHON_HOOK_MEMORY_H
#define PYTHON_HOOK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed, for free(); NULL: there is none. */
void *hook_memory_new(size_t bytes);

/* Puts `value` into an aligned place, at once for whoever reads it meanwhile. False: it can not be
 * written, and nothing happened. */
bool hook_memory_store(void *place, void *value);

#endif
