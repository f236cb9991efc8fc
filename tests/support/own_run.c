#include "support/own_run.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* The first round may have begun before the call, so the second one is waited for. */
enum { ROUNDS_TO_WAIT = 3, MOST_MS = 20000 };

int own_run_setup(void **state)
{
    const char *place = getenv("TMPDIR");
    struct own_run *own = calloc(1, sizeof *own);

    *state = own;
    if (!own)
        return -1;
    snprintf(own->dir, sizeof own->dir, "%s/stepscope-record-XXXXXX", place ? place : "/tmp");
    return mkdtemp(own->dir) ? 0 : -1;
}

static bool has_text(const struct ss_record *record)
{
    return record->kind == SS_KIND_MARK || record->kind == SS_KIND_HOOK ||
           record->kind == SS_KIND_THREAD_BEGIN;
}

static void forget(struct own_run *own)
{
    if (own->header)
        munmap((void *)(uintptr_t)own->header, sizeof *own->header);
    own->header = NULL;
    for (size_t i = 0; i < own->count; i++)
        if (has_text(&own->records[i])) {
            free((void *)(uintptr_t)own->records[i].u.text.a.data);
            free((void *)(uintptr_t)own->records[i].u.text.b.data);
        }
    own->count = 0;
    ss_run_close(own->run);
    own->run = NULL;
}

static void empty_directory(const char *path)
{
    DIR *list = opendir(path);
    struct dirent *entry;

    while (list && (entry = readdir(list))) {
        char file[PATH_MAX];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (entry->d_type == DT_REG)
            unlink(file);
    }
    if (list)
        closedir(list);
}

void own_run_clear(struct own_run *own)
{
    forget(own);
    empty_directory(own->dir);
}

int own_run_teardown(void **state)
{
    struct own_run *own = *state;

    ss_stop();
    own_run_clear(own);
    rmdir(own->dir);
    free(own->records);
    free(own);
    return 0;
}

/* A mapping of our own, since that of the recorder goes away when it stops. */
static void map_header(struct own_run *own)
{
    const char *path = strchr(ss_status(), '/');
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    assert_true(fd >= 0);
    void *mapped = mmap(NULL, sizeof *own->header, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    assert_true(mapped != MAP_FAILED);
    own->header = mapped;
}

void own_run_start(struct own_run *own, uint64_t cap_bytes)
{
    const struct ss_options options = {.dir = own->dir, .rank = -1, .cap_bytes = cap_bytes};

    assert_int_equal(ss_start(&options), SS_E_OK);
    map_header(own);
}

bool own_run_catch_up(const struct own_run *own)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    const uint64_t start = __atomic_load_n(&own->header->beats, __ATOMIC_ACQUIRE);

    for (int ms = 0; ms < MOST_MS; ms++) {
        if (__atomic_load_n(&own->header->beats, __ATOMIC_ACQUIRE) - start >= ROUNDS_TO_WAIT)
            return true;
        nanosleep(&nap, NULL);
    }
    return false;
}

void own_run_stop(struct own_run *own)
{
    ss_stop();
    own_run_open(own);
}

static void keep_text(struct ss_text *text)
{
    char *copy = malloc(text->size + 1);
    assert_non_null(copy);
    if (text->size)
        memcpy(copy, text->data, text->size);
    copy[text->size] = '\0';
    text->data = copy;
}

static void keep(struct own_run *own, const struct ss_record *record)
{
    if (own->count == own->capacity) {
        own->capacity = own->capacity ? 2 * own->capacity : 256;
        own->records = realloc(own->records, own->capacity * sizeof *own->records);
        assert_non_null(own->records);
    }
    struct ss_record *kept = &own->records[own->count++];
    *kept = *record;
    if (has_text(record)) { /* that of a cursor lasts until its next call only */
        keep_text(&kept->u.text.a);
        keep_text(&kept->u.text.b);
    }
}

void own_run_open(struct own_run *own)
{
    struct ss_error error = {0};

    forget(own);
    own->run = ss_run_open(own->dir, &error);
    assert_string_equal(error.message, "");
    assert_non_null(own->run);
    for (size_t lane = 0; lane < ss_run_lanes(own->run); lane++) {
        struct ss_cursor *cursor = ss_cursor_new(own->run, lane);
        struct ss_record record;

        assert_non_null(cursor);
        while (ss_cursor_next(cursor, &record))
            if (ss_run_lane(own->run, lane)->number != SS_CONTROL_LANE)
                keep(own, &record);
        ss_cursor_free(cursor);
    }
    assert_int_equal(ss_run_losses(own->run), 0);
}

size_t own_run_count(const struct own_run *own, unsigned kind)
{
    size_t n = 0;

    for (size_t i = 0; i < own->count; i++)
        n += own->records[i].kind == kind;
    return n;
}

const struct ss_record *own_run_get(const struct own_run *own, unsigned kind, size_t i)
{
    for (size_t k = 0; k < own->count; k++)
        if (own->records[k].kind == kind && i-- == 0)
            return &own->records[k];
    fail_msg("there is no such %s", ss_kind_text(kind));
    return NULL;
}

const struct ss_record *own_run_span(const struct own_run *own, size_t i)
{
    return own_run_get(own, SS_KIND_SPAN, i);
}

uint64_t own_run_lost(const struct own_run *own, size_t process)
{
    const struct ss_process *info = ss_run_process(own->run, process);
    uint64_t lost = 0;

    for (uint32_t i = 0; i < info->lanes; i++)
        lost += ss_run_lane(own->run, info->first_lane + i)->lost_records;
    return lost;
}

void own_run_check_text(struct ss_text text, const char *expected)
{
    if (text.size != strlen(expected) || memcmp(text.data, expected, text.size) != 0)
        fail_msg("\"%.*s\" is not \"%s\"", (int)text.size, text.data, expected);
}
