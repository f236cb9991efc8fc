/* Changes to recorded runs: `stepscope rename` and `remove`. */
#ifndef CLI_RUN_CHANGE_H
#define CLI_RUN_CHANGE_H

#include <stdbool.h>

#include "base/buf.h"
#include "stepscope/error.h"

/* Whether the run at this path is still being recorded. */
bool run_change_is_live(const char *path);

/* Renames the directory, whose date and time stay, and the name in its manifest. `renamed` gets the
 * new path. 0, or SS_E with a sentence. */
int run_change_name(const char *path, const char *name, struct buf *renamed,
                    struct ss_error *error);

/* The run at `path` is gone, or at `renamed` now: `latest` beside it, if it named this run, names
 * that one, or the newest that is left. */
void run_change_mend_latest(const char *path, const char *renamed);

#endif
