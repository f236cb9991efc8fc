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
 * there first. False: at least one of them can not be read, and the copies are undefined. */
bool memory_gather(const struct memory_piece *pieces, size_t count);

#endif
