/* What a run directory says in words: what the run is called, and the lines of its manifest. Those
 * who record and those who read need both. */
#ifndef BASE_RUN_TEXT_H
#define BASE_RUN_TEXT_H

#include <stdint.h>

#include "base/buf.h"

#define RUN_LATEST "latest" /* link beside the runs, to the latest one */

enum { RUN_NAME_MOST = 64 };

/* Appends the name, cut to RUN_NAME_MOST bytes; what is not a letter, digit, '.', '_' or '-' of
 * ASCII becomes '-'. */
void run_name_add(struct buf *out, const char *name);

/* The part of a directory's name behind the date and time that `stepscope run` puts in front; all
 * of it if there are none. */
const char *run_name_of_directory(const char *directory);

/* The lines of a manifest (format 1): "key: value". Line ends and backslashes in the value are
 * escaped. */
void fact_line(struct buf *out, const char *key, const char *value);
void fact_line_number(struct buf *out, const char *key, int64_t value);

#endif
