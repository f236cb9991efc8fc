/* Places in code: as people read them, "train.py:12", and in a notebook "cell [4], line 12"; and
 * what the file and the function of a line of Python say about it. */
#ifndef BASE_CODE_PLACE_H
#define BASE_CODE_PLACE_H

#include <stdbool.h>
#include <string.h>

#define CODE_CELL "cell [" /* of a file that is a cell; python/core/cells.c names them */

/* What stands between the file and its line or lines. */
static inline const char *code_line_mark(const char *file, bool several)
{
    const bool is_cell = strncmp(file, CODE_CELL, strlen(CODE_CELL)) == 0;

    return !is_cell ? ":" : several ? ", lines " : ", line ";
}

/* The user can change it: it comes neither with Python nor was it installed. */
bool python_file_is_script(const char *file);

/* A framework calls it, in a thread or a process next to the loop, to make a batch or a part of
 * one: what it calls in turn is the input's code. */
bool python_file_makes_batches(const char *file, const char *function);

#endif
