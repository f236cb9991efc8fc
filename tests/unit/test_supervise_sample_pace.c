/* supervise/sample_pace: how often a run is looked at, by a clock that jumps from look to look. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervise/samples.h"

static const int64_t second = 1000000000, minute = 60000000000;

/* Looks from one age of a run to another. */
static int looks(int64_t from_ns, int64_t to_ns, double used)
{
    uint64_t random = 12345;
    int count = 0;

    for (int64_t age_ns = from_ns; age_ns < to_ns; count++)
        age_ns += sample_pause(age_ns, used, &random);
    return count;
}

static void ten_times_a_second_for_ten_minutes(void **state)
{
    (void)state;
    assert_in_range(looks(0, 10 * minute, 0), 5850, 6150);
    assert_in_range(looks(9 * minute, 10 * minute, 0), 570, 630);
}

static void then_half_as_often_each_time_the_age_doubles(void **state)
{
    (void)state;
    assert_in_range(looks(11 * minute, 20 * minute, 0), 2600, 2800);
    assert_in_range(looks(21 * minute, 40 * minute, 0), 2750, 2950);
    assert_in_range(looks(41 * minute, 80 * minute, 0), 2800, 3050);
}

static void a_week_is_not_many_looks(void **state)
{
    (void)state;
    assert_in_range(looks(0, 7 * 24 * 60 * minute, 0), 30000, 40000);
}

static void a_file_that_fills_is_written_more_seldom(void **state)
{
    (void)state;
    assert_in_range(looks(0, 10 * minute, 0.5), 6000 / 16 - 20, 6000 / 16 + 20);
    assert_in_range(looks(0, 100 * minute, 1), 60000 / 256 - 20, 60000 / 256 + 20);
}

static void pauses_are_uneven(void **state)
{
    uint64_t random = 1;
    int64_t shortest = second, longest = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        const int64_t pause = sample_pause(0, 0, &random);
        shortest = pause < shortest ? pause : shortest;
        longest = pause > longest ? pause : longest;
    }
    assert_in_range(shortest, second / 20, second / 18);
    assert_in_range(longest, second / 7, second * 3 / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_times_a_second_for_ten_minutes),
        cmocka_unit_test(then_half_as_often_each_time_the_age_doubles),
        cmocka_unit_test(a_week_is_not_many_looks),
        cmocka_unit_test(a_file_that_fills_is_written_more_seldom),
        cmocka_unit_test(pauses_are_uneven),
    };
    return cmocka_run_group_tests_name("supervise/sample_pace", tests, NULL, NULL);
}
