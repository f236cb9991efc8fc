/* The line of an instruction, from a copy of a code object's line table. The bytes may be anything:
 * they were copied from memory that another thread may have changed meanwhile. */
#ifndef FRAMES_LINES_H
#define FRAMES_LINES_H

#include "frames_layout.h"

/* 0: the instruction has no line, or the table does not reach it. `unit` counts code units. */
int lines_find(enum layout_lines format, const unsigned char *table, size_t bytes,
               int first_line, int unit);

#endif
