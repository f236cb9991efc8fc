/* base/text: whatever a recorded program calls its spans, the terminal stays ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

#define R "\xef\xbf\xbd"

static void expect_safe(const char *in, size_t size, const char *wanted)
{
    struct buf out = {0};

    text_safe(&out, in, size);
    assert_string_equal(buf_text(&out), wanted);
    buf_release(&out);
}

static void expect_fit(const char *in, size_t columns, const char *wanted)
{
    struct buf out = {0};

    text_fit(&out, in, strlen(in), columns);
    assert_string_equal(buf_text(&out), wanted);
    buf_release(&out);
}

static void plain_text_of_any_language_stays(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "forward (Adam#2)",
                                        "na\xc3\xafve \xe2\x82\xac",
                                        "\xe5\x89\x8d\xe5\x90\x91",
                                        "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
                                        "e\xcc\x81t\xc3\xa9",
                                        "\xf0\x9f\x98\x80"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        expect_safe(texts[i], strlen(texts[i]), texts[i]);
    expect_safe(NULL, 0, "");
}

static void controls_never_reach_the_terminal(void **state)
{
    (void)state;

    expect_safe("\x1b[31mred\x1b[0m", 12, R "[31mred" R "[0m");
    expect_safe("a\nb\tc\rd", 7, "a b c d");
    expect_safe("\0\a\b\x7f", 4, R R R R);
    expect_safe("\xc2\x9b"
                "31m",
                5, R "31m");   /* C1: CSI in one character */
    expect_safe("\x9b", 1, R); /* the same as a bare byte */
}

static void text_can_not_be_reordered_or_hidden(void **state)
{
    (void)state;

    expect_safe("a\xe2\x80\xae"
                "b",
                5, "a" R "b"); /* right-to-left override */
    expect_safe("a\xe2\x81\xa6"
                "b",
                5, "a" R "b"); /* isolate */
    expect_safe("a\xe2\x80\x8b"
                "b",
                5, "a" R "b"); /* zero width space */
    expect_safe("a\xef\xbb\xbf"
                "b",
                5, "a" R "b"); /* byte order mark */
    expect_safe("a\xf3\xa0\x81\x81"
                "b",
                6, "a" R "b");         /* a tag letter */
    expect_safe("\xe2\x80\xa8", 3, R); /* line separator */
}

static void marks_do_not_pile_up(void **state)
{
    (void)state;
    char pile[1 + 2 * 100];
    pile[0] = 'e';
    for (size_t i = 1; i < sizeof pile; i += 2)
        memcpy(pile + i, "\xcc\x81", 2);

    /* The letter with 4 marks, then a replacement for each of the other 96. */
    assert_int_equal(text_width(pile, sizeof pile), 97);
    assert_int_equal(text_width("\xcc\x81", 2), 1);
}

static void no_character_is_dangerous(void **state)
{
    (void)state;

    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        char bytes[UTF8_MAX_BYTES];
        struct buf out = {0};
        if (c == 0xd800)
            c = 0xe000;
        text_safe(&out, bytes, utf8_put(bytes, c));
        uint32_t shown;
        assert_int_equal(utf8_next(out.data, out.size, &shown), out.size);
        assert_true(shown >= 0x20 && (shown < 0x7f || shown > 0xa0));
        assert_false(shown >= 0x202a && shown <= 0x202e);
        assert_int_equal(text_width(out.data, out.size), text_width(bytes, utf8_put(bytes, c)));
        buf_release(&out);
    }
}

static void width_counts_columns_not_bytes(void **state)
{
    (void)state;

    assert_int_equal(text_width("abc", 3), 3);
    assert_int_equal(text_width("\xc3\xa9", 2), 1);
    assert_int_equal(text_width("e\xcc\x81", 3), 1);
    assert_int_equal(text_width("\xe5\x89\x8d", 3), 2);
    assert_int_equal(text_width("\xf0\x9f\x98\x80", 4), 2);
    assert_int_equal(text_columns(0xff21), 2);
    assert_int_equal(text_columns(0x3a9), 1);
}

static void long_text_ends_in_dots(void **state)
{
    (void)state;

    expect_fit("abcdef", 6, "abcdef");
    expect_fit("abcdefg", 6, "abc...");
    expect_fit("abcdefg", 3, "...");
    expect_fit("abcdefg", 2, "..");
    expect_fit("abcdefg", 0, "");
    expect_fit("\xe5\x89\x8d\xe5\x90\x91\xe5\x89\x8d", 5, "\xe5\x89\x8d..."); /* 6 columns */
    expect_fit("\xe5\x89\x8d\xe5\x90\x91\xe5\x89\x8d", 4, "...");             /* no half */
}

static void expect_wrap(const char *in, size_t indent, size_t columns, const char *wanted)
{
    struct buf out = {0};

    text_wrap(&out, in, strlen(in), indent, columns);
    assert_string_equal(buf_text(&out), wanted);
    buf_release(&out);
}

static void long_text_is_wrapped_at_spaces(void **state)
{
    (void)state;

    expect_wrap("", 2, 10, "");
    expect_wrap("one two", 2, 10, "one two"); /* 2 + 7 */
    expect_wrap("one two three", 2, 10, "one two\n  three");
    expect_wrap("one  two\nthree", 0, 8, "one two\nthree");
    expect_wrap("  one", 0, 8, "one");
    expect_wrap("a 12" TEXT_NO_BREAK "b", 0, 5, "a\n12 b");
    expect_wrap("one two", 0, 7, "one two");
    expect_wrap("one two", 0, 6, "one\ntwo");
    expect_wrap("abcdefghij k", 2, 6, "abcd\n  efgh\n  ij k");
    expect_wrap("a bcdefgh", 2, 6, "a\n  bcde\n  fgh");
    expect_wrap("\xe5\x89\x8d\xe5\x90\x91", 0, 3, "\xe5\x89\x8d\n\xe5\x90\x91");
    expect_wrap("ab", 4, 3, "a\n    b"); /* too narrow: still one character a line */
}

static void a_number_stays_with_its_unit(void **state)
{
    (void)state;

    expect_wrap("took 12.3 ms, all", 0, 9, "took\n12.3 ms,\nall");
    expect_wrap("a (1 to 95 %): b", 0, 9, "a (1 to\n95 %): b");
    expect_wrap("or 1,000 steps", 0, 12, "or\n1,000 steps");
    expect_wrap("it ran 7.3 steps/s", 0, 12, "it ran\n7.3 steps/s");
    expect_wrap("took 4 min 12 s in all", 0, 13, "took\n4 min 12 s in\nall");
    expect_wrap("run" TEXT_NO_BREAK "12 s", 0, 5, "run 1\n2 s");
    expect_wrap("between 2 spans", 0, 10, "between\n2 spans");
}

static void other_words_part_after_a_number(void **state)
{
    (void)state;

    expect_wrap("from 12 to 13", 0, 8, "from 12\nto 13");
    expect_wrap("is v3 s", 0, 5, "is v3\ns");
    expect_wrap("12  s", 0, 3, "12\ns");
    expect_wrap("in 12", 0, 3, "in\n12");
    expect_wrap("5 second", 0, 6, "5\nsecond");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_of_any_language_stays),
        cmocka_unit_test(controls_never_reach_the_terminal),
        cmocka_unit_test(text_can_not_be_reordered_or_hidden),
        cmocka_unit_test(marks_do_not_pile_up),
        cmocka_unit_test(no_character_is_dangerous),
        cmocka_unit_test(width_counts_columns_not_bytes),
        cmocka_unit_test(long_text_ends_in_dots),
        cmocka_unit_test(long_text_is_wrapped_at_spaces),
        cmocka_unit_test(a_number_stays_with_its_unit),
        cmocka_unit_test(other_words_part_after_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
