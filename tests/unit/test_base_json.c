/* base/json and the UTF-8 of base/text: JSON that any parser reads, whatever bytes and numbers went
 * in. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/text.h"

struct fixture {
    struct buf text;
    struct sink sink;
    struct json json;
};

static void start(struct fixture *fixture)
{
    buf_init(&fixture->text);
    sink_init_buf(&fixture->sink, &fixture->text);
    json_init(&fixture->json, &fixture->sink);
}

static void expect(struct fixture *fixture, const char *wanted)
{
    assert_int_equal(sink_flush(&fixture->sink), 0);
    assert_string_equal(buf_text(&fixture->text), wanted);
    buf_release(&fixture->text);
}

static void objects_and_arrays_nest_with_commas(void **state)
{
    (void)state;
    struct fixture f;

    start(&f);
    json_begin_object(&f.json, NULL);
    json_int(&f.json, "a", -1);
    json_begin_array(&f.json, "b");
    json_uint(&f.json, NULL, 2);
    json_begin_object(&f.json, NULL);
    json_end_object(&f.json);
    json_begin_array(&f.json, NULL);
    json_end_array(&f.json);
    json_bool(&f.json, NULL, true);
    json_end_array(&f.json);
    json_null(&f.json, "c");
    json_string(&f.json, "d", "x");
    json_end_object(&f.json);
    expect(&f, "{\"a\":-1,\"b\":[2,{},[],true],\"c\":null,\"d\":\"x\"}");
}

static void lines_start_afresh(void **state)
{
    (void)state;
    struct fixture f;

    start(&f);
    for (int i = 0; i < 2; i++) {
        json_begin_array(&f.json, NULL);
        json_int(&f.json, NULL, i);
        json_end_array(&f.json);
        json_end_line(&f.json);
    }
    expect(&f, "[0]\n[1]\n");
}

static void the_widest_integers_keep_every_digit(void **state)
{
    (void)state;
    struct fixture f;

    start(&f);
    json_begin_array(&f.json, NULL);
    json_int(&f.json, NULL, INT64_MIN);
    json_int(&f.json, NULL, INT64_MAX);
    json_uint(&f.json, NULL, UINT64_MAX);
    json_end_array(&f.json);
    expect(&f, "[-9223372036854775808,9223372036854775807,18446744073709551615]");
}

static void control_characters_are_escaped(void **state)
{
    (void)state;
    struct fixture f;

    start(&f);
    json_bytes(&f.json, NULL, "a\"\\\b\f\n\r\t\0\x1b\x7f\xc2\x9b/", 14);
    expect(&f, "\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001b\\u007f\\u009b/\"");
}

static void empty_texts_need_no_memory(void **state)
{
    (void)state;
    struct fixture f;

    start(&f);
    json_bytes(&f.json, NULL, NULL, 0);
    expect(&f, "\"\"");
}

#define R "\xef\xbf\xbd"

/* Expected values are what Python's bytes.decode("utf-8", "replace") gives. */
static void bytes_that_are_not_utf8_become_replacements(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xff", R},
        {"\x80\xbf", R R},
        {"\xc3", R},             /* cut short */
        {"\xc3(", R "("},        /* the next byte is not eaten */
        {"\xc0\xaf", R R},       /* overlong, 2 bytes */
        {"\xe0\x80\xaf", R R R}, /* overlong, 3 bytes */
        {"\xe2\x82", R},         /* one maximal subpart */
        {"\xe2\x82x", R "x"},
        {"\xe2\x28\xa1", R "(" R},
        {"\xed\xa0\x80", R R R},          /* a surrogate */
        {"\xed\x9f\xbf", "\xed\x9f\xbf"}, /* U+D7FF, the last before them */
        {"\xf0\x80\x80\x80", R R R R},    /* overlong, 4 bytes */
        {"\xf0\x9f\x98", R},
        {"\xf0\x9f\x98\xf0\x9f\x98\x80", R "\xf0\x9f\x98\x80"},
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"}, /* U+10FFFF */
        {"\xf4\x90\x80\x80", R R R R},            /* beyond it */
        {"\xf8\x88\x80\x80\x80", R R R R R},
        {R, R},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f;
        char wanted[64];
        snprintf(wanted, sizeof wanted, "\"%s\"", cases[i].out);
        start(&f);
        json_string(&f.json, NULL, cases[i].in);
        expect(&f, wanted);
    }
}

static void every_character_survives_encoding(void **state)
{
    (void)state;

    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        char bytes[UTF8_MAX_BYTES];
        uint32_t back;
        if (c == 0xd800)
            c = 0xe000;
        size_t size = utf8_put(bytes, c);
        assert_int_equal(utf8_next(bytes, size, &back), size);
        assert_int_equal(back, c);
    }
}

static void bytes_behind_the_end_are_not_read(void **state)
{
    (void)state;
    uint32_t character;

    assert_int_equal(utf8_next("\xe2\x82\xac", 2, &character), 2);
    assert_int_equal(character, UTF8_REPLACEMENT);
    assert_int_equal(utf8_next("\xc3\xa9", 1, &character), 1);
    assert_int_equal(character, UTF8_REPLACEMENT);
}

static void texts_are_cut_between_characters(void **state)
{
    (void)state;

    assert_int_equal(utf8_cut("", 4), 0);
    assert_int_equal(utf8_cut("abcd", 4), 4);
    assert_int_equal(utf8_cut("abcde", 4), 4);
    assert_int_equal(utf8_cut("abcde", 0), 0);
    assert_int_equal(utf8_cut("abc\xc3\xa9", 4), 3);
    assert_int_equal(utf8_cut("abc\xc3\xa9", 5), 5);
    assert_int_equal(utf8_cut("a\xf0\x9f\x98\x80", 4), 1);
    assert_int_equal(utf8_cut("\x80\x80\x80\x80\x80\x80", 4), 4); /* no UTF-8 */
}

static double round_trip(double value)
{
    struct fixture f;

    start(&f);
    json_double(&f.json, NULL, value);
    sink_flush(&f.sink);
    double back = strtod(buf_text(&f.text), NULL);
    buf_release(&f.text);
    return back;
}

static void doubles_read_back_equal(void **state)
{
    (void)state;
    static const double values[] = {0.1,     1.0 / 3.0,     5e-324,    DBL_MIN, DBL_MAX,
                                    -1e-300, 123456789.125, 0.1 + 0.2, 1e22,    9007199254740993.0};
    uint64_t random = 88172645463325252u;

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        assert_true(round_trip(values[i]) == values[i]);
    for (int i = 0; i < 20000; i++) {
        double value;
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        memcpy(&value, &random, sizeof value);
        if (isfinite(value))
            assert_true(round_trip(value) == value);
    }
}

static void doubles_are_short_where_they_can_be(void **state)
{
    (void)state;
    struct fixture f;

    start(&f);
    json_begin_array(&f.json, NULL);
    json_double(&f.json, NULL, 0.1);
    json_double(&f.json, NULL, 0.1 + 0.2);
    json_double(&f.json, NULL, 3.0);
    json_double(&f.json, NULL, -0.0);
    json_double(&f.json, NULL, 1e300);
    json_end_array(&f.json);
    expect(&f, "[0.1,0.30000000000000004,3,-0,1e+300]");
}

static void what_is_no_number_is_null(void **state)
{
    (void)state;
    struct fixture f;

    start(&f);
    json_begin_array(&f.json, NULL);
    json_double(&f.json, NULL, NAN);
    json_double(&f.json, NULL, INFINITY);
    json_double(&f.json, NULL, -INFINITY);
    json_end_array(&f.json);
    expect(&f, "[null,null,null]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_and_arrays_nest_with_commas),
        cmocka_unit_test(lines_start_afresh),
        cmocka_unit_test(the_widest_integers_keep_every_digit),
        cmocka_unit_test(control_characters_are_escaped),
        cmocka_unit_test(empty_texts_need_no_memory),
        cmocka_unit_test(bytes_that_are_not_utf8_become_replacements),
        cmocka_unit_test(every_character_survives_encoding),
        cmocka_unit_test(bytes_behind_the_end_are_not_read),
        cmocka_unit_test(texts_are_cut_between_characters),
        cmocka_unit_test(doubles_read_back_equal),
        cmocka_unit_test(doubles_are_short_where_they_can_be),
        cmocka_unit_test(what_is_no_number_is_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
