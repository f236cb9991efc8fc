/* The bytes of one file of a run: in memory, or on disk and read with pread(). A packed file reads
 * like the one that it was made of (struct segment_cache).
 *
 * Files on disk are never mapped: a file that someone cuts short would end the reader
 * with SIGBUS. Only some files of a run are open at a time (struct file_pool), since a
 * run may have more of them than the process may open. */
#ifndef READ_SOURCE_H
#define READ_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Segments of packed files, unpacked: those that were read last, of all files of a run together.
 *
 * A reader goes through several lanes at once, each in another segment, so there is room for as
 * many as there are lanes, up to 64 MB. What only the index says (format 11.1) is given without
 * unpacking anything. */
enum { SEGMENT_CACHE_MOST = 1024, SEGMENT_CACHE_LEAST = 8 };

struct source;

struct cached_segment {
    const struct source *source; /* NULL: none */
    uint64_t segment;
    uint64_t used; /* when it was used last */
    uint8_t *bytes;
};

struct segment_cache {
    struct block_unpacker *unpacker;
    struct cached_segment *slots;
    size_t count, capacity; /* slots with memory; slots */
    size_t limit;           /* 0: SEGMENT_CACHE_LEAST */
    uint64_t now;
};

void segment_cache_release(struct segment_cache *cache);

/* How many lanes are read at once. */
void segment_cache_allow(struct segment_cache *cache, size_t lanes);

/* source_read() of a packed file. */
size_t segment_cache_read(struct segment_cache *cache, struct source *source, uint64_t offset,
                          void *out, size_t size);

/* The source goes away. */
void segment_cache_forget(struct segment_cache *cache, const struct source *source);

enum { FILE_POOL_SLOTS = 128 };

struct source;

/* Sources whose file is open; a new one takes the place of the one opened longest ago. */
struct file_pool {
    int dir; /* the run directory, borrowed */
    unsigned limit, next;
    struct source *slots[FILE_POOL_SLOTS];
    struct segment_cache cache; /* of all packed ones, open or not */
};

struct source {
    const uint8_t *data;   /* its bytes if they are in memory as they are, else NULL */
    uint64_t size;         /* as of opening or the last source_update() */
    const uint8_t *stored; /* in memory: as stored; NULL: on disk */
    uint64_t stored_size;  /* smaller than `size` if it is packed */
    bool is_packed;
    struct file_pool *pool;
    const char *name; /* borrowed; on disk; all below too */
    int fd;           /* -1: not open now */
    unsigned slot;
    uint64_t data_from, data_to; /* a stretch that is known to be no hole */
};

void file_pool_init(struct file_pool *pool, int dir);
void file_pool_release(struct file_pool *pool);

/* 0 or SS_E; close it in both cases. */
int source_init_memory(struct source *source, struct file_pool *pool, const void *data,
                       size_t size);
/* A regular file in the directory of the pool. 0 or SS_E; close it in both cases. */
int source_open(struct source *source, struct file_pool *pool, const char *name);
void source_close(struct source *source);

/* Takes the present size of the file. 0 or SS_E. */
int source_update(struct source *source);

/* Copies [offset, offset + size); fewer bytes only at the end of the file, on an error, and from a
 * damaged block of a packed file on. */
size_t source_read(struct source *source, uint64_t offset, void *out, size_t size);

/* All of [offset, offset + size), in place or copied to `scratch`; NULL if not all is
 * there. */
const void *source_view(struct source *source, uint64_t offset, size_t size, void *scratch);

/* Whether these bytes are of a damaged block of a packed file; all in one segment. */
bool source_is_damaged(struct source *source, uint64_t offset, uint64_t size);

/* First offset from `offset` on that is a multiple of `stride` and not in a long hole
 * (holes read as zero); the size of the file if there is none. */
uint64_t source_next_data(struct source *source, uint64_t offset, uint64_t stride);

/* The same as source_read(), of the bytes as they are stored: for segment_cache.c. */
size_t source_read_stored(struct source *source, uint64_t offset, void *out, size_t size);

#endif
