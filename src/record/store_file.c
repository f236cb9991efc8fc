#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/risky_calls.h"
#include "store.h"
#include "system.h"

enum {
    LOWEST_FD = 100,
    TMPFS = 0x01021994,
    RAMFS = (int)0x858458f6,
    BTRFS = (int)0x9123683e,
    EXT4 = 0xef53
};

static int error_of_errno(void)
{
    int error = error_code_of_errno(errno);
    return error == SS_E_NOTFOUND ? SS_E_NODIR : error;
}

int store_move_fd_up(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

/* A copy-on-write file system needs space to overwrite what was allocated; not of such a file. */
static void store_in_place(int fd)
{
    int flags = 0;
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_NOCOW_FL;
        (void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
    }
}

int store_file_choose(struct store *store, const char *dir)
{
    struct statfs fs;
    uint64_t random = 0;
    system_random(&random, sizeof random);
    int n = snprintf(store->path, sizeof store->path, "%s/p-%ld-%llu-%016llx" SS_FILE_SUFFIX, dir,
                     (long)getpid(), (unsigned long long)system_process_start(),
                     (unsigned long long)random);
    if (n < 0 || (size_t)n >= sizeof store->path)
        return SS_E_NODIR;
    snprintf(store->dir, sizeof store->dir, "%s", dir);
    if (statfs(dir, &fs) != 0)
        return error_of_errno();
    store->in_memory = (int)fs.f_type == TMPFS || (int)fs.f_type == RAMFS;
    store->is_plain = (int)fs.f_type == EXT4;
    store->is_copied = (int)fs.f_type == BTRFS;
    return SS_E_OK;
}

static int create(struct store *store)
{
    struct stat st;
    int fd = open(store->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_of_errno();
    fd = store_move_fd_up(fd);
    if (fstat(fd, &st) != 0) {
        int error = error_of_errno();
        close(fd);
        unlink(store->path); /* a file without a header is no recording */
        return error;
    }
    store->dev = st.st_dev;
    store->ino = st.st_ino;
    store->fd = fd;
    if (store->is_copied)
        store_in_place(fd);
    return SS_E_OK;
}

int store_file_make(struct store *store)
{
    if (store->fd >= 0)
        return SS_E_OK;
    int error = create(store);
    if (!error && store->count > 0)
        error = store_file_allocate(store, 0, store->count);
    if (!error) {
        if (store->header)
            store->header->copy = SS_COPY_BEHIND;
        return SS_E_OK;
    }
    if (store->fd >= 0) {
        close(store->fd);
        unlink(store->path);
    }
    store->fd = -1;
    return error;
}

/* A program that closes all descriptors (a daemon) may have given our number to its own file. */
bool store_file_is_ours(struct store *store)
{
    struct stat st;
    if (store->fd < 0)
        return false;
    if (fstat(store->fd, &st) == 0 && st.st_dev == store->dev && st.st_ino == store->ino)
        return true;
    int fd = open(store->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) != 0 || st.st_dev != store->dev || st.st_ino != store->ino) {
        close(fd);
        return false;
    }
    store->fd = store_move_fd_up(fd);
    return true;
}

static int allocate(int fd, off_t offset, off_t bytes)
{
    if (!system_file_may_have((uint64_t)(offset + bytes)))
        return SS_E_LIMIT;
    int failed = -1;
    errno = ENOSYS;
    if (!risky_call_kills(RISKY_FALLOCATE))
        do {
            failed = fallocate(fd, 0, offset, bytes);
        } while (failed && errno == EINTR);
    if (!failed)
        return SS_E_OK;
    if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EPERM)
        return error_of_errno();
    static char zeros[4096]; /* never written; not const: no space in the library */
    for (off_t at = offset; at < offset + bytes; at += (off_t)sizeof zeros)
        if (pwrite(fd, zeros, sizeof zeros, at) != (ssize_t)sizeof zeros)
            return error_of_errno();
    return SS_E_OK;
}

int store_file_allocate(struct store *store, uint32_t first, uint32_t n)
{
    if (!store_file_is_ours(store))
        return SS_E_STOLEN;
    return allocate(store->fd, (off_t)first * SS_SEGMENT_BYTES, (off_t)n * SS_SEGMENT_BYTES);
}

static unsigned char *map(const struct store *store, uint32_t index, uint32_t n)
{
    if (store->memory)
        return store->memory + (size_t)index * SS_SEGMENT_BYTES;
    size_t bytes = (size_t)n * SS_SEGMENT_BYTES;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, store->fd,
                   (off_t)index * SS_SEGMENT_BYTES);
    if (p == MAP_FAILED)
        return NULL;
    /* A child has a file of its own; keeping ours out of it makes fork cheaper, too. */
    (void)system_advise(p, bytes, MADV_DONTFORK);
    return p;
}

int store_file_map(struct store *store, struct segment *segment)
{
    if (!store->memory && !store_file_is_ours(store))
        return SS_E_STOLEN;
    segment->base = map(store, segment->index, 1);
    return segment->base ? SS_E_OK : error_of_errno();
}

static struct segment *chunk_of(struct store *store, uint32_t index)
{
    struct segment **chunk = &store->chunks[index / SEGMENT_CHUNK];
    if (!*chunk)
        *chunk = system_map_private(SEGMENT_CHUNK * sizeof **chunk);
    return *chunk;
}

/* Growth would hide that another program has cut the file. */
static void note_cut(struct store *store)
{
    struct stat st;
    if (!store->memory || store->is_cut || !store_file_is_ours(store) || fstat(store->fd, &st) != 0)
        return;
    store->is_cut = (uint64_t)st.st_size < (uint64_t)store->count * SS_SEGMENT_BYTES;
    store->cut_bytes = (uint64_t)st.st_size;
}

int store_file_grow(struct store *store, uint32_t n)
{
    if (store->count + n > store->cap)
        return SS_E_CAP;
    if (!chunk_of(store, store->count) || !chunk_of(store, store->count + n - 1))
        return SS_E_NOMEM;
    const bool is_later = store->memory && store->fd < 0; /* store_file_make() allocates it */
    note_cut(store);
    int error = is_later ? SS_E_OK : store_file_allocate(store, store->count, n);
    if (error)
        return error;
    unsigned char *base = map(store, store->count, n);
    if (!base)
        return error_of_errno();
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
