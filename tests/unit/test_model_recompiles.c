/* What marks say of functions that are compiled again: whatever is in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/recompiles.h"

static void add(struct recompiles *recompiles, const char *text)
{
    recompiles_add(recompiles, (struct ss_text){text, strlen(text)});
}

static void check(const struct recompiled *found, const char *function, uint64_t count,
                  const char *reason)
{
    assert_non_null(found);
    assert_string_equal(found->function, function);
    assert_int_equal(found->count, count);
    assert_string_equal(found->reason, reason);
}

static void the_most_frequent_function_with_its_last_reason(void **state)
{
    (void)state;
    struct recompiles all = {0};
    assert_null(recompiles_most(&all, ""));
    add(&all, "f (/home/me/train.py:12): a changed");
    add(&all, "g (net.py:3): b: 1, not 2");
    add(&all, "g (net.py:3): c (d): changed");
    add(&all, "gg (net.py:9): e changed");
    check(recompiles_most(&all, ""), "g (net.py:3)", 2, "c (d): changed");
    check(recompiles_most(&all, "f"), "f (train.py:12)", 1, "a changed");
    check(recompiles_most(&all, "gg"), "gg (net.py:9)", 1, "e changed");
    assert_null(recompiles_most(&all, "h"));
}

static void marks_of_another_form(void **state)
{
    (void)state;
    static const char *const texts[] = {"f",    "f: ",   ": x", "f (", "f ()",
                                        "f (/", "f (a)", "",    ": "};
    struct recompiles all = {0};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        add(&all, texts[i]);
    recompiles_add(&all, (struct ss_text){NULL, 0});
    check(&all.function[0], "f", 4, ""); /* also without a file */
    check(&all.function[1], "", 4, "");
}

static void long_texts_and_many_functions(void **state)
{
    (void)state;
    struct recompiles all = {0};
    char text[1000];
    memset(text, 'x', sizeof text);
    recompiles_add(&all, (struct ss_text){text, sizeof text});
    memcpy(text + 500, ": ", 2);
    recompiles_add(&all, (struct ss_text){text, sizeof text});
    assert_int_equal(all.count, 1);
    assert_int_equal(strlen(all.function[0].function), RECOMPILED_TEXT - 1);
    assert_int_equal(strlen(all.function[0].reason), RECOMPILED_REASON - 1);
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "f%d (a.py:%d): r", i, i);
        add(&all, text);
    }
    assert_int_equal(all.count, RECOMPILED_FUNCTIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_frequent_function_with_its_last_reason),
        cmocka_unit_test(marks_of_another_form),
        cmocka_unit_test(long_texts_and_many_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
