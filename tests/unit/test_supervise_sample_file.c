/* The supervisor's own file, on a disk that is full for a while. */
#include <dirent.h>
#include <fcntl.h>
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

#include "supervise/now.h"
#include "supervise/sample_file.h"

enum { SEGMENT_RECORDS = 3000, CAP = 1 << 20 };
static const int64_t patience_ns = 60000000000;

static void put_many(struct sample_file *file)
{
    for (int i = 0; i < SEGMENT_RECORDS; i++)
        sample_file_put(file, SS_COUNTER_ID_SELF_CPU, SS_SYSTEM_VALUE, 0, now_raw_ns(), 1);
    sample_file_flush(file);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void remove_all(const char *path)
{
    char name[512];
    DIR *const dir = opendir(path);

    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        (void)unlink(name);
    }
    closedir(dir);
    assert_int_equal(rmdir(path), 0);
}

static void a_disk_that_was_full_is_written_again(void **state)
{
    char dir[] = "/tmp/stepscope-sample-file-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(dir));
    const int dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
    struct sample_file *const file = sample_file_make(dir_fd, CAP, now_raw_ns());
    assert_non_null(file);
    limit_files(2 * SS_SEGMENT_BYTES);
    put_many(file);
    assert_true(sample_file_used(file) == 1);
    limit_files(RLIM_INFINITY);
    const int64_t until_ns = now_ns() + patience_ns;
    while (sample_file_used(file) == 1 && now_ns() < until_ns)
        usleep(1000);
    const double before = sample_file_used(file);
    put_many(file);
    assert_true(before < sample_file_used(file));
    assert_true(sample_file_used(file) < 1);
    for (int i = 0; i < CAP / SS_UNIT / SEGMENT_RECORDS + 1; i++)
        put_many(file);
    assert_true(sample_file_used(file) == 1); /* at its cap for good */
    sample_file_end(file);
    close(dir_fd);
    remove_all(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disk_that_was_full_is_written_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
