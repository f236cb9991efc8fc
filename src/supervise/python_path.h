/* Lets every Python below the command load the package, before its script.
 *
 * The folder _boot of the package goes to the head of PYTHONPATH; it holds a sitecustomize that
 * each interpreter runs when it starts (python/stepscope/_boot). */
#ifndef SUPERVISE_PYTHON_PATH_H
#define SUPERVISE_PYTHON_PATH_H

#include "base/buf.h"

/* Adds that folder; nothing if there is no package. */
void python_path_find(struct buf *out);

/* In this process, for what it becomes. Without a package beside our executable (in a build folder,
 * installed, or by pip) nothing is changed. */
void python_path_set(void);

/* Why a Python that this command starts will not see it, as far as the command itself tells; NULL:
 * it does not. A Python deeper down with such options goes unnoticed. */
const char *python_path_hidden_by(char *const *command);

#endif
