/* What clock_writer and clock_check share: for each event, the readings of CLOCK_MONOTONIC_RAW
 * right before and right after the call that recorded it. The true time lies between them, however
 * long the thread was interrupted. */
#ifndef TESTS_CLOCK_EVENTS_H
#define TESTS_CLOCK_EVENTS_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CLOCK_THREADS = 2 };

struct clock_bracket {
    int64_t before_ns, after_ns;
};

struct clock_entry { /* a mark, then a span; both have the entry's number */
    struct clock_bracket mark, begin, end;
};

struct clock_area {
    _Atomic uint32_t ready; /* the recorder is on */
    uint32_t reserved[15];
    struct {
        _Atomic uint64_t count; /* entries that are filled in */
        uint32_t tid;
        uint32_t reserved[13];
    } thread[CLOCK_THREADS];
    struct clock_entry entries[]; /* those of the first thread, then those of the second */
};

/* Maps the file and says how many entries it has for each thread; NULL on failure. */
static inline struct clock_area *clock_area_map(const char *path, uint64_t *capacity)
{
    struct stat st;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    void *area = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &st) == 0 && (size_t)st.st_size > sizeof(struct clock_area)) {
        const size_t size = (size_t)st.st_size;
        area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        *capacity = (size - sizeof(struct clock_area)) / sizeof(struct clock_entry) / CLOCK_THREADS;
    }
    if (fd >= 0)
        close(fd);
    return area == MAP_FAILED ? NULL : area;
}

static inline int64_t clock_raw_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
