/* A run without the command: for notebooks and scripts that call stepscope.start().
 *
 * It lies where `stepscope run` would have put it. One at a time; callers hold the GIL. */
#ifndef PYTHON_OWN_PLACE_H
#define PYTHON_OWN_PLACE_H

#include <stdbool.h>

#include "stepscope/error.h"
#include "supervise/place.h"

/* Records from here on, into a new run. 0, or SS_E with a sentence; then nothing is left behind. */
int own_place_start(const struct place_wish *wish, struct ss_error *error);

/* Ends the recording of this process. The one that started it brings the run to its place, if it was
 * recorded elsewhere, without the GIL; so does the end of the interpreter. */
void own_place_stop(void);

/* Remembers the run of `stepscope run`, if there is one. */
void own_place_join(void);

/* The run that the process records to, or recorded to last; NULL: it never did, or it is not known. */
const char *own_place_dir(void);

#endif
