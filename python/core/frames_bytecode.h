/* What a code object's bytes say: the line of an instruction, from a copy of its line table, and
 * where its `for` loops are, from a copy of its instructions. The bytes may be anything: they were
 * copied from memory that another thread may have changed since. */
#ifndef FRAMES_BYTECODE_H
#define FRAMES_BYTECODE_H

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

/* Counted in code units: the instruction that gets the next item, with what belongs to it, and
 * after that the body. */
struct code_loop {
    int first, body, end;
};

/* How many there are; the first `most` of them in their order. */
size_t loops_find(const unsigned char *instructions, size_t bytes, struct code_loop *loops,
                  size_t most);

#endif
