/* The line of an instruction, from a copy of a code object's line table. The bytes may be anything:
 * they were copied from memory that another thread may have changed meanwhile. */
#ifndef FRAMES_LINES_H
#define FRAMES_LINES_H

#include "frames_layout.h"

struct lines_table {
    enum layout_lines format;
    const unsigned char *data;
    size_t bytes;
    int first_line;
};

/* 0: the instruction has no line, or the table does not reach it. `unit` counts code units. */
int lines_find(const struct lines_table *table, int unit);

/* The largest line of the instructions from `first` to before `end`; 0: none has one. */
int lines_last(const struct lines_table *table, int first, int end);

#endif
