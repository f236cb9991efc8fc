/* The bytes of one file of a run: in memory, or on disk and read with pread().
 *
 * Files on disk are never mapped: a file that someone cuts short would end the reader
 * with SIGBUS. Only some files of a run are open at a time (struct file_pool), since a
 * run may have more of them than the process may open. */
#ifndef READ_SOURCE_H
#define READ_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FILE_POOL_SLOTS = 128 };

struct source;

/* Sources whose file is open; a new one takes the place of the one opened longest ago. */
struct file_pool {
    int dir; /* the run directory, borrowed */
    unsigned limit, next;
    struct source *slots[FILE_POOL_SLOTS];
};

struct source {
    const uint8_t *data;    /* in memory; NULL: on disk */
    uint64_t size;          /* as of opening or the last source_update() */
    struct file_pool *pool; /* on disk; all below too */
    const char *name;       /* borrowed */
    int fd;                 /* -1: not open now */
    unsigned slot;
    uint64_t data_from, data_to; /* a stretch that is known to be no hole */
};

void file_pool_init(struct file_pool *pool, int dir);

void source_init_memory(struct source *source, const void *data, size_t size);
/* A regular file in the directory of the pool. 0 or SS_E; close it in both cases. */
int source_open(struct source *source, struct file_pool *pool, const char *name);
void source_close(struct source *source);

/* Takes the present size of the file. 0 or SS_E. */
int source_update(struct source *source);

/* Copies [offset, offset + size); fewer bytes only at the end of the file or on an
 * error. */
size_t source_read(struct source *source, uint64_t offset, void *out, size_t size);

/* All of [offset, offset + size), in place or copied to `scratch`; NULL if not all is
 * there. */
const void *source_view(struct source *source, uint64_t offset, size_t size,
                        void *scratch);

/* First offset from `offset` on that is a multiple of `stride` and not in a long hole
 * (holes read as zero); the size of the file if there is none. */
uint64_t source_next_data(struct source *source, uint64_t offset, uint64_t stride);

#endif
