#include "store.h"

#include "base/error.h"
#include "system.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum { LOWEST_FD = 100, TMPFS = 0x01021994, RAMFS = (int)0x858458f6 };

static int error_of_errno(void)
{
    int error = error_code_of_errno(errno);
    return error == SS_E_NOTFOUND ? SS_E_NODIR : error;
}

/* Programs count on low descriptor numbers (close(0), open()), so ours is out of their way. */
static int move_fd_up(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);
    if (high < 0) {
        return fd;
    }
    close(fd);
    return high;
}

int store_file_create(struct store *store, const char *dir)
{
    uint64_t random = 0;
    system_random(&random, sizeof random);
    int n =
        snprintf(store->path, sizeof store->path, "%s/p-%ld-%llu-%016llx" SS_FILE_SUFFIX,
                 dir, (long)getpid(), (unsigned long long)system_process_start(),
                 (unsigned long long)random);
    if (n < 0 || (size_t)n >= sizeof store->path) {
        return SS_E_NODIR;
    }
    int fd = open(store->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return error_of_errno();
    }
    store->fd = move_fd_up(fd);
    struct stat st;
    struct statfs fs;
    if (fstat(store->fd, &st) != 0 || fstatfs(store->fd, &fs) != 0) {
        return error_of_errno();
    }
    store->dev = st.st_dev;
    store->ino = st.st_ino;
    store->in_memory = (int)fs.f_type == TMPFS || (int)fs.f_type == RAMFS;
    return SS_E_OK;
}

/* A program that closes all descriptors (a daemon) may have given our number to its own file. */
bool store_file_is_ours(struct store *store)
{
    struct stat st;
    if (fstat(store->fd, &st) == 0 && st.st_dev == store->dev &&
        st.st_ino == store->ino) {
        return true;
    }
    int fd = open(store->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return false;
    }
    if (fstat(fd, &st) != 0 || st.st_dev != store->dev || st.st_ino != store->ino) {
        close(fd);
        return false;
    }
    store->fd = move_fd_up(fd);
    return true;
}

static int allocate(int fd, off_t offset, off_t bytes)
{
    if (!system_file_may_have((uint64_t)(offset + bytes))) {
        return SS_E_LIMIT;
    }
    int failed;
    do {
        failed = fallocate(fd, 0, offset, bytes);
    } while (failed && errno == EINTR);
    if (!failed) {
        return SS_E_OK;
    }
    if (errno != EOPNOTSUPP && errno != ENOSYS) {
        return error_of_errno();
    }
    static const char zeros[4096];
    for (off_t at = offset; at < offset + bytes; at += (off_t)sizeof zeros) {
        if (pwrite(fd, zeros, sizeof zeros, at) != (ssize_t)sizeof zeros) {
            return error_of_errno();
        }
    }
    return SS_E_OK;
}

static unsigned char *map(int fd, uint32_t index, uint32_t n)
{
    size_t bytes = (size_t)n * SS_SEGMENT_BYTES;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                   (off_t)index * SS_SEGMENT_BYTES);
    if (p == MAP_FAILED) {
        return NULL;
    }
    /* A child has a file of its own; keeping ours out of it makes fork cheaper, too. */
    (void)madvise(p, bytes, MADV_DONTFORK);
    return p;
}

int store_file_map(struct store *store, struct segment *segment)
{
    if (!store_file_is_ours(store)) {
        return SS_E_STOLEN;
    }
    segment->base = map(store->fd, segment->index, 1);
    return segment->base ? SS_E_OK : error_of_errno();
}

static struct segment *chunk_of(struct store *store, uint32_t index)
{
    struct segment **chunk = &store->chunks[index / SEGMENT_CHUNK];
    if (!*chunk) {
        *chunk = system_map_private(SEGMENT_CHUNK * sizeof **chunk);
    }
    return *chunk;
}

int store_file_grow(struct store *store, uint32_t n)
{
    if (store->count + n > store->cap) {
        return SS_E_CAP;
    }
    if (!store_file_is_ours(store)) {
        return SS_E_STOLEN;
    }
    if (!chunk_of(store, store->count) || !chunk_of(store, store->count + n - 1)) {
        return SS_E_NOMEM;
    }
    int error = allocate(store->fd, (off_t)store->count * SS_SEGMENT_BYTES,
                         (off_t)n * SS_SEGMENT_BYTES);
    if (error) {
        return error;
    }
    unsigned char *base = map(store->fd, store->count, n);
    if (!base) {
        return error_of_errno();
    }
    for (uint32_t i = n; i-- > 0;) { /* backwards, so that the list is in file order */
        struct segment *segment = store_segment(store, store->count + i);
        segment->index = store->count + i;
        segment->base = base + (size_t)i * SS_SEGMENT_BYTES;
        segment->next = store->fresh;
        store->fresh = segment;
    }
    store->count += n;
    return SS_E_OK;
}

struct segment *store_segment(struct store *store, uint32_t index)
{
    return &store->chunks[index / SEGMENT_CHUNK][index % SEGMENT_CHUNK];
}
