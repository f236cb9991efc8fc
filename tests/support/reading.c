#include "support/reading.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct ss_run *reading_open(struct synth *synth)
{
    const struct ss_blob blob = synth_blob(synth, "p-1.ssp");
    struct ss_error error = {0};
    struct ss_run *const run = ss_run_open_memory(&blob, 1, &error);

    assert_string_equal(error.message, "");
    assert_non_null(run);
    return run;
}

size_t reading_lane(const struct ss_run *run, uint32_t process, uint32_t number)
{
    for (size_t i = 0; i < ss_run_lanes(run); i++) {
        const struct ss_lane *const lane = ss_run_lane(run, i);
        if (lane->process == process && lane->number == number)
            return i;
    }
    fail_msg("process %u has no lane %u", process, number);
    return SIZE_MAX;
}

size_t reading_all(struct ss_run *run, size_t lane, struct ss_record *out, size_t max)
{
    struct ss_cursor *const cursor = ss_cursor_new(run, lane);
    struct ss_record record;
    size_t count = 0;

    assert_non_null(cursor);
    while (ss_cursor_next(cursor, &record)) {
        if (count < max)
            out[count] = record;
        count++;
    }
    ss_cursor_free(cursor);
    return count;
}

size_t reading_of(struct ss_run *run, uint32_t number, struct ss_record *out, size_t max)
{
    return reading_all(run, reading_lane(run, 0, number), out, max);
}

size_t reading_count(struct ss_run *run)
{
    return reading_all(run, SS_ALL_LANES, NULL, 0);
}

static bool has_loss(const struct ss_run *run, const struct ss_loss *wanted)
{
    for (size_t i = 0; i < ss_run_losses(run); i++) {
        const struct ss_loss *const loss = ss_run_loss(run, i);
        if (loss->kind == wanted->kind && loss->offset == wanted->offset &&
            loss->bytes == wanted->bytes)
            return true;
    }
    return false;
}

void reading_expect_losses(struct ss_run *run, const struct ss_loss *losses, size_t count)
{
    reading_count(run);
    for (size_t i = 0; i < ss_run_losses(run); i++) {
        const struct ss_loss *const loss = ss_run_loss(run, i);
        if (ss_run_losses(run) != count)
            print_message("# loss %d at %llu, %llu bytes\n", (int)loss->kind,
                          (unsigned long long)loss->offset, (unsigned long long)loss->bytes);
    }
    assert_int_equal(ss_run_losses(run), count);
    for (size_t i = 0; i < count; i++)
        assert_true(has_loss(run, &losses[i]));
}

bool text_is(struct ss_text text, const char *expected)
{
    return text.data && text.size == strlen(expected) &&
           memcmp(text.data, expected, text.size) == 0;
}

char *reading_make_dir(void)
{
    const char *const base = getenv("TMPDIR");
    char *const dir = malloc(4096);

    assert_non_null(dir);
    snprintf(dir, 4096, "%s/stepscope-test-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(dir));
    return dir;
}

void reading_remove_dir(char *dir)
{
    DIR *const entries = opendir(dir);
    const struct dirent *entry;

    assert_non_null(entries);
    while ((entry = readdir(entries)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(entries), entry->d_name, 0);
    closedir(entries);
    assert_int_equal(rmdir(dir), 0);
    free(dir);
}

static size_t read_file(const char *path, char *out, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : read(fd, out, size - 1);

    if (fd >= 0)
        close(fd);
    out[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

static uint64_t own_start_time(void)
{
    char stat[1024];
    const char *at;

    assert_true(read_file("/proc/self/stat", stat, sizeof stat) > 0);
    at = strrchr(stat, ')');
    for (int field = 2; field < 22; field++)
        at = strchr(at + 1, ' ');
    return strtoull(at, NULL, 10);
}

int64_t reading_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

void reading_make_live(struct synth *synth)
{
    struct ss_file_header *const header = synth_header(synth);
    char text[64];
    unsigned byte;

    header->pid = (uint32_t)getpid();
    header->process_start = own_start_time();
    header->state = SS_FILE_OPEN;
    header->end_ticks = 0;
    memset(header->boot_id, 0, sizeof header->boot_id);
    read_file("/proc/sys/kernel/random/boot_id", text, sizeof text);
    for (size_t i = 0, at = 0; i < 16 && sscanf(text + at, "%2x", &byte) == 1; i++) {
        header->boot_id[i] = (uint8_t)byte;
        at += 2;
        at += text[at] == '-';
    }
    synth_beat(synth, (uint64_t)reading_now_ns(), reading_now_ns());
}
