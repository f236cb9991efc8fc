#include "recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "stepscope/reader.h"
#include "stepscope/recorder.h"

enum { ROUNDS_TO_WAIT = 2, MOST_MS = 2000 };

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

const char *recording_place(void)
{
    const char *place = getenv("BENCH_DIR");
    if (!place)
        place = getenv("TMPDIR");
    return place ? place : "/var/tmp";
}

const char *recording_file_system(void)
{
    static const struct {
        long magic;
        const char *name;
    } known[] = {{0xef53, "ext4"},         {0x58465342, "xfs"}, {0x9123683e, "btrfs"},
                 {0x01021994, "tmpfs"},    {0x6969, "nfs"},     {0x2fc12fc1, "zfs"},
                 {0x794c7630, "overlayfs"}};
    struct statfs fs;
    if (statfs(recording_place(), &fs) == 0)
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if ((long)fs.f_type == known[i].magic)
                return known[i].name;
    return "an unknown file system";
}

/* Calls visit() for every file in a directory that no one else changes. */
static void each_file(const char *dir, void (*visit)(const char *path, void *), void *argument)
{
    DIR *list = opendir(dir);
    struct dirent *entry;
    while (list && (entry = readdir(list))) {
        char path[PATH_MAX + 256];
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            visit(path, argument);
    }
    if (list)
        closedir(list);
}

static void map_header(const char *path, void *argument)
{
    const struct ss_file_header **header = argument;
    size_t length = strlen(path), suffix = strlen(SS_FILE_SUFFIX);
    if (length < suffix || strcmp(path + length - suffix, SS_FILE_SUFFIX) != 0)
        return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    void *mapped = mmap(NULL, sizeof **header, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped != MAP_FAILED)
        *header = mapped;
}

static void remove_file(const char *path, void *unused)
{
    (void)unused;
    unlink(path);
}

void recording_start(struct recording *recording)
{
    snprintf(recording->dir, sizeof recording->dir, "%s/stepscope-bench-XXXXXX", recording_place());
    if (!mkdtemp(recording->dir))
        fail(recording->dir, strerror(errno));
    struct ss_options options = {.dir = recording->dir, .rank = -1, .cap_bytes = 8ull << 30};
    if (ss_start(&options) != 0)
        fail("the recorder does not start", ss_status());
    recording->header = NULL;
    each_file(recording->dir, map_header, &recording->header);
    if (!recording->header)
        fail(recording->dir, "no process file appeared");
}

uint64_t recording_beats(const struct recording *recording)
{
    return *(const volatile uint64_t *)&recording->header->beats;
}

void recording_catch_up(const struct recording *recording)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    uint64_t start = recording_beats(recording);
    for (int ms = 0; recording_beats(recording) - start < ROUNDS_TO_WAIT; ms++) {
        if (ms == MOST_MS)
            fail("the recorder's helper thread does not come round", ss_status());
        nanosleep(&nap, NULL);
    }
}

static void check_lane(struct ss_run *run, size_t lane, struct recording_check *check)
{
    struct ss_record record;
    struct ss_cursor *cursor = ss_cursor_new(run, lane);
    if (!cursor)
        fail("the run cannot be read back", "out of memory");
    while (ss_cursor_next(cursor, &record)) {
        check->spans += record.kind == SS_KIND_SPAN;
        if (record.kind == SS_KIND_LOST && record.start_ns < check->first_loss_ns)
            check->first_loss_ns = record.start_ns;
    }
    ss_cursor_free(cursor);
    check->lost += ss_run_lane(run, lane)->lost_records;
}

struct recording_check recording_finish(struct recording *recording)
{
    struct recording_check check = {.first_loss_ns = INT64_MAX};
    struct ss_error error;
    ss_stop();
    struct ss_run *run = ss_run_open(recording->dir, &error);
    if (!run || ss_run_processes(run) == 0)
        fail("the run cannot be read back", run ? "it has no process" : error.message);
    for (size_t lane = 0; lane < ss_run_lanes(run); lane++)
        check_lane(run, lane, &check);
    const struct ss_process *process = ss_run_process(run, 0);
    check.first_loss_ns -= process->start_ns;
    check.span_cost_ps = process->span_cost_ps;
    check.helper_cpu_ns = process->helper_cpu_ns;
    ss_run_close(run);
    munmap((void *)(uintptr_t)recording->header, sizeof *recording->header);
    each_file(recording->dir, remove_file, NULL);
    rmdir(recording->dir);
    return check;
}

const char *recording_spoilt(struct recording_check check, uint64_t expected, char *text,
                             size_t size)
{
    if (check.lost == 0 && check.spans == expected)
        return NULL;
    snprintf(text, size, "%llu of %llu spans read back, %llu records dropped",
             (unsigned long long)check.spans, (unsigned long long)expected,
             (unsigned long long)check.lost);
    return text;
}
