/* doctor: texts that others wrote, the list of mounts and what a Python answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "doctor/checks.h"
#include "doctor/interpreters.h"

static const char mounts[] =
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"
    "30 22 0:28 / /data rw,relatime - xfs /dev/sdb rw\n"
    "31 30 0:29 / /data/with\\040blank rw - nfs4 box:/export rw\n"
    "32 22 0:30 / /data2 rw,relatime master:3 propagate_from:2 - btrfs /dev/sdc rw\n"
    "33 22 0:31 / /twice rw - ext4 /dev/sdd rw\n"
    "34 33 0:32 / /twice rw - tmpfs tmpfs rw\n";

static void expect_type(const char *text, const char *path, const char *wanted)
{
    char type[16];

    assert_int_equal(mount_text_type(text, path, type, sizeof type), wanted[0] != '\0');
    assert_string_equal(type, wanted);
}

static void the_nearest_mount_holds_a_path(void **state)
{
    (void)state;

    expect_type(mounts, "/", "ext4");
    expect_type(mounts, "/home/me", "ext4");
    expect_type(mounts, "/data", "xfs");
    expect_type(mounts, "/data/runs", "xfs");
    expect_type(mounts, "/data2/runs", "btrfs"); /* not below /data */
    expect_type(mounts, "/data/with blank/runs", "nfs4");
    expect_type(mounts, "/data/with\\040blank", "xfs");
    expect_type(mounts, "/twice/runs", "tmpfs"); /* the last one covers the first */
}

static void odd_lists_of_mounts_give_no_type(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "",
        "\n\n\n",
        "1 2 3",
        "1 2 3 4 /",
        "1 2 3 4 / rw",
        "1 2 3 4 / rw -",
        "1 2 3 4 / rw - ",
        "1 2 3 4  rw - ext4 /dev/vda rw\n",
        "1 2 3 4 /elsewhere rw - ext4 /dev/vda rw\n",
        "1 2 3 4 /\\04 rw - ext4 /dev/vda rw\n",
        "1 2 3 4 / rw - a-type-with-a-very-long-name /dev/vda rw\n",
    };

    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        expect_type(odd[i], "/home", "");
}

/* Whatever is cut off or changed: an answer or none, never a read past the end. The copies are as
 * long as their text, so that a sanitizer sees one. */
static void no_list_of_mounts_breaks_it(void **state)
{
    (void)state;
    char type[16];

    for (size_t size = 0; size < sizeof mounts; size++) {
        char *copy = strndup(mounts, size);
        (void)mount_text_type(copy, "/data/with blank", type, sizeof type);
        if (size > 0) {
            copy[size / 2] = (char)(size * 131);
            (void)mount_text_type(copy, "/data/with blank", type, sizeof type);
        }
        free(copy);
    }
}

static void a_python_says_what_it_is(void **state)
{
    (void)state;
    struct interpreter python = {0};

    assert_true(interpreters_parse("cpython 3.11.7 1 0 /usr/bin/python3.11\n", &python));
    assert_string_equal(python.implementation, "cpython");
    assert_string_equal(python.version, "3.11.7");
    assert_true(python.has_extension);
    assert_false(python.is_free_threaded);
    assert_string_equal(python.path, "/usr/bin/python3.11");

    /* what a sitecustomize prints before it; a path with blanks */
    assert_true(interpreters_parse("hello\nworld\npypy 3.10.2 0 1 /opt/a b/pypy3", &python));
    assert_string_equal(python.implementation, "pypy");
    assert_false(python.has_extension);
    assert_true(python.is_free_threaded);
    assert_string_equal(python.path, "/opt/a b/pypy3");
}

static void other_answers_are_none(void **state)
{
    (void)state;
    static const char *const odd[] = {"",
                                      "\n",
                                      "cpython",
                                      "cpython 3.11.7",
                                      "cpython 3.11.7 1 0",
                                      "cpython 3.11.7 1 0 ",
                                      "cpython 3.11.7 1 0 relative/python",
                                      "cpython 3.11.7 x 0 /usr/bin/python3",
                                      "pyenv: python3: command not found\n",
                                      "aVeryLongNameOfAnImplementationThatIsNone 3.1 1 0 /x"};
    struct interpreter python = {0};

    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        assert_false(interpreters_parse(odd[i], &python));

    static char endless[2 * PATH_MAX];
    memset(endless, '/', sizeof endless - 1);
    memcpy(endless, "cpython 3.11.7 1 0 ", 19);
    assert_false(interpreters_parse(endless, &python));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_mount_holds_a_path),
        cmocka_unit_test(odd_lists_of_mounts_give_no_type),
        cmocka_unit_test(no_list_of_mounts_breaks_it),
        cmocka_unit_test(a_python_says_what_it_is),
        cmocka_unit_test(other_answers_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
