/* Brings the files of a run home, from the local directory that its processes recorded into. */
#ifndef SUPERVISE_COPY_BACK_H
#define SUPERVISE_COPY_BACK_H

#include <stdbool.h>

#include "stepscope/error.h"

/* Copies every file of `from` to `to`, each under another name first; but for the outcome, which
 * says at home that they are elsewhere, until all are there. Stops when `may_go_on` says so. 0, or
 * SS_E with a sentence; `from` stays as it is. */
int copy_back(const char *from, const char *to, bool (*may_go_on)(void *context), void *context,
              struct ss_error *error);

/* Removes the files and the directory. */
void copy_back_remove(const char *from);

#endif
