/* render/numbers, render/table: one unit a column, and nothing wider than the page. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "render/numbers.h"
#include "render/table.h"

static const double ms = 1e6;

static void assert_scaled(double ns, struct scale scale, const char *text)
{
    char out[UNITS_SIZE];

    assert_string_equal(scale_text(out, ns, scale), text);
}

static void a_column_has_one_unit(void **state)
{
    (void)state;
    const struct scale small = scale_for(1.37 * ms, 2 * ms);

    assert_string_equal(small.unit.name, "ms");
    assert_scaled(1.37 * ms, small, "1.370");
    assert_scaled(1000, small, "0.001");
    assert_scaled(0, small, "0.000");
    const struct scale large = scale_for(137 * ms, 990 * ms);
    assert_scaled(137 * ms, large, "137.00");
    assert_scaled(0.5 * ms, large, "0.50");
    assert_string_equal(scale_for(500, 900).unit.name, "ns");
    assert_scaled(500, scale_for(500, 900), "500");
    assert_string_equal(scale_for(NAN, INFINITY).unit.name, "ns");
}

static void what_is_more_than_nothing_is_not_0(void **state)
{
    (void)state;
    const struct scale scale = scale_for(137 * ms, 137 * ms);
    char out[UNITS_SIZE];

    assert_scaled(4000, scale, "<0.01");
    assert_scaled(6000, scale, "0.01");
    assert_string_equal(share_text(out, 0.0004), "<0.1 %");
    assert_string_equal(share_text(out, 0.0006), "0.1 %");
    assert_string_equal(share_text(out, 0), "0.0 %");
    assert_string_equal(share_text(out, 0.612), "61.2 %");
}

static void what_is_not_known_is_a_dash(void **state)
{
    (void)state;
    char out[UNITS_SIZE];

    assert_scaled(NAN, scale_for(ms, ms), "-");
    assert_scaled(INFINITY, scale_for(ms, ms), "-");
    assert_string_equal(share_text(out, NAN), "-");
    assert_string_equal(digits_text(out, NAN), "-");
}

static void no_number_is_wider_than_seven_columns(void **state)
{
    (void)state;
    char out[UNITS_SIZE];

    for (double usual = 1; usual < 1e18; usual *= 7)
        for (double ns = 1; ns < 9e18; ns *= 1.7) {
            scale_text(out, ns, scale_for(usual, usual));
            assert_in_range(strlen(out), 1, 7);
        }
    assert_scaled(123456, scale_for(500, 500), "123us");
    assert_scaled(90e9, scale_for(500, 500), "90.0s");
    assert_scaled(7200e9, scale_for(ms, ms), "2.0h");
    assert_scaled(86400e9 * 12, scale_for(ms, ms), "12.0d");
}

static void the_unit_of_a_column_holds_its_largest(void **state)
{
    (void)state;
    const struct scale scale = scale_for(900e3, 147 * ms);
    const struct scale apart = scale_for(20e3, 147 * ms);

    assert_string_equal(scale.unit.name, "ms");
    assert_scaled(147 * ms, scale, "147.00");
    assert_scaled(900e3, scale, "0.90");
    assert_scaled(20e3, apart, "0.020");
    assert_string_equal(scale_for(900e3, 99 * ms).unit.name, "us");
}

static void a_precision_has_no_exponent(void **state)
{
    (void)state;
    char out[UNITS_SIZE];

    assert_string_equal(percent_text(out, 1.234), "123 %");
    assert_string_equal(percent_text(out, 0.999), "100 %");
    assert_string_equal(percent_text(out, 0.0371), "3.7 %");
    assert_string_equal(percent_text(out, 0.0204), "2.0 %");
    assert_string_equal(percent_text(out, 0.0004), "0.04 %");
    assert_string_equal(percent_text(out, 1e-9), "0.01 %");
}

static void parts_of_a_time_have_three_digits_each(void **state)
{
    (void)state;
    char out[NUMBERS_PART_SIZE];

    assert_string_equal(part_text(out, 5.359e6, 5.726e6), "5.36 of 5.73 ms");
    assert_string_equal(part_text(out, 34.22e6, 702e6), "34.2 of 702 ms");
    assert_string_equal(part_text(out, 4e6, 10.1e6), "4.00 of 10.1 ms");
    assert_string_equal(part_text(out, 900e3, 10.1e6), "0.900 of 10.1 ms");
    assert_string_equal(part_text(out, 1e3, 10.1e6), "<0.01 of 10.1 ms");
}

static void times_are_factors_from_twice_on(void **state)
{
    (void)state;
    char out[UNITS_SIZE];

    assert_string_equal(units_longer(out, 1.423), "42.3 % longer");
    assert_string_equal(units_longer(out, 0.88), "12.0 % shorter");
    assert_string_equal(units_longer(out, 5.1), "5.1x as long");
    assert_string_equal(units_longer(out, 0.4), "2.5x as fast");
}

static void intervals_show_as_many_digits_as_they_need(void **state)
{
    (void)state;
    char out[NUMBERS_RANGE_SIZE];

    assert_string_equal(range_text(out, (struct interval){7.21, 7.3, 7.39}, "steps/s"),
                        "7.30 steps/s (7.21 to 7.39)");
    assert_string_equal(range_text(out, (struct interval){7.2996, 7.3, 7.3004}, "steps/s"),
                        "7.3000 steps/s (7.2996 to 7.3004)");
    assert_string_equal(range_text(out, (struct interval){-INFINITY, 7.3, INFINITY}, "x"),
                        "7.30 x");
    assert_string_equal(range_text(out, (struct interval){1.6e7, 1.64e7, 1.7e7}, "x/s"),
                        "16.4 M x/s (16.0 to 17.0)");
    assert_true(fabs(relative_error((struct interval){90, 100, 105}) - 0.1) < 1e-12);
    assert_true(isinf(relative_error((struct interval){-INFINITY, 100, INFINITY})));
}

static void counts_are_whole_as_long_as_they_fit(void **state)
{
    (void)state;
    char out[UNITS_SIZE];

    assert_string_equal(count_text(out, 999999), "999,999");
    assert_string_equal(count_text(out, 1234567), "1.23 M");
    assert_string_equal(digits_text(out, 7.3), "7.30");
    assert_string_equal(digits_text(out, 12345.6), "12,346");
}

struct printed {
    struct buf text;
    struct sink out;
    struct page page;
};

static void print(struct printed *printed, struct table *table, size_t columns)
{
    const struct style style = {.columns = (unsigned)columns};

    buf_init(&printed->text);
    sink_init_buf(&printed->out, &printed->text);
    page_init(&printed->page, &printed->out);
    printed->page.columns = columns;
    table_print(table, &printed->page, &style);
    assert_int_equal(sink_flush(&printed->out), 0);
    page_release(&printed->page);
    table_release(table);
}

static void a_text_gives_way_to_numbers(void **state)
{
    (void)state;
    struct table table;
    struct printed printed;

    table_init(&table);
    table_column(&table, "name", TABLE_TEXT);
    table_column(&table, "count", TABLE_NUMBER);
    table_text(&table, "a name that is much too long for its column");
    table_cell(&table, "%d", 12);
    table_text(&table, "");
    table_cell(&table, "%d", 3456789);
    print(&printed, &table, 30);
    assert_string_equal(buf_text(&printed.text), "name                     count\n"
                                                 "a name that is muc...       12\n"
                                                 "                       3456789\n");
    buf_release(&printed.text);
}

static void a_bar_takes_what_is_left(void **state)
{
    (void)state;
    struct table table;
    struct printed printed;

    table_init(&table);
    table_column(&table, "", TABLE_TEXT);
    table_column(&table, "", TABLE_BAR);
    table_column(&table, "", TABLE_NUMBER);
    table_text(&table, "data");
    table_bar(&table, 1, SS_STAGE_DATA);
    table_cell(&table, "100");
    table_text(&table, "gc");
    table_bar(&table, 0.5, SS_STAGE_GC);
    table_cell(&table, "50");
    table_text(&table, "sync");
    table_bar(&table, 0.0001, SS_STAGE_SYNC);
    table_cell(&table, "0");
    table_text(&table, "comm");
    table_bar(&table, NAN, SS_STAGE_COMM);
    table_cell(&table, "-");
    print(&printed, &table, 21);
    assert_string_equal(buf_text(&printed.text), "data  ##########  100\n"
                                                 "gc    #####        50\n"
                                                 "sync  .             0\n"
                                                 "comm                -\n");
    buf_release(&printed.text);
}

static void columns_that_may_be_missing_give_way_in_order(void **state)
{
    (void)state;
    static const struct {
        size_t columns;
        const char *text;
    } cases[] = {
        {40, "name   count  p95  p99\nshort      7    8    9\n"},
        {20, "name  count p95 p99\nshort     7   8   9\n"},
        {18, "name  count p95\nshort     7   8\n"},
        {12, "name  count\nshort     7\n"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct table table;
        struct printed printed;
        table_init(&table);
        table_column(&table, "name", TABLE_TEXT);
        table_column(&table, "count", TABLE_NUMBER);
        table_optional(&table, "p95", TABLE_NUMBER, 1);
        table_optional(&table, "p99", TABLE_NUMBER, 2);
        table_text(&table, "short");
        table_cell(&table, "7");
        table_cell(&table, "8");
        table_cell(&table, "9");
        print(&printed, &table, cases[i].columns);
        assert_string_equal(buf_text(&printed.text), cases[i].text);
        buf_release(&printed.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_column_has_one_unit),
        cmocka_unit_test(what_is_more_than_nothing_is_not_0),
        cmocka_unit_test(what_is_not_known_is_a_dash),
        cmocka_unit_test(no_number_is_wider_than_seven_columns),
        cmocka_unit_test(the_unit_of_a_column_holds_its_largest),
        cmocka_unit_test(a_precision_has_no_exponent),
        cmocka_unit_test(parts_of_a_time_have_three_digits_each),
        cmocka_unit_test(times_are_factors_from_twice_on),
        cmocka_unit_test(intervals_show_as_many_digits_as_they_need),
        cmocka_unit_test(counts_are_whole_as_long_as_they_fit),
        cmocka_unit_test(a_text_gives_way_to_numbers),
        cmocka_unit_test(a_bar_takes_what_is_left),
        cmocka_unit_test(columns_that_may_be_missing_give_way_in_order),
    };
    return cmocka_run_group_tests_name("render/numbers", tests, NULL, NULL);
}
