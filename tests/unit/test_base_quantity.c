/* base/quantity and base/run_text: times that people write, lines of a manifest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/quantity.h"
#include "base/run_text.h"

static const int64_t second = 1000000000;

static void expect(const char *text, int64_t expected)
{
    int64_t ns = -1;

    assert_true(duration_parse(text, &ns));
    assert_int_equal(ns, expected);
}

static void a_number_with_its_unit_is_a_time(void **state)
{
    (void)state;

    expect("250ms", second / 4);
    expect("1s", second);
    expect("30s", 30 * second);
    expect("5m", 300 * second);
    expect("5min", 300 * second);
    expect("1h", 3600 * second);
    expect("2d", 2 * 86400 * second);
    expect("007s", 7 * second);
    expect("1.5h", 5400 * second);
    expect("0.001s", second / 1000);
    expect("100000d", INT64_C(100000) * 86400 * second);
}

static void all_else_is_none(void **state)
{
    static const char *const texts[] = {
        "",      "s",      "30",   "30 s",    " 30s",
        "30s ",  "-1s",    "+1s",  "0s",      "0.0h",
        ".5s",   "5.s",    "1e3s", "0x1s",    "1S",
        "1h30m", "1.2.3s", "infs", "nan",     "1ss",
        "1,5s",  "1y",     "h1",   "107000d", "99999999999999999999999999999999s"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int64_t ns = 7;
        if (duration_parse(texts[i], &ns))
            fail_msg("'%s' was taken for a time", texts[i]);
        assert_int_equal(ns, 7);
    }
}

static void a_fact_is_one_line(void **state)
{
    struct buf out = {0};

    (void)state;
    fact_line(&out, "a", "plain: value");
    fact_line(&out, "b", "two\nlines\r\\n");
    fact_line(&out, "c", "");
    fact_line_number(&out, "d", INT64_MIN);
    assert_string_equal(buf_text(&out), "a: plain: value\n"
                                        "b: two\\nlines\\r\\\\n\n"
                                        "c: \n"
                                        "d: -9223372036854775808\n");
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_with_its_unit_is_a_time),
        cmocka_unit_test(all_else_is_none),
        cmocka_unit_test(a_fact_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
