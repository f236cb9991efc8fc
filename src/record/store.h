/* The process file: segments of 64 KB, allocated and made writable ahead of use. Threads write
 * either into the mapped file or into memory of which the file is a copy (lane_memory.h says when).
 *
 * A segment goes round: fresh -> pool -> used by one lane -> sealed -> unmapped and written
 * back, out of the page cache 3 s later, and at the cap back to the pool. All but store_pop() and
 * the owner's seal are under the store's lock and belong to the helper thread or to slow paths;
 * they make system calls and may block; with lane memory only the helper waits for a disk, and
 * threads of the program wait for the store's lock no longer than LOCK_PATIENCE_NS. Errors are kept
 * (first one in the header) and growth is tried again a second later. */
#ifndef RECORD_STORE_H
#define RECORD_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "stepscope/format.h"

enum segment_state {
    SEGMENT_FRESH, /* allocated, never handed out, or given back clean */
    SEGMENT_READY, /* writable, in the pool */
    SEGMENT_USED,  /* a lane or a directory */
    SEGMENT_SEALED /* full */
};

struct segment {
    unsigned char *base; /* NULL: not mapped */
    uint32_t index;
    _Atomic uint32_t state;
    bool keep;                                  /* never given up: it holds names */
    uint32_t records;                           /* once it was copied as a whole */
    uint32_t copied[1 + SS_BLOCKS_PER_SEGMENT]; /* bytes so far (mirror.c) */
    uint64_t lease;                             /* what its header says while a lane has it */
    int64_t sealed_ns;                          /* when the helper saw it sealed */
    struct segment *next;         /* in the list of in-use, sealed or fresh segments */
    struct segment *next_growing; /* for the mirror */
};

enum {
    POOL_SLOTS = 256,
    POOL_START = 8,
    POOL_FLOOR = 24,
    SEGMENT_CHUNK = 1024,
    SEGMENT_CHUNKS = 1024,
    LANES_MAX = 65536,
    LANE_BITS = 64
};

struct store {
    pthread_mutex_t lock;
    int fd;
    dev_t dev;
    ino_t ino;
    char path[4096], dir[4096];
    bool in_memory; /* tmpfs: there is no disk to write back to */
    bool is_copied; /* what is written goes elsewhere on the disk, unless told otherwise */
    bool is_plain;  /* blocks once allocated stay where they are: storing never needs space */
    bool closed;    /* grows no more */
    bool is_gone;   /* it was deleted */
    struct ss_file_header *header;

    /* Lanes are here and the file is a copy, which the helper thread alone writes (mirror.h). NULL:
     * the file itself is mapped. */
    unsigned char *memory;
    size_t memory_bytes;
    int memory_fd; /* until the supervisor has it; -1: there is none any more */
    ino_t memory_ino;
    uint64_t recorded_on[LANES_MAX / LANE_BITS]; /* lanes, in this round of the mirror */
    struct segment *write_next;                  /* first sealed one that is not in the file yet */
    uint32_t unwritten, unwritten_max;
    bool copy_failed; /* the last time */
    bool is_cut;      /* another program cut the file to this many bytes, as was seen at growth */
    uint64_t cut_bytes;
    int64_t copy_retry_ns;

    struct segment *chunks[SEGMENT_CHUNKS];
    uint32_t count;   /* segments that the file has */
    uint32_t cap;     /* most that it may have */
    uint32_t own_cap; /* the same, but for the budget of the run */
    uint64_t leases;
    int64_t retry_ns; /* no growth before this time */
    struct segment *fresh;
    struct segment *in_use, **in_use_end;       /* in the order of their leases */
    struct segment *sealed_first, *sealed_last; /* oldest first */
    struct segment *kept_last;  /* up to here, none of the sealed ones is ever given up */
    struct segment *evict_next; /* first sealed one that may be in the page cache */
    uint32_t unevicted;

    _Atomic uint32_t pool_head;
    _Atomic uint32_t pool_tail;
    _Atomic(struct segment *) pool[POOL_SLOTS];
};

/* Threads of the program that do not record wait so long for the store, with lane memory. */
#define LOCK_PATIENCE_NS 20000000

/* The cap is 1 GiB if it is 0; for a file in memory (tmpfs) at most a 16th of the memory that the
 * process may have. An explicit one counts as it is. Makes `dir`/p-PID-START-RANDOM.ssp with
 * segment 0 and a filled pool; with lane memory there is only that, and the helper makes the file.
 * 0 or SS_E; on failure nothing stays behind. The header's magic is stored by store_publish(), when
 * it is filled in. */
int store_open(struct store *store, const char *dir, uint64_t cap_bytes);
void store_publish(struct store *store);

/* Ends growth and gives allocated space that no lane has taken back to the file system, but for
 * `keep` segments of the pool. The mappings stay, since other threads may still be writing. */
void store_trim(struct store *store, uint32_t keep);

/* Closes the file and unmaps everything: no thread may be writing any more. */
void store_release(struct store *store);

/* Next ready segment, or NULL: lock-free, no system call, any thread. */
struct segment *store_pop(struct store *store);

/* A writable segment for a directory or the control lane: from the pool, else made now. */
struct segment *store_take(struct store *store);

/* Fills the pool up to `want` segments; counts stages of what it must give up with stage_of(). */
void store_fill(struct store *store, uint32_t want, uint8_t (*stage_of)(uint16_t name));

/* Moves full segments to the sealed list; returns how many there were. */
uint32_t store_collect_sealed(struct store *store, int64_t now_ns);

/* Hands sealed segments to writeback and, some seconds later, unmaps and uncaches them. */
void store_evict(struct store *store, int64_t now_ns);

/* Takes on what the budget of the run allows now. A file does not shrink by that. */
void store_follow_grant(struct store *store);

/* A file that was deleted grows no more: no one could ever find what is in it. */
void store_check_file(struct store *store);

/* The kernel writes back later, and tells once whether that failed: to those who ask. */
void store_check_disk(struct store *store);

/* Makes the pages of [p, p + bytes) writable without changing them. */
void store_touch(unsigned char *p, size_t bytes);

/* Makes the beginnings of the segments at the front of the pool writable again, in case writeback
 * protected them since. */
void store_touch_pool(struct store *store);

uint32_t store_pool_level(struct store *store);

/* Keeps the first error in the header; any thread. */
void store_note_error(struct store *store, int error);
int store_error(const struct store *store);

/* The file itself (store_file.c). store_file_choose() says where it will be, and on what; only
 * store_file_make(), which may be called again, waits for a disk. store_file_grow() allocates and
 * maps `n` more segments. */
int store_file_choose(struct store *store, const char *dir);
int store_file_make(struct store *store);
int store_file_grow(struct store *store, uint32_t n);
int store_file_map(struct store *store, struct segment *segment);
bool store_file_is_ours(struct store *store);
struct segment *store_segment(struct store *store, uint32_t index);
int store_file_allocate(struct store *store, uint32_t first, uint32_t n);

/* Programs count on low descriptor numbers (close(0), open()), so ours is out of their way. */
int store_move_fd_up(int fd);

#endif
