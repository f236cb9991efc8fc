#include "mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/risky_calls.h"
#include "system.h"

enum { WORD = 8, ZERO_BYTES = 4096, PARTS_MOST = SS_SEGMENT_BYTES / ZERO_BYTES };
enum { LEASE = offsetof(struct ss_segment_header, lease) };
static const int64_t RETRY_AFTER_NS = 1000000000;

/* Never written. Not const, so that it takes no space in the library that every process maps. */
static unsigned char zeros[ZERO_BYTES];

static struct iovec part(const void *bytes, size_t size)
{
    return (struct iovec){.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
}

/* The system call itself: thread sanitizers would take what it reads for a race, since threads go
 * on writing behind the records that are copied. */
static int write_parts(struct store *store, const struct iovec *parts, int count, uint64_t at)
{
    ssize_t size = 0, wrote;
    for (int i = 0; i < count; i++)
        size += (ssize_t)parts[i].iov_len;
    if (!store_file_is_ours(store))
        return SS_E_STOLEN;
    do {
        wrote = syscall(SYS_pwritev, store->fd, parts, count, (unsigned long)at,
                        (unsigned long)(at >> 32));
    } while (wrote < 0 && errno == EINTR);
    if (wrote == size)
        return SS_E_OK;
    return wrote < 0 ? error_code_of_errno(errno) : SS_E_NOSPACE;
}

/* Writes [from, to) of a segment; the word at `commit` only when all else is there. */
static int write_range(struct store *store, const struct segment *segment, size_t from, size_t to,
                       size_t commit)
{
    const unsigned char *base = segment->base;
    const uint64_t place = (uint64_t)segment->index * SS_SEGMENT_BYTES;
    const struct iovec all[] = {part(base + from, commit - from), part(zeros, WORD),
                                part(base + commit + WORD, to - commit - WORD)};
    const struct iovec word = part(base + commit, WORD);
    int error = write_parts(store, all, 3, place + from);
    return error ? error : write_parts(store, &word, 1, place + commit);
}

/* Where the records end that are whole. */
static size_t end_of_records(const unsigned char *base, size_t at, size_t limit, uint32_t *records)
{
    while (at < limit) {
        uint64_t word =
            __atomic_load_n((const uint64_t *)(const void *)(base + at), __ATOMIC_ACQUIRE);
        struct ss_head head;
        memcpy(&head, &word, sizeof head);
        if (head.kind == 0)
            break;
        at += (size_t)head.units * SS_UNIT;
        ++*records;
    }
    return at;
}

static void note_recorded(struct store *store, uint32_t lane)
{
    store->recorded_on[lane / LANE_BITS] |= (uint64_t)1 << lane % LANE_BITS;
}

static bool has_recorded(const struct store *store, uint32_t lane)
{
    return store->recorded_on[lane / LANE_BITS] >> lane % LANE_BITS & 1;
}

static int copy_records(struct store *store, struct segment *segment)
{
    const struct ss_segment_header *header = (const void *)segment->base;
    size_t from = segment->copied[0];
    uint32_t records = from ? segment->records : 0;
    size_t start = from ? from : SS_SEGMENT_HEADER_BYTES;
    size_t end = end_of_records(segment->base, start, SS_SEGMENT_BYTES, &records);
    if (from && end == from)
        return SS_E_OK;
    int error = write_range(store, segment, from, end, from ? from : LEASE);
    if (!error) {
        segment->copied[0] = (uint32_t)end;
        segment->records = records;
        note_recorded(store, header->lane);
    }
    return error;
}

/* The records inside a lane block; its head follows later (copy_block). */
static int copy_inline(struct store *store, struct segment *segment, uint32_t k)
{
    const size_t place = (size_t)(1 + k) * SS_BLOCK_BYTES;
    const size_t from = segment->copied[1 + k] ? segment->copied[1 + k] : SS_INLINE_OFFSET;
    const struct ss_lane_block *block = (const void *)(segment->base + place);
    if (__atomic_load_n(&block->magic, __ATOMIC_ACQUIRE) == 0)
        return SS_E_OK;
    uint32_t records = 0;
    size_t end = end_of_records((const unsigned char *)block, from, SS_BLOCK_BYTES, &records);
    if (end == from)
        return SS_E_OK;
    int error = write_range(store, segment, place + from, place + end, place + from);
    if (!error) {
        segment->copied[1 + k] = (uint32_t)end;
        note_recorded(store, block->lane);
    }
    return error;
}

static bool is_directory(const struct segment *segment)
{
    const struct ss_segment_header *header = (const void *)segment->base;
    return segment->index == 0 || header->kind == SS_SEGMENT_DIRECTORY;
}

/* A segment is in use once it has a lease; the first one always. */
static bool is_begun(const struct segment *segment)
{
    const struct ss_segment_header *header = (const void *)segment->base;
    return segment->index == 0 || __atomic_load_n(&header->lease, __ATOMIC_ACQUIRE) != 0;
}

static int copy_growing(struct store *store, struct segment *segment)
{
    if (!is_begun(segment))
        return SS_E_OK;
    if (!is_directory(segment))
        return copy_records(store, segment);
    int error = SS_E_OK;
    if (segment->index > 0 && segment->copied[0] == 0)
        error = write_range(store, segment, 0, SS_SEGMENT_HEADER_BYTES, LEASE);
    if (!error)
        segment->copied[0] = SS_SEGMENT_HEADER_BYTES;
    for (uint32_t k = 0; k < SS_BLOCKS_PER_SEGMENT && !error; k++)
        error = copy_inline(store, segment, k);
    return error;
}

/* What stands before the records of a lane: its owner, what is open, what was lost. */
static int copy_block(struct store *store, struct segment *segment, uint32_t k, bool all)
{
    const size_t place = (size_t)(1 + k) * SS_BLOCK_BYTES;
    const struct ss_lane_block *block = (const void *)(segment->base + place);
    if (__atomic_load_n(&block->magic, __ATOMIC_ACQUIRE) == 0)
        return SS_E_OK;
    if (segment->copied[1 + k] == 0) {
        segment->copied[1 + k] = SS_INLINE_OFFSET;
        all = true;
    }
    if (!all && !has_recorded(store, block->lane))
        return SS_E_OK;
    const struct iovec head = part(block, SS_INLINE_OFFSET);
    return write_parts(store, &head, 1, (uint64_t)segment->index * SS_SEGMENT_BYTES + place);
}

/* Until all is there for good, the process counts as one that still records. */
static int copy_header(struct store *store, bool complete)
{
    static const uint32_t open = SS_FILE_OPEN;
    static const uint64_t copy[] = {
        [SS_COPY_BEHIND] = SS_COPY_BEHIND, [SS_COPY_COMPLETE] = SS_COPY_COMPLETE};
    const unsigned char *header = (const unsigned char *)store->header;
    enum {
        STATE = offsetof(struct ss_file_header, state),
        ERROR = offsetof(struct ss_file_header, error),
        COPY = offsetof(struct ss_file_header, copy),
        AFTER = COPY + sizeof(uint64_t)
    };
    const struct iovec parts[] = {
        part(header, STATE),
        complete ? part(header + STATE, sizeof open) : part(&open, sizeof open),
        part(header + ERROR, COPY - ERROR),
        part(&copy[complete ? SS_COPY_COMPLETE : SS_COPY_BEHIND], sizeof copy[0]),
        part(header + AFTER, sizeof *store->header - AFTER),
    };
    return write_parts(store, parts, 5, 0);
}

static int copy_sealed(struct store *store)
{
    int error = SS_E_OK;
    struct segment *segment;
    while (!error && (segment = store->write_next)) {
        error = copy_records(store, segment);
        if (error)
            break;
        if (!risky_call_kills(RISKY_WRITEBACK))
            (void)sync_file_range(store->fd, (off_t)segment->index * SS_SEGMENT_BYTES,
                                  SS_SEGMENT_BYTES, SYNC_FILE_RANGE_WRITE);
        (void)system_advise(segment->base, SS_SEGMENT_BYTES, MADV_REMOVE);
        pthread_mutex_lock(&store->lock);
        store->write_next = segment->next;
        store->unwritten--;
        pthread_mutex_unlock(&store->lock);
    }
    return error;
}

/* Those that grow now, in the order of their leases; they stay where they are while this helper
 * does not seal them. */
static struct segment *list_growing(struct store *store)
{
    struct segment *first = NULL, **end = &first;
    pthread_mutex_lock(&store->lock);
    for (struct segment *segment = store->in_use; segment; segment = segment->next) {
        if (atomic_load_explicit(&segment->state, memory_order_acquire) == SEGMENT_READY)
            continue;
        *end = segment;
        end = &segment->next_growing;
    }
    *end = NULL;
    pthread_mutex_unlock(&store->lock);
    return first;
}

static int copy_all(struct store *store, bool all)
{
    struct segment *growing = list_growing(store);
    memset(store->recorded_on, 0, sizeof store->recorded_on);
    int error = copy_sealed(store);
    for (struct segment *s = growing; s && !error; s = s->next_growing)
        error = copy_growing(store, s);
    for (struct segment *s = growing; s && !error; s = s->next_growing)
        for (uint32_t k = 0; k < SS_BLOCKS_PER_SEGMENT && !error; k++)
            if (is_begun(s) && is_directory(s))
                error = copy_block(store, s, k, all);
    return error;
}

/* Another program cut the file: what is still in memory is written again, and what is not is
 * counted as given up. */
static void write_again_after(struct store *store, uint64_t size)
{
    pthread_mutex_lock(&store->lock);
    store_note_error(store, SS_E_TRUNCATED);
    for (struct segment *s = store->sealed_first; s && s != store->write_next; s = s->next) {
        if ((uint64_t)(s->index + 1) * SS_SEGMENT_BYTES <= size || s->records == 0)
            continue;
        store->header->reused_records += s->records;
        store->header->reused_segments++;
        s->records = 0;
        if ((uint64_t)s->index * SS_SEGMENT_BYTES < size)
            (void)mirror_clear(store, s); /* what is left of it is counted, too */
    }
    for (struct segment *s = store->in_use; s; s = s->next)
        memset(s->copied, 0, sizeof s->copied);
    for (struct segment *s = store->write_next; s; s = s->next)
        memset(s->copied, 0, sizeof s->copied);
    pthread_mutex_unlock(&store->lock);
    const uint32_t whole = (uint32_t)(size / SS_SEGMENT_BYTES);
    store_note_error(store, store_file_allocate(store, whole, store->count - whole));
}

static void check_size(struct store *store)
{
    struct stat status;
    const uint64_t expected = (uint64_t)store->count * SS_SEGMENT_BYTES;
    uint64_t size = expected;
    if (store_file_is_ours(store) && fstat(store->fd, &status) == 0)
        size = (uint64_t)status.st_size;
    if (store->is_cut && store->cut_bytes < size)
        size = store->cut_bytes;
    store->is_cut = false;
    if (size < expected)
        write_again_after(store, size);
}

static int copy_now(struct store *store, bool all)
{
    int error = store_file_make(store); /* it may have had no room, or been late */
    if (!error) {
        check_size(store);
        error = copy_all(store, all || store->copy_failed);
    }
    store->copy_failed = error != SS_E_OK;
    if (error) {
        store_note_error(store, error);
        store->copy_retry_ns = system_coarse_ns() + RETRY_AFTER_NS;
    }
    return error;
}

void mirror_round(struct store *store, bool all)
{
    if (store->copy_failed && system_coarse_ns() < store->copy_retry_ns)
        return;
    int error = copy_now(store, all);
    (void)copy_header(store, !error && store->closed);
}

void mirror_finish(struct store *store, uint32_t keep)
{
    store_trim(store, keep);
    int error = copy_now(store, true);
    (void)copy_header(store, !error);
}

int mirror_clear(struct store *store, const struct segment *segment)
{
    struct iovec parts[PARTS_MOST];
    for (int i = 0; i < PARTS_MOST; i++)
        parts[i] = part(zeros, ZERO_BYTES);
    return write_parts(store, parts, PARTS_MOST, (uint64_t)segment->index * SS_SEGMENT_BYTES);
}

bool mirror_read(struct store *store, const struct segment *segment, unsigned char *out)
{
    return store_file_is_ours(store) &&
           pread(store->fd, out, SS_SEGMENT_BYTES, (off_t)segment->index * SS_SEGMENT_BYTES) ==
               SS_SEGMENT_BYTES;
}
