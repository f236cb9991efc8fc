/* Reads of this process's own memory that fail softly: an address that is not mapped gives false,
 * never a signal. For memory that another thread may free at any moment.
 *
 * process_vm_readv() on the process itself where the kernel allows it, else /proc/self/mem. Any
 * thread may read; opening is for one at a time. */
#ifndef FRAMES_MEMORY_H
#define FRAMES_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MEMORY_PIECES_MAX = 384 };

struct memory_piece {
    uintptr_t address;
    void *copy;
    size_t bytes;
};

/* NULL, or why nothing can be read. To be called again in a forked child. */
const char *memory_open(void);
void memory_close(void);

bool memory_read(uintptr_t address, void *copy, size_t bytes);

/* All pieces in their order, with one system call where the kernel has it: what is read first was
 * there first. False: at least one of them cannot be read, and the copies are undefined. */
bool memory_gather(const struct memory_piece *pieces, size_t count);

/* Python's strings and bytes, copied without the GIL from memory that may be freed during the copy.
 */

/* Where the characters of an object are. */
struct text_place {
    uintptr_t address;
    size_t bytes;
};

/* A str as UTF-8, in memory that the caller frees; cut to `most` bytes. NULL: it is not a str, or
 * cannot be read. */
char *text_copy(uintptr_t object, size_t most, struct text_place *place);

/* A bytes object; NULL as well if it has more than `most`. */
unsigned char *text_copy_bytes(uintptr_t object, size_t most, struct text_place *place);

#endif
