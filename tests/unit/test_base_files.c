/* Paths that fit a pattern, below a folder that may be called as it likes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/files.h"

enum { TEXT = 512 };

struct found {
    const char *root;
    size_t most;
    size_t count;
    char text[TEXT]; /* what was found below the root, with blanks between */
};

static bool note(void *context, const char *path)
{
    struct found *found = context;
    const size_t used = strlen(found->text);

    snprintf(found->text + used, sizeof found->text - used, "%s%s", used > 0 ? " " : "",
             path + strlen(found->root) + 1);
    return ++found->count < found->most;
}

static const char *make(char *root, const char *const *folders)
{
    char path[TEXT];

    assert_non_null(mkdtemp(root));
    for (; *folders; folders++) {
        snprintf(path, sizeof path, "%s/%s", root, *folders);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    return root;
}

static const char *const folders[] = {
    "python3.9",      "python3.12", "python3.12/site",    "python3.9/site", "python2.7",
    "python2.7/site", "we[i]rd*",   "we[i]rd*/python3.1", ".python3.8",     NULL};

static void check(const char *below, const char *pattern, size_t most, const char *expected)
{
    char root[] = "/tmp/stepscope-match-XXXXXX", folder[TEXT];
    struct found found = {.root = make(root, folders), .most = most};

    snprintf(folder, sizeof folder, "%s%s", root, below);
    path_match(folder, pattern, note, &found);
    assert_string_equal(found.text, expected);
    assert_int_equal(file_tree_remove(root), 0);
}

static void names_are_visited_in_order(void **state)
{
    (void)state;
    check("", "python3.*", 9, "python3.12 python3.9");
}

static void a_pattern_goes_down(void **state)
{
    (void)state;
    check("", "python3*/site", 9, "python3.12/site python3.9/site");
    check("", "python3.9/site", 9, "python3.9/site");
    check("", "python3.9/other", 9, "");
    check("", "*/missing", 9, "");
}

static void a_folder_is_no_pattern(void **state)
{
    (void)state;
    check("/we[i]rd*", "python3*", 9, "we[i]rd*/python3.1");
    check("/missing", "python3*", 9, "");
}

static void the_visitor_may_have_enough(void **state)
{
    (void)state;
    check("", "python*/site", 2, "python2.7/site python3.12/site");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_visited_in_order),
        cmocka_unit_test(a_pattern_goes_down),
        cmocka_unit_test(a_folder_is_no_pattern),
        cmocka_unit_test(the_visitor_may_have_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
