/* What a run directory is called. */
#ifndef SUPERVISE_RUN_NAME_H
#define SUPERVISE_RUN_NAME_H

#include <time.h>

#include "base/buf.h"

/* Appends "20261115-183512-train.py": the local time, and `name` or, if that is NULL, the base name
 * of the command; if it is a Python, that of its script or module. Whatever is not a letter, digit,
 * '.', '_' or '-' of ASCII becomes '-'. */
void run_name(struct buf *out, time_t now, const char *name, char *const *command);

#endif
