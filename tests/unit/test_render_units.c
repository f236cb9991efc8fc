/* base/units: what a person reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/units.h"

static const int64_t second = 1000000000;

static void durations_have_three_digits(void **state)
{
    (void)state;
    char out[UNITS_SIZE];

    assert_string_equal(units_duration(out, 0), "0 ns");
    assert_string_equal(units_duration(out, 850), "850 ns");
    assert_string_equal(units_duration(out, 999), "999 ns");
    assert_string_equal(units_duration(out, 1000), "1.00 us");
    assert_string_equal(units_duration(out, 1234567), "1.23 ms");
    assert_string_equal(units_duration(out, 12345678), "12.3 ms");
    assert_string_equal(units_duration(out, 123456789), "123 ms");
    assert_string_equal(units_duration(out, 12345678901), "12.3 s");
    assert_string_equal(units_duration(out, -1234567), "-1.23 ms");
}

static void rounding_never_shows_a_fourth_digit(void **state)
{
    (void)state;
    char out[UNITS_SIZE];

    assert_string_equal(units_duration(out, 9994), "9.99 us");
    assert_string_equal(units_duration(out, 9996), "10.0 us");
    assert_string_equal(units_duration(out, 99960), "100 us");
    assert_string_equal(units_duration(out, 999400), "999 us");
    assert_string_equal(units_duration(out, 999600), "1.00 ms");
    assert_string_equal(units_duration(out, 59940 * 1000000LL), "59.9 s");
    assert_string_equal(units_duration(out, 59960 * 1000000LL), "1 min 00 s");
}

static void long_durations_have_two_parts(void **state)
{
    (void)state;
    char out[UNITS_SIZE];

    assert_string_equal(units_duration(out, 60 * second), "1 min 00 s");
    assert_string_equal(units_duration(out, 252 * second), "4 min 12 s");
    assert_string_equal(units_duration(out, 3599 * second), "59 min 59 s");
    assert_string_equal(units_duration(out, 3599 * second + 600000000), "1 h 00 min");
    assert_string_equal(units_duration(out, 7500 * second), "2 h 05 min");
    assert_string_equal(units_duration(out, 49 * 3600 * second), "2 d 01 h");
    assert_string_equal(units_duration(out, -7500 * second), "-2 h 05 min");
    /* 2^63 ns are 2562047.79 h, rounded 2562048 h = 106752 x 24 h. */
    assert_string_equal(units_duration(out, INT64_MAX), "106752 d 00 h");
    assert_string_equal(units_duration(out, INT64_MIN), "-106752 d 00 h");
}

static void bytes_count_in_1024(void **state)
{
    (void)state;
    char out[UNITS_SIZE];

    assert_string_equal(units_bytes(out, 0), "0 B");
    assert_string_equal(units_bytes(out, 512), "512 B");
    assert_string_equal(units_bytes(out, 999), "999 B");
    assert_string_equal(units_bytes(out, 65536), "64 KB");
    assert_string_equal(units_bytes(out, 100000), "97.7 KB");
    assert_string_equal(units_bytes(out, 1300000000), "1.21 GB");
    assert_string_equal(units_bytes(out, UINT64_MAX), "16 EB");
}

static void counts_and_rates_are_short(void **state)
{
    (void)state;
    char out[UNITS_SIZE];

    assert_string_equal(units_count(out, 0), "0");
    assert_string_equal(units_count(out, 999), "999");
    assert_string_equal(units_count(out, 1000), "1.00 k");
    assert_string_equal(units_count(out, 12345), "12.3 k");
    assert_string_equal(units_count(out, 999999), "1.00 M");
    assert_string_equal(units_count(out, UINT64_MAX), "18.4 E");
    assert_string_equal(units_rate(out, 0.25), "0.25/s");
    assert_string_equal(units_rate(out, 7.3), "7.30/s");
    assert_string_equal(units_rate(out, 12345), "12.3 k/s");
}

static void shares_keep_what_is_small_visible(void **state)
{
    (void)state;
    char out[UNITS_SIZE];

    assert_string_equal(units_share(out, 0, 10), "0 %");
    assert_string_equal(units_share(out, 10, 10), "100 %");
    assert_string_equal(units_share(out, 6.12, 10), "61.2 %");
    assert_string_equal(units_share(out, 0.123, 10), "1.23 %");
    assert_string_equal(units_share(out, 0.0004, 10), "0.004 %");
    assert_string_equal(units_share(out, 0.00000004, 10), "<0.001 %");
    assert_string_equal(units_share(out, 1, 0), "-");
}

static void integers_are_grouped(void **state)
{
    (void)state;
    char out[UNITS_SIZE];

    assert_string_equal(units_integer(out, 0), "0");
    assert_string_equal(units_integer(out, 999), "999");
    assert_string_equal(units_integer(out, 1000), "1,000");
    assert_string_equal(units_integer(out, 1234567), "1,234,567");
    assert_string_equal(units_integer(out, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void a_column_has_one_unit(void **state)
{
    (void)state;
    char out[UNITS_SIZE];
    struct units_scale scale = units_scale_for(12345678);

    assert_string_equal(scale.name, "ms");
    assert_string_equal(units_scaled(out, 12345678, scale), "12.346");
    assert_string_equal(units_scaled(out, 1200, scale), "0.001");
    assert_string_equal(units_scale_for(0).name, "ns");
    assert_string_equal(units_scaled(out, 850, units_scale_for(850)), "850");
    assert_string_equal(units_scale_for(1000).name, "us");
    assert_string_equal(units_scale_for(4000 * second).name, "s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_have_three_digits),
        cmocka_unit_test(rounding_never_shows_a_fourth_digit),
        cmocka_unit_test(long_durations_have_two_parts),
        cmocka_unit_test(bytes_count_in_1024),
        cmocka_unit_test(counts_and_rates_are_short),
        cmocka_unit_test(shares_keep_what_is_small_visible),
        cmocka_unit_test(integers_are_grouped),
        cmocka_unit_test(a_column_has_one_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
