/* Directories that are made with those above them, or under a name that nobody has. */
#ifndef BASE_MAKE_DIR_H
#define BASE_MAKE_DIR_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"

/* Makes a directory with those above it. One that is there is as good; `is_new` (may be NULL) says
 * whether it was made. 0 or an errno. */
int make_dir_all(const char *path, bool *is_new);

/* Makes a directory of a name that nobody has: `path`, `path`-2, `path`-3 ..., and puts it into
 * `path`. Those above it must be there. 0 or an errno. */
int make_dir_new(struct buf *path, mode_t mode);

#endif
