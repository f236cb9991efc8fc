/* What kill_writer records and kill_check expects: each thread goes through the same calls again
 * and again, so the number of calls that have returned says everything about what it has recorded.
 * That number is in memory that the parent shares and that no kill can take away. */
#ifndef TESTS_KILL_PATTERN_H
#define TESTS_KILL_PATTERN_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stepscope/recorder.h"

enum { KILL_THREADS = 4, KILL_NAMES = 7, KILL_LEVELS = 3 };

/* tests/record/test_kill.py knows these offsets. */
struct kill_area {
    _Atomic uint32_t ready; /* the recorder is on */
    uint32_t reserved[15];
    struct {
        _Atomic uint64_t calls; /* that have returned */
        uint32_t tid;
        uint32_t reserved[13];
    } thread[KILL_THREADS];
};

static const struct {
    const char *text;
    enum ss_stage stage;
} KILL_NAME[KILL_NAMES] = {
    {"step", SS_STAGE_USER},         {"data", SS_STAGE_DATA},         {"forward", SS_STAGE_FORWARD},
    {"backward", SS_STAGE_BACKWARD}, {"callback", SS_STAGE_CALLBACK}, {"log", SS_STAGE_SYNC},
    {"save", SS_STAGE_CHECKPOINT},
};

enum kill_verb { KILL_BEGIN, KILL_SWITCH, KILL_END };

static const struct kill_call {
    enum kill_verb verb;
    unsigned name; /* BEGIN, SWITCH */
    unsigned flags;
} KILL_CALL[] = {
    {KILL_BEGIN, 0, 0},
    {KILL_BEGIN, 1, SS_FLAG_PRODUCER},
    {KILL_SWITCH, 2, SS_FLAG_TRAIN}, /* ends "data" */
    {KILL_SWITCH, 3, SS_FLAG_TRAIN}, /* ends "forward" */
    {KILL_END, 0, 0},
    {KILL_BEGIN, 4, 0},
    {KILL_BEGIN, 5, 0},
    {KILL_END, 0, SS_FLAG_FAILED},
    {KILL_END, 0, 0},
    {KILL_END, 0, 0},
    {KILL_BEGIN, 6, 0},
    {KILL_END, 0, 0},
};
enum { KILL_CALLS = sizeof KILL_CALL / sizeof KILL_CALL[0], KILL_SPANS = 7 };

/* Argument of the span that this call ends: no two are the same, none is 0. */
static inline int64_t kill_argument(unsigned thread, uint64_t call)
{
    return (int64_t)((call * 4 + thread + 1) * 0x9e3779b97f4a7c15u);
}

static inline struct kill_area *kill_area_map(const char *path)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    void *area =
        fd < 0 ? MAP_FAILED
               : mmap(NULL, sizeof(struct kill_area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return area == MAP_FAILED ? NULL : area;
}

#endif
