/* base/buf, base/error, base/sink: bytes, errors that stay, output that fails. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/sink.h"
#include "stepscope/reader.h"

static void an_empty_buffer_is_an_empty_string(void **state)
{
    (void)state;
    struct buf buf = {0};

    assert_string_equal(buf_text(&buf), "");
    buf_add(&buf, NULL, 0);
    assert_string_equal(buf_text(&buf), "");
    assert_false(buf.failed);
    buf_release(&buf);
}

static void a_buffer_grows_and_stays_terminated(void **state)
{
    (void)state;
    struct buf buf = {0};

    for (int i = 0; i < 10000; i++) {
        buf_add(&buf, "xyz", 3);
        assert_int_equal(strlen(buf_text(&buf)), 3 * (i + 1));
    }
    assert_memory_equal(buf.data + 29997, "xyz", 4);
    for (int i = 0; i < 40000; i++)
        buf_add(&buf, "1", 1);
    assert_int_equal(buf.size, 70000);
    assert_int_equal(strlen(buf_text(&buf)), 70000);
    buf_reset(&buf);
    assert_string_equal(buf_text(&buf), "");
    buf_release(&buf);
}

static void a_buffer_formats_text_of_any_length(void **state)
{
    (void)state;
    struct buf buf = {0};

    buf_printf(&buf, "%s-%d", "a", 7);
    buf_printf(&buf, "%0500d", 0);
    buf_add_repeated(&buf, '.', 3);
    assert_int_equal(buf.size, 3 + 500 + 3);
    assert_memory_equal(buf.data, "a-70000", 7);
    assert_string_equal(buf.data + 503, "...");
    buf_release(&buf);
}

static void a_buffer_that_failed_takes_nothing_more(void **state)
{
    (void)state;
    struct buf buf = {0};

    buf_add_text(&buf, "kept");
    assert_null(buf_reserve(&buf, SIZE_MAX));
    assert_null(buf_reserve(&buf, SIZE_MAX / 2 + 2));
    assert_true(buf.failed);
    buf_add_text(&buf, "too late");
    assert_string_equal(buf_text(&buf), "kept");
    buf_reset(&buf);
    buf_add_text(&buf, "again");
    assert_string_equal(buf_text(&buf), "again");
    buf_release(&buf);
}

static void an_error_keeps_code_and_message(void **state)
{
    (void)state;
    struct ss_error error = {0};

    assert_int_equal(error_set(&error, SS_E_DAMAGED, "%s at %d", "f.ssp", 64), SS_E_DAMAGED);
    assert_int_equal(error.code, SS_E_DAMAGED);
    assert_string_equal(error.message, "f.ssp at 64");
    assert_int_equal(error_set(NULL, SS_E_IO, "this is never read"), SS_E_IO);
}

static void a_long_error_message_is_cut(void **state)
{
    (void)state;
    struct ss_error error;

    error_set(&error, SS_E_IO, "%0600d", 0);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
}

static void every_error_code_has_its_text(void **state)
{
    (void)state;

    assert_string_equal(ss_error_text(SS_E_OK), "no error");
    assert_string_equal(ss_error_text(SS_E_NOSPACE), "no space left on the device");
    for (int code = 0; code > SS_E_END; code--)
        assert_string_not_equal(ss_error_text(code), "unknown error");
    assert_string_equal(ss_error_text(SS_E_END), "unknown error");
    assert_string_equal(ss_error_text(1), "unknown error");
    assert_string_equal(ss_error_text(INT32_MIN), "unknown error");
}

static void errno_values_become_our_codes(void **state)
{
    (void)state;

    assert_int_equal(error_code_of_errno(0), SS_E_OK);
    assert_int_equal(error_code_of_errno(ENOENT), SS_E_NOTFOUND);
    assert_int_equal(error_code_of_errno(EACCES), SS_E_ACCESS);
    assert_int_equal(error_code_of_errno(ENOSPC), SS_E_NOSPACE);
    assert_int_equal(error_code_of_errno(EMFILE), SS_E_LIMIT);
    assert_int_equal(error_code_of_errno(EIO), SS_E_IO);
}

static void a_sink_passes_all_bytes_in_order(void **state)
{
    (void)state;
    static char big[40000];
    struct buf target = {0};
    struct sink sink;

    memset(big, 'b', sizeof big);
    sink_init_buf(&sink, &target);
    sink_text(&sink, "<");
    sink_write(&sink, big, sizeof big);
    sink_printf(&sink, "%d%0600d", 9, 0);
    for (int i = 0; i < 10000; i++)
        sink_text(&sink, "ab");
    assert_int_equal(sink_flush(&sink), 0);
    assert_int_equal(target.size, 1 + 40000 + 601 + 20000);
    assert_int_equal(sink.bytes, target.size);
    assert_memory_equal(target.data, "<bb", 3);
    assert_memory_equal(target.data + 40000, "b90", 3);
    assert_memory_equal(target.data + target.size - 20001, "0abab", 5);
    buf_release(&target);
}

static void a_sink_writes_to_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/stepscope-sink-XXXXXX";
    int fd = mkstemp(path);
    struct sink sink;
    char back[8] = {0};

    assert_true(fd >= 0);
    unlink(path);
    sink_init_fd(&sink, fd);
    sink_text(&sink, "hello");
    assert_int_equal(lseek(fd, 0, SEEK_END), 0); /* waits for the flush */
    assert_int_equal(sink_flush(&sink), 0);
    assert_int_equal(pread(fd, back, sizeof back, 0), 5);
    assert_string_equal(back, "hello");
    close(fd);
}

static void a_full_disk_is_seen_at_the_end(void **state)
{
    (void)state;
    int fd = open("/dev/full", O_WRONLY);
    struct sink sink;

    assert_true(fd >= 0);
    sink_init_fd(&sink, fd);
    for (int i = 0; i < 5000; i++)
        sink_text(&sink, "some text\n");
    assert_int_equal(sink_flush(&sink), SS_E_NOSPACE);
    assert_int_equal(sink.os_error, ENOSPC);
    sink_text(&sink, "more");
    assert_int_equal(sink_flush(&sink), SS_E_NOSPACE);
    close(fd);
}

static void a_sink_that_was_made_to_fail_writes_nothing(void **state)
{
    (void)state;
    struct buf target = {0};
    struct sink sink;

    sink_init_buf(&sink, &target);
    sink_text(&sink, "half");
    sink_fail(&sink, SS_E_NOMEM, ENOMEM);
    sink_fail(&sink, SS_E_IO, EIO);
    sink_text(&sink, "more");
    assert_int_equal(sink_flush(&sink), SS_E_NOMEM);
    assert_int_equal(sink.os_error, ENOMEM);
    assert_int_equal(target.size, 0);
    buf_release(&target);
}

static void a_closed_descriptor_is_an_error(void **state)
{
    (void)state;
    struct sink sink;
    int fd = open("/dev/null", O_RDONLY);

    sink_init_fd(&sink, fd);
    sink_text(&sink, "x");
    assert_int_equal(sink_flush(&sink), SS_E_IO);
    assert_int_equal(sink.os_error, EBADF);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_is_an_empty_string),
        cmocka_unit_test(a_buffer_grows_and_stays_terminated),
        cmocka_unit_test(a_buffer_formats_text_of_any_length),
        cmocka_unit_test(a_buffer_that_failed_takes_nothing_more),
        cmocka_unit_test(an_error_keeps_code_and_message),
        cmocka_unit_test(a_long_error_message_is_cut),
        cmocka_unit_test(every_error_code_has_its_text),
        cmocka_unit_test(errno_values_become_our_codes),
        cmocka_unit_test(a_sink_passes_all_bytes_in_order),
        cmocka_unit_test(a_sink_writes_to_a_file),
        cmocka_unit_test(a_full_disk_is_seen_at_the_end),
        cmocka_unit_test(a_sink_that_was_made_to_fail_writes_nothing),
        cmocka_unit_test(a_closed_descriptor_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
