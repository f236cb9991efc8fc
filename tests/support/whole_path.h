/* Takes a run all the way: reader, model, summary, diagnosis, then text, JSON, page and exports, as
 * the commands do. abort()s if JSON is none, or if an output is missing: for fuzzing. */
#ifndef TESTS_WHOLE_PATH_H
#define TESTS_WHOLE_PATH_H

#include "stepscope/reader.h"

void whole_path(struct ss_run *run);

#endif
