/* Where a function's `for` loops are, from a copy of its instructions. The bytes may be anything: they were
 * copied from memory that another thread may have changed meanwhile. */
#ifndef FRAMES_LOOPS_H
#define FRAMES_LOOPS_H

#include <stddef.h>

/* Counted in code units: the instruction that gets the next item, with what belongs to it, and after that the
 * body. */
struct code_loop {
    int first, body, end;
};

/* How many there are; the first `most` of them in their order. */
size_t loops_find(const unsigned char *instructions, size_t bytes,
                  struct code_loop *loops, size_t most);

#endif
