/* Reads all that a run has, in every way that the reader offers, and abort()s if what
 * it gives contradicts itself: for tests and fuzzing with runs of which nothing else
 * is known. */
#ifndef TESTS_EXERCISE_H
#define TESTS_EXERCISE_H

#include "stepscope/reader.h"

void exercise_run(struct ss_run *run);

/* The same with files in memory; true if they are a run. */
bool exercise_files(const struct ss_blob *files, size_t count);

#endif
