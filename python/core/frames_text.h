/* Python's strings and bytes, copied without the GIL from memory that may be freed meanwhile. */
#ifndef FRAMES_TEXT_H
#define FRAMES_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Where the characters of an object are. */
struct text_place {
    uintptr_t address;
    size_t bytes;
};

/* A str as UTF-8, in memory that the caller frees; cut to `most` bytes. NULL: it is not a str, or can
 * not be read. */
char *text_copy(uintptr_t object, size_t most, struct text_place *place);

/* A bytes object; NULL as well if it has more than `most`. */
unsigned char *text_copy_bytes(uintptr_t object, size_t most, struct text_place *place);

#endif
