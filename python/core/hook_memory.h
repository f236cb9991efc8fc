/* Memory for what hooks read in each call, and writes to such as may be read-only or gone. */
#ifndef PYTHON_HOOK_MEMORY_H
#define PYTHON_HOOK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed; NULL: there is none, nor any for more than 64 KB. It begins with a line of the cache and lies with what was asked
 * for before, on few pages: to find those takes as long as all the rest of a call. It is never given back, as
 * hooks are not. With the GIL held. */
void *hook_memory_new(size_t bytes);

/* Puts `value` into an aligned place, at once for whoever reads it meanwhile. False: it can not be
 * written, and nothing happened. */
bool hook_memory_store(void *place, void *value);

#endif
