/* export/event_file: whole events, whatever happens to the file. What is in an event is looked at
 * by tests/tensorboard. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "export/event_file.h"

enum { MOST = 1 << 20 };

static char folder[64];
static uint8_t bytes[MOST];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/stepscope-events-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static uint64_t little(const uint8_t *at, unsigned size)
{
    uint64_t value = 0;

    for (unsigned i = size; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static uint32_t masked(const uint8_t *data, size_t size)
{
    const uint32_t sum = crc32c(data, size);

    return (sum >> 15 | sum << 17) + 0xa282ead8u;
}

/* Events of the file; fails the test unless it ends with a whole one. */
static int count_events(const char *path)
{
    FILE *file = fopen(path, "rb");
    int count = 0;

    assert_non_null(file);
    const size_t size = fread(bytes, 1, MOST, file);
    fclose(file);
    for (size_t at = 0; at < size; count++) {
        assert_true(size - at >= 16);
        const uint64_t body = little(bytes + at, 8);
        assert_true(body <= size - at - 16);
        assert_int_equal(little(bytes + at + 8, 4), masked(bytes + at, 8));
        assert_int_equal(little(bytes + at + 12 + body, 4), masked(bytes + at + 12, body));
        at += 16 + body;
    }
    return count;
}

static void write_one(struct event_file *file, int64_t step)
{
    struct event event = {0};

    event_begin(&event, INT64_C(1800000000000000000), step);
    event_scalar(&event, "step time", "mean ms", 1.5);
    assert_false(event.failed);
    event_file_add(file, &event);
    event_file_flush(file);
    event_release(&event);
}

static void a_file_begins_with_its_version(void **state)
{
    struct event_file file;

    (void)state;
    assert_int_equal(event_file_init(&file, folder, "box", false), 0);
    assert_null(file.path);
    write_one(&file, 1);
    assert_int_equal(count_events(file.path), 2);
    assert_non_null(memmem(bytes, 64, "brain.Event:2", 13));
    write_one(&file, 2);
    assert_int_equal(count_events(file.path), 3);
    assert_true(event_file_is_ours(file.path));
    event_file_release(&file);
}

static void a_file_that_was_removed_is_made_again(void **state)
{
    struct event_file file;

    (void)state;
    assert_int_equal(event_file_init(&file, folder, "box", false), 0);
    write_one(&file, 1);
    char *first = strdup(file.path);
    assert_int_equal(remove_folder(NULL), 0);
    write_one(&file, 2);
    assert_int_equal(count_events(file.path), 2); /* the version, and the new one */
    assert_string_not_equal(file.path, first);
    assert_int_equal(file.made, 2);
    assert_int_equal(file.given_up, 0);
    free(first);
    event_file_release(&file);
}

/* As on a full disk: some of a write comes through, the rest does not. */
static void a_write_that_fails_leaves_whole_events(void **state)
{
    struct event_file file;
    struct rlimit before, small;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(event_file_init(&file, folder, "box", false), 0);
    write_one(&file, 1);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = (rlim_t)file.size + 10;
    setrlimit(RLIMIT_FSIZE, &small);
    write_one(&file, 2);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(file.given_up, 1);
    assert_int_equal(count_events(file.path), 2);
    write_one(&file, 3); /* there is room again */
    assert_int_equal(count_events(file.path), 3);
    event_file_release(&file);
}

static void a_hidden_file_shows_when_it_is_published(void **state)
{
    struct event_file file;

    (void)state;
    assert_int_equal(event_file_init(&file, folder, "box", true), 0);
    write_one(&file, 1);
    assert_false(event_file_is_ours(file.path));
    assert_int_equal(event_file_publish(&file), 0);
    assert_true(event_file_is_ours(file.path));
    assert_int_equal(access(file.path, F_OK), 0);
    event_file_release(&file);

    DIR *list = opendir(folder);
    int found = 0;
    for (struct dirent *entry; (entry = readdir(list));)
        found += event_file_is_ours(entry->d_name);
    closedir(list);
    assert_int_equal(found, 1);
}

static void a_hidden_file_that_is_given_up_leaves_nothing(void **state)
{
    struct event_file file;

    (void)state;
    assert_int_equal(event_file_init(&file, folder, "box", true), 0);
    write_one(&file, 1);
    event_file_discard(&file);
    event_file_release(&file);
    assert_int_equal(rmdir(folder), 0);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_file_begins_with_its_version),
        WITH_FOLDER(a_file_that_was_removed_is_made_again),
        WITH_FOLDER(a_write_that_fails_leaves_whole_events),
        WITH_FOLDER(a_hidden_file_shows_when_it_is_published),
        WITH_FOLDER(a_hidden_file_that_is_given_up_leaves_nothing),
    };
    if (!event_can_encode()) {
        printf("1..0 # skip: built without nanopb\n");
        return 0;
    }
    return cmocka_run_group_tests_name("export/event_file", tests, NULL, NULL);
}
