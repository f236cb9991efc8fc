/* Makes a table of what windows of a framework's own profiler have left in a run directory (format
 * 1.4): files window-PID-N.ENDING, each complete when there is one with .facts behind its name. */
#ifndef IMPORT_REDUCE_H
#define IMPORT_REDUCE_H

#include <stdbool.h>

/* Whether there is anything to do. */
bool reduce_is_due(const char *dir);

/* Adds to the file "operations" of the run, and removes what was read, unless `keep`: then only the
 * facts go. A file that is damaged is left out. With `all` also those are removed that never became
 * complete, since the processes have ended. */
void reduce_windows(const char *dir, bool keep, bool all);

#endif
