#include "read/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "pack/packed_file.h"

/* No recorder gets near; a sparse file that claims more is read up to here. */
static const uint64_t largest_size = (uint64_t)1 << 46;

/* Strides that are left. To read a few is less work than to ask for holes: the kernel goes through
 * every page for that, and a run that grows is asked again and again. */
static const uint64_t asked_for_holes = 64;

static void give_up_fd(struct source *source)
{
    if (source->fd < 0)
        return;
    close(source->fd);
    source->fd = -1;
    source->pool->slots[source->slot] = NULL;
}

void file_pool_init(struct file_pool *pool, int dir)
{
    *pool = (struct file_pool){.dir = dir, .limit = FILE_POOL_SLOTS};
}

void file_pool_release(struct file_pool *pool)
{
    segment_cache_release(&pool->cache);
    if (pool->dir >= 0)
        close(pool->dir);
    pool->dir = -1;
}

/* Keeps fewer files open from now on; false if that closed none. */
static bool lower_limit(struct file_pool *pool, unsigned limit)
{
    bool closed = false;

    for (unsigned slot = limit; slot < FILE_POOL_SLOTS; slot++)
        if (pool->slots[slot]) {
            give_up_fd(pool->slots[slot]);
            closed = true;
        }
    pool->limit = limit > 0 ? limit : 1;
    pool->next %= pool->limit;
    return closed;
}

/* The process may open no more files: gives up half of ours, so that some are left for
 * others. False if we have none. */
static bool make_room(struct file_pool *pool)
{
    for (unsigned limit = pool->limit / 2; limit > 0; limit /= 2)
        if (lower_limit(pool, limit))
            return true;
    return lower_limit(pool, 0);
}

/* A link may lead out of the run, to a device that does something when it is opened; O_NONBLOCK, so
 * that a FIFO of that name does not make us wait for its writer. */
static int open_again(struct source *source)
{
    struct file_pool *const pool = source->pool;
    const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
    struct stat status;

    do {
        source->fd = openat(pool->dir, source->name, flags);
    } while (source->fd < 0 && (errno == EINTR || (errno == EMFILE && make_room(pool))));
    if (source->fd < 0)
        return errno == ELOOP ? SS_E_INVALID : error_code_of_errno(errno);
    const int failed = fstat(source->fd, &status) != 0 ? error_code_of_errno(errno)
                       : !S_ISREG(status.st_mode)      ? SS_E_INVALID
                                                       : 0;
    if (failed) {
        close(source->fd);
        source->fd = -1;
        return failed;
    }
    if (pool->slots[pool->next])
        give_up_fd(pool->slots[pool->next]);
    source->slot = pool->next;
    pool->slots[source->slot] = source;
    pool->next = (pool->next + 1) % pool->limit;
    return 0;
}

/* What is stored is known now, but not what it is. A file may have been packed since the last time.
 * 0 or SS_E. */
static int look_at_stored(struct source *source)
{
    struct ss_file_header header;

    source->is_packed = false;
    source->data = source->stored;
    source->size = source->stored_size < largest_size ? source->stored_size : largest_size;
    if (source_read_stored(source, 0, &header, sizeof header) != sizeof header ||
        !packed_file_is(&header))
        return 0;
    if (!block_is_possible())
        return SS_E_PACKED;
    if (header.image_bytes > SS_PACKED_IMAGE_MOST ||
        packed_file_entry_offset(packed_file_segments(header.image_bytes)) > source->stored_size)
        return SS_E_DAMAGED;
    source->is_packed = true;
    source->data = NULL;
    source->size = header.image_bytes;
    return 0;
}

int source_init_memory(struct source *source, struct file_pool *pool, const void *data, size_t size)
{
    static const uint8_t nothing[1];

    *source = (struct source){
        .stored = data ? data : nothing, .stored_size = data ? size : 0, .pool = pool, .fd = -1};
    return look_at_stored(source);
}

int source_open(struct source *source, struct file_pool *pool, const char *name)
{
    memset(source, 0, sizeof *source);
    source->pool = pool;
    source->name = name;
    source->fd = -1;
    return source_update(source);
}

void source_close(struct source *source)
{
    if (source->is_packed)
        segment_cache_forget(&source->pool->cache, source);
    give_up_fd(source);
}

int source_update(struct source *source)
{
    const bool is_reopened = source->fd < 0;
    struct stat status;

    if (source->stored)
        return 0;
    if (is_reopened) {
        const int code = open_again(source);
        if (code)
            return code;
    }
    if (fstat(source->fd, &status) != 0)
        return error_code_of_errno(errno);
    if (!S_ISREG(status.st_mode))
        return SS_E_INVALID;
    source->stored_size = (uint64_t)status.st_size;
    source->data_from = source->data_to = 0;
    if (is_reopened || source->stored_size < sizeof(struct ss_file_header))
        return look_at_stored(source);
    if (!source->is_packed)
        source->size = source->stored_size < largest_size ? source->stored_size : largest_size;
    return 0;
}

size_t source_read_stored(struct source *source, uint64_t offset, void *out, size_t size)
{
    size_t done = 0;

    if (source->stored) {
        if (offset >= source->stored_size)
            return 0;
        if (size > source->stored_size - offset)
            size = (size_t)(source->stored_size - offset);
        memcpy(out, source->stored + offset, size);
        return size;
    }
    if (source->fd < 0 && open_again(source) != 0)
        return 0;
    while (done < size) {
        const ssize_t got =
            pread(source->fd, (char *)out + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

/* The file may have been packed while it was not open. */
static bool is_ready(struct source *source)
{
    const uint64_t size = source->size;

    if (source->stored || source->fd >= 0)
        return true;
    if (source_update(source) != 0)
        return false;
    if (!source->is_packed)
        source->size = size;
    return true;
}

size_t source_read(struct source *source, uint64_t offset, void *out, size_t size)
{
    if (!is_ready(source))
        return 0;
    if (source->is_packed)
        return segment_cache_read(&source->pool->cache, source, offset, out, size);
    return source_read_stored(source, offset, out, size);
}

const void *source_view(struct source *source, uint64_t offset, size_t size, void *scratch)
{
    if (!source->data)
        return source_read(source, offset, scratch, size) == size ? scratch : NULL;
    if (offset > source->size || size > source->size - offset)
        return NULL;
    return source->data + offset;
}

bool source_is_damaged(struct source *source, uint64_t offset, uint64_t size)
{
    uint8_t last;

    if (!source->is_packed || offset >= source->size)
        return false;
    if (size > source->size - offset)
        size = source->size - offset;
    return source_read(source, offset + size - 1, &last, 1) != 1;
}

static uint64_t round_up(uint64_t offset, uint64_t stride)
{
    return (offset + stride - 1) / stride * stride;
}

uint64_t source_next_data(struct source *source, uint64_t offset, uint64_t stride)
{
    offset = round_up(offset, stride);
    while (!source->stored && !source->is_packed && offset < source->size &&
           source->size - offset > asked_for_holes * stride) {
        if (offset >= source->data_from && offset < source->data_to)
            return offset;
        if (source->fd < 0 && open_again(source) != 0)
            break;
        const off_t from = lseek(source->fd, (off_t)offset, SEEK_DATA);
        if (from < 0 && errno != ENXIO) /* a file system that knows no holes */
            return offset;
        if (from < 0)
            return source->size;
        const off_t to = lseek(source->fd, from, SEEK_HOLE);
        source->data_from = (uint64_t)from;
        source->data_to = to > from ? (uint64_t)to : source->size;
        offset = round_up(source->data_from, stride);
    }
    return offset < source->size ? offset : source->size;
}
