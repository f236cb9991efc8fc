#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/risky_calls.h"
#include "lane_memory.h"
#include "memory_limit.h"
#include "mirror.h"
#include "stepscope/error.h"
#include "system.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
    DEFAULT_CAP = 1 << 30,
    MEMORY_SHARE = 16, /* a file on tmpfs is memory that others need */
    CAP_LEAST = 2,
    GROW_SEGMENTS = 16,
    PAGE_STEP = 4096,
    UNEVICTED_MAX = 512, /* 32 MB of full segments may wait in memory */
    POOL_FRONT = 2,
    POOL_FRONT_BYTES = 32768 /* what a lane writes in a round */
};
static const int64_t EVICT_AFTER_NS = 3000000000; /* a reader that follows live gets its chance */
static const int64_t RETRY_AFTER_NS = 1000000000;

/* An atomic or with 0 makes a page writable and changes nothing, even under a concurrent store. */
static void touch_pages(unsigned char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += PAGE_STEP)
        __atomic_fetch_or((uint64_t *)(void *)(p + i), 0, __ATOMIC_RELAXED);
}

static bool populate(const struct store *store, unsigned char *p, size_t bytes)
{
    if (system_advise(p, bytes, MADV_POPULATE_WRITE) == 0)
        return true;
    /* ENOSPC and friends come as EFAULT: a touch would be a SIGBUS. Otherwise the kernel does not
     * know the call, or a filter refuses it. */
    if (errno == EFAULT || errno == ENOMEM || errno == EHWPOISON)
        return false;
    if (!store->memory && !store->is_plain && !store->in_memory)
        return false; /* a page of a file may have no room */
    touch_pages(p, bytes);
    return true;
}

void store_touch(unsigned char *p, size_t bytes)
{
    uintptr_t first = (uintptr_t)p & ~(uintptr_t)(PAGE_STEP - 1);
    size_t span = (((uintptr_t)p + bytes - first) + PAGE_STEP - 1) & ~(size_t)(PAGE_STEP - 1);
#if SYSTEM_TSAN
    (void)system_advise((void *)first, span, MADV_POPULATE_WRITE);
#else
    touch_pages((unsigned char *)first, span);
#endif
}

uint32_t store_pool_level(struct store *store)
{
    return atomic_load(&store->pool_tail) - atomic_load(&store->pool_head);
}

struct segment *store_pop(struct store *store)
{
    uint32_t head = atomic_load_explicit(&store->pool_head, memory_order_acquire);
    for (;;) {
        if (head == atomic_load_explicit(&store->pool_tail, memory_order_acquire))
            return NULL;
        struct segment *segment =
            atomic_load_explicit(&store->pool[head % POOL_SLOTS], memory_order_acquire);
        if (atomic_compare_exchange_weak_explicit(&store->pool_head, &head, head + 1,
                                                  memory_order_acq_rel, memory_order_acquire)) {
            atomic_store_explicit(&segment->state, SEGMENT_USED, memory_order_release);
            return segment;
        }
    }
}

static void push(struct store *store, struct segment *segment)
{
    uint32_t tail = atomic_load_explicit(&store->pool_tail, memory_order_relaxed);
    atomic_store_explicit(&store->pool[tail % POOL_SLOTS], segment, memory_order_release);
    atomic_store_explicit(&store->pool_tail, tail + 1, memory_order_release);
}

void store_note_error(struct store *store, int error)
{
    if (error && error != SS_E_CAP && store->header && !store_error(store))
        __atomic_store_n(&store->header->error, error, __ATOMIC_RELAXED);
}

int store_error(const struct store *store)
{
    return __atomic_load_n(&store->header->error, __ATOMIC_RELAXED);
}

static int grow(struct store *store, int64_t now_ns)
{
    if (store->closed || now_ns < store->retry_ns)
        return SS_E_CAP;
    uint32_t room = store->cap - store->count;
    int error = store_file_grow(store, room < GROW_SEGMENTS && room ? room : GROW_SEGMENTS);
    if (error && error != SS_E_CAP)
        error = store_file_grow(store, 1); /* the last room of a small disk or limit */
    if (error && error != SS_E_CAP) {
        store->retry_ns = now_ns + RETRY_AFTER_NS;
        store_note_error(store, error);
    }
    if (store->header)
        store->header->segments = store->count;
    return error;
}

struct given_up {
    uint64_t records, by_stage[SS_STAGE_SLOTS];
};

static void count_records(struct given_up *out, const unsigned char *base,
                          uint8_t (*stage_of)(uint16_t name))
{
    size_t at = SS_SEGMENT_HEADER_BYTES;
    memset(out, 0, sizeof *out);
    while (at < SS_SEGMENT_BYTES) {
        struct ss_head head;
        memcpy(&head, base + at, sizeof head);
        if (head.kind == 0 || head.units == 0) /* the file may have been changed */
            break;
        out->records++;
        if (head.kind == SS_KIND_SPAN)
            out->by_stage[stage_of(head.name) % SS_STAGE_SLOTS]++;
        at += (size_t)head.units * SS_UNIT;
    }
}

/* `sign` is 1, or -1 to take it back. */
static void add_given_up(struct ss_file_header *header, const struct given_up *more, int sign)
{
    const uint64_t times = (uint64_t)sign; /* sums go round */
    header->reused_records += more->records * times;
    header->reused_segments += times;
    for (unsigned i = 0; i < SS_STAGE_SLOTS; i++)
        header->reused_by_stage[i] += more->by_stage[i] * times;
}

/* There is nothing in its memory any more: all is in the file. */
static bool empty_in_file(struct store *store, struct segment *segment,
                          uint8_t (*stage_of)(uint16_t name))
{
    struct given_up counts;
    bool done = mirror_read(store, segment, segment->base);
    count_records(&counts, segment->base, stage_of);
    memset(segment->base, 0, SS_SEGMENT_BYTES);
    if (!done)
        return false;
    add_given_up(store->header, &counts, 1);
    done = mirror_clear(store, segment) == SS_E_OK;
    if (!done)
        add_given_up(store->header, &counts, -1);
    return done;
}

/* Zeroes a segment, and counts what it held before it does so: a process that is killed in between
 * has counted too much, not given up records uncounted. False: it cannot be done now. */
static bool empty(struct store *store, struct segment *segment, uint8_t (*stage_of)(uint16_t name))
{
    if (store->memory)
        return empty_in_file(store, segment, stage_of);
    struct given_up counts;
    count_records(&counts, segment->base, stage_of);
    add_given_up(store->header, &counts, 1);
    struct ss_segment_header *header = (struct ss_segment_header *)(void *)segment->base;
    __atomic_store_n(&header->lease, 0, __ATOMIC_SEQ_CST); /* before any byte of it changes */
    memset(segment->base, 0, SS_SEGMENT_BYTES);
    return true;
}

/* The oldest full segment after the first quarter, which stays as the head of the run. What was
 * passed over once stays: the search goes on behind it. */
static struct segment *give_up_oldest(struct store *store, uint8_t (*stage_of)(uint16_t name))
{
    struct segment *before = store->kept_last;
    struct segment *segment = before ? before->next : store->sealed_first;
    while (segment && segment != store->write_next &&
           (segment->keep || segment->index < store->count / 4)) {
        before = segment;
        segment = segment->next;
    }
    store->kept_last = before;
    if (!segment || segment == store->write_next ||
        (!segment->base && store_file_map(store, segment) != SS_E_OK))
        return NULL;
    if (!empty(store, segment, stage_of))
        return NULL;
    *(before ? &before->next : &store->sealed_first) = segment->next;
    if (store->sealed_last == segment)
        store->sealed_last = before;
    if (store->evict_next == segment)
        store->evict_next = segment->next;
    if (segment->sealed_ns >= 0) /* not yet evicted: see store_evict() */
        store->unevicted--;
    return segment;
}

static struct segment *make_ready(struct store *store, bool may_grow,
                                  uint8_t (*stage_of)(uint16_t name))
{
    if (!store->fresh && may_grow)
        grow(store, system_coarse_ns());
    struct segment *segment = store->fresh;
    if (segment)
        store->fresh = segment->next;
    else if (stage_of && !store->closed)
        segment = give_up_oldest(store, stage_of);
    if (!segment)
        return NULL;
    if ((!segment->base && store_file_map(store, segment) != SS_E_OK) ||
        !populate(store, segment->base, SS_SEGMENT_BYTES)) {
        store_note_error(store, SS_E_NOSPACE);
        store->retry_ns = system_coarse_ns() + RETRY_AFTER_NS;
        segment->next = store->fresh;
        store->fresh = segment;
        return NULL;
    }
    segment->lease = ++store->leases;
    memset(segment->copied, 0, sizeof segment->copied);
    atomic_store_explicit(&segment->state, SEGMENT_READY, memory_order_relaxed);
    segment->next = NULL;
    *store->in_use_end = segment;
    store->in_use_end = &segment->next;
    return segment;
}

void store_fill(struct store *store, uint32_t want, uint8_t (*stage_of)(uint16_t name))
{
    want = want > POOL_SLOTS ? POOL_SLOTS : want;
    pthread_mutex_lock(&store->lock);
    /* Not more in one go: lanes may take them as fast as they come, and the helper is waited
     * for. */
    for (uint32_t n = 0; n < want && !store->closed && store_pool_level(store) < want; n++) {
        if (!store->fresh && system_coarse_ns() < store->retry_ns && !store->sealed_first)
            break;
        /* At most a quarter of the file waits empty while another part is given up for it. */
        bool needed = store_pool_level(store) <= store->count / 4;
        if (store->unwritten + store_pool_level(store) >= store->unwritten_max && store->memory)
            break;
        struct segment *segment = make_ready(store, true, needed ? stage_of : NULL);
        if (!segment)
            break;
        push(store, segment);
    }
    pthread_mutex_unlock(&store->lock);
}

/* For threads of the program. The helper may hold the lock and wait for a disk. */
static bool lock_soon(struct store *store)
{
    struct timespec soon;
    if (!store->memory)
        return pthread_mutex_lock(&store->lock) == 0;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += LOCK_PATIENCE_NS;
    soon.tv_sec += soon.tv_nsec / 1000000000;
    soon.tv_nsec %= 1000000000;
    return pthread_mutex_timedlock(&store->lock, &soon) == 0;
}

struct segment *store_take(struct store *store)
{
    struct segment *segment = store_pop(store);
    if (segment)
        return segment;
    if (!lock_soon(store))
        return NULL;
    segment = make_ready(store, !store->memory, NULL);
    if (segment)
        atomic_store_explicit(&segment->state, SEGMENT_USED, memory_order_relaxed);
    pthread_mutex_unlock(&store->lock);
    return segment;
}

/* Neighbours in the file, and in memory: one system call for all of them. */
struct stretch {
    unsigned char *base;
    uint32_t first, count;
};

static bool stretch_takes(struct stretch *stretch, const struct segment *segment)
{
    if (stretch->count > 0 &&
        (segment->index != stretch->first + stretch->count ||
         (segment->base &&
          segment->base != stretch->base + (size_t)stretch->count * SS_SEGMENT_BYTES)))
        return false;
    if (stretch->count++ == 0) {
        stretch->base = segment->base;
        stretch->first = segment->index;
    }
    return true;
}

/* Unmapped before it is written back: a page that is mapped must be protected first, and each one
 * interrupts all processors of the program. */
static void write_back(const struct store *store, struct stretch *stretch)
{
    const size_t bytes = (size_t)stretch->count * SS_SEGMENT_BYTES;
    if (bytes > 0 && !store->memory) {
        munmap(stretch->base, bytes);
        if (!store->in_memory && !risky_call_kills(RISKY_WRITEBACK)) {
            (void)sync_file_range(store->fd, (off_t)stretch->first * SS_SEGMENT_BYTES, (off_t)bytes,
                                  SYNC_FILE_RANGE_WRITE);
        }
    }
    stretch->count = 0;
}

static void seal(struct store *store, struct segment *segment, int64_t now_ns)
{
    segment->next = NULL;
    if (!store->memory)
        segment->base = NULL;
    segment->sealed_ns = now_ns;
    *(store->sealed_last ? &store->sealed_last->next : &store->sealed_first) = segment;
    store->sealed_last = segment;
    if (!store->evict_next)
        store->evict_next = segment;
    store->unevicted++;
    if (!store->memory)
        return;
    store->unwritten++;
    if (!store->write_next)
        store->write_next = segment;
}

uint32_t store_collect_sealed(struct store *store, int64_t now_ns)
{
    struct stretch stretch = {NULL, 0, 0};
    uint32_t n = 0;
    pthread_mutex_lock(&store->lock);
    for (struct segment **link = &store->in_use; *link;) {
        struct segment *segment = *link;
        if (atomic_load_explicit(&segment->state, memory_order_acquire) != SEGMENT_SEALED) {
            link = &segment->next;
            continue;
        }
        *link = segment->next;
        if (!*link)
            store->in_use_end = link;
        if (!stretch_takes(&stretch, segment)) {
            write_back(store, &stretch);
            (void)stretch_takes(&stretch, segment);
        }
        seal(store, segment, now_ns);
        n++;
    }
    write_back(store, &stretch);
    pthread_mutex_unlock(&store->lock);
    return n;
}

static void leave_cache(const struct store *store, struct stretch *stretch)
{
    if (stretch->count > 0 && !store->in_memory && !risky_call_kills(RISKY_WRITEBACK)) {
        (void)posix_fadvise(store->fd, (off_t)stretch->first * SS_SEGMENT_BYTES,
                            (off_t)stretch->count * SS_SEGMENT_BYTES, POSIX_FADV_DONTNEED);
    }
    stretch->count = 0;
}

void store_evict(struct store *store, int64_t now_ns)
{
    struct stretch stretch = {NULL, 0, 0};
    pthread_mutex_lock(&store->lock);
    while (store->evict_next && store->evict_next != store->write_next) {
        struct segment *segment = store->evict_next;
        bool due =
            now_ns - segment->sealed_ns >= EVICT_AFTER_NS || store->unevicted > UNEVICTED_MAX;
        if (!due || !store_file_is_ours(store))
            break;
        if (!stretch_takes(&stretch, segment)) {
            leave_cache(store, &stretch);
            (void)stretch_takes(&stretch, segment);
        }
        segment->sealed_ns = -1;
        store->evict_next = segment->next;
        store->unevicted--;
    }
    leave_cache(store, &stretch);
    pthread_mutex_unlock(&store->lock);
}

void store_follow_grant(struct store *store)
{
    const uint64_t granted = __atomic_load_n(&store->header->granted_bytes, __ATOMIC_RELAXED);
    const uint64_t segments = granted / SS_SEGMENT_BYTES;
    if (granted == 0 || store->is_gone)
        return;
    pthread_mutex_lock(&store->lock);
    const uint32_t least = store->count > CAP_LEAST ? store->count : CAP_LEAST;
    const uint32_t wanted = segments < store->own_cap ? (uint32_t)segments : store->own_cap;
    store->cap = wanted > least ? wanted : least;
    pthread_mutex_unlock(&store->lock);
}

void store_check_file(struct store *store)
{
    struct stat st;
    pthread_mutex_lock(&store->lock);
    if (store_file_is_ours(store) && fstat(store->fd, &st) == 0 && st.st_nlink == 0) {
        store_note_error(store, SS_E_GONE);
        store->is_gone = true;
        store->cap = store->count;
    }
    pthread_mutex_unlock(&store->lock);
}

void store_check_disk(struct store *store)
{
    if (store->in_memory || risky_call_kills(RISKY_WRITEBACK) || !store_file_is_ours(store))
        return;
    if (sync_file_range(store->fd, 0, PAGE_STEP, SYNC_FILE_RANGE_WAIT_BEFORE) != 0 &&
        (errno == EIO || errno == ENOSPC || errno == EDQUOT))
        store_note_error(store, errno == EIO ? SS_E_IO : SS_E_NOSPACE);
}

void store_touch_pool(struct store *store)
{
    pthread_mutex_lock(&store->lock);
    uint32_t head = atomic_load(&store->pool_head);
    uint32_t tail = atomic_load(&store->pool_tail);
    for (uint32_t i = 0; i < POOL_FRONT && head + i != tail; i++) {
        struct segment *segment = atomic_load(&store->pool[(head + i) % POOL_SLOTS]);
        store_touch(segment->base, POOL_FRONT_BYTES);
    }
    pthread_mutex_unlock(&store->lock);
}

static uint32_t cap_in_segments(const struct store *store, uint64_t cap_bytes)
{
    if (cap_bytes == 0) {
        cap_bytes = DEFAULT_CAP;
        if (store->in_memory && memory_limit_bytes() / MEMORY_SHARE < cap_bytes)
            cap_bytes = memory_limit_bytes() / MEMORY_SHARE;
    }
    const uint64_t cap = cap_bytes / SS_SEGMENT_BYTES;
    const uint64_t most = (uint64_t)SEGMENT_CHUNK * SEGMENT_CHUNKS;
    return (uint32_t)(cap < CAP_LEAST ? CAP_LEAST : cap > most ? most : cap);
}

int store_open(struct store *store, const char *dir, uint64_t cap_bytes)
{
    memset(store, 0, sizeof *store);
    pthread_mutex_init(&store->lock, NULL);
    store->in_use_end = &store->in_use;
    store->fd = store->memory_fd = -1;
    int error = store_file_choose(store, dir);
    if (!error) {
        store->cap = store->own_cap = cap_in_segments(store, cap_bytes);
        lane_memory_open(store);
        if (!store->memory)
            error = store_file_make(store);
    }
    if (!error)
        error = grow(store, 0);
    struct segment *first = error ? NULL : make_ready(store, true, NULL);
    if (!first) {
        if (store->fd >= 0)
            unlink(store->path);
        store_release(store);
        return error ? error : SS_E_NOSPACE;
    }
    atomic_store(&first->state, SEGMENT_USED);
    store->header = (struct ss_file_header *)(void *)first->base;
    store->header->segments = store->count;
    store_fill(store, POOL_START, NULL); /* the helper makes the rest, at once */
    return SS_E_OK;
}

void store_publish(struct store *store)
{
    uint64_t magic;
    memcpy(&magic, SS_FILE_MAGIC, sizeof magic);
    __atomic_store_n((uint64_t *)(void *)store->header->magic, magic, __ATOMIC_RELEASE);
}

/* Not qsort(): it may call malloc(), which the program may have hooked. */
static void sort_by_index(struct segment **segments, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        struct segment *segment = segments[i];
        uint32_t k = i;
        for (; k > 0 && segments[k - 1]->index > segment->index; k--)
            segments[k] = segments[k - 1];
        segments[k] = segment;
    }
}

void store_trim(struct store *store, uint32_t keep)
{
    pthread_mutex_lock(&store->lock);
    store->closed = true;
    struct segment *kept[POOL_SLOTS] = {NULL};
    uint32_t count = 0;
    for (struct segment *segment = store_pop(store); segment; segment = store_pop(store)) {
        atomic_store(&segment->state, SEGMENT_FRESH);
        kept[count++] = segment;
    }
    sort_by_index(kept, count); /* the end of the file is cut off */
    for (uint32_t i = 0; i < keep && i < count; i++) {
        atomic_store(&kept[i]->state, SEGMENT_READY);
        push(store, kept[i]);
    }
    uint32_t used = store->count;
    while (used > 0 && atomic_load(&store_segment(store, used - 1)->state) == SEGMENT_FRESH)
        used--;
    if (used < store->count && store_file_is_ours(store) &&
        ftruncate(store->fd, (off_t)used * SS_SEGMENT_BYTES) == 0) {
        store->header->segments = used;
        store->count = used;
        store->fresh = NULL; /* what is free in the middle is not worth a list any more */
    }
    pthread_mutex_unlock(&store->lock);
}

void store_release(struct store *store)
{
    for (uint32_t i = 0; i < SEGMENT_CHUNKS; i++) {
        for (uint32_t k = 0; store->chunks[i] && k < SEGMENT_CHUNK; k++)
            if (store->chunks[i][k].base && !store->memory)
                munmap(store->chunks[i][k].base, SS_SEGMENT_BYTES);
        if (store->chunks[i])
            munmap(store->chunks[i], SEGMENT_CHUNK * sizeof(struct segment));
    }
    lane_memory_release(store);
    if (store->fd >= 0 && store_file_is_ours(store))
        close(store->fd);
    pthread_mutex_destroy(&store->lock);
}
