/* model/resources: sums over time that are exact however long the run gets. */
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/resources.h"

static const int64_t second = 1000000000;
static const int64_t origin = 5000000000;

enum { TOTAL_NAME = 1, GAUGE_NAME = 2 };

static void name(struct resources *resources, uint16_t id, const char *text)
{
    const struct ss_record record = {
        .kind = SS_KIND_NAME, .name = id, .u.text.a = {text, strlen(text)}};

    resources_name(resources, 0, &record);
}

static int put(struct resources *resources, uint16_t id, int64_t time_ns, double value)
{
    const struct ss_record record = {
        .kind = SS_KIND_SYSTEM, .name = id, .time_ns = time_ns, .u.value = value};

    return resources_sample(resources, 0, &record);
}

static struct resources start(void)
{
    struct resources resources = {0};

    name(&resources, TOTAL_NAME, "tree.cpu");
    name(&resources, GAUGE_NAME, "tree.rss");
    name(&resources, 3, "unknown.counter");
    return resources;
}

static struct resource_answer ask(const struct resources *resources, size_t row, int64_t from_ns,
                                  int64_t to_ns)
{
    return resources_ask(resources->sets, resources->sets->rows[row], from_ns, to_ns);
}

/* A core is used fully in the first half and a quarter in the second, whatever the length. */
static void totals_keep_their_sums(void **state)
{
    (void)state;
    const int64_t lengths_s[] = {4, 60, 3600, 86400};

    for (size_t i = 0; i < sizeof lengths_s / sizeof lengths_s[0]; i++) {
        struct resources resources = start();
        const int64_t half = lengths_s[i] * second / 2, step = half / 1000;
        double used = 0;
        for (int k = 0; k <= 2000; k++) {
            assert_int_equal(put(&resources, TOTAL_NAME, origin + k * step, used),
                             SS_COUNTER_ID_TREE_CPU);
            used += (double)step * (k < 1000 ? 1 : 0.25);
        }
        const struct resource_answer all = ask(&resources, 0, origin, origin + 2000 * step);
        assert_true(fabs(all.mean - 0.625) < 1e-9);
        assert_true(fabs(all.max - 1) < 1e-9 && fabs(all.min - 0.25) < 1e-9);
        const struct resource_answer first = ask(&resources, 0, origin, origin + 1000 * step);
        assert_true(fabs(first.mean - 1) < 0.02);
        assert_true(isnan(ask(&resources, 0, 0, origin - 1).mean));
        resources_release(&resources);
    }
}

static void values_keep_mean_and_extremes(void **state)
{
    (void)state;
    struct resources resources = start();

    for (int k = 0; k < 100000; k++)
        put(&resources, GAUGE_NAME, origin + k * (second / 10), k == 777 ? 1000 : k % 10);
    const struct resource_answer all = ask(&resources, 0, 0, INT64_MAX);
    /* Each holds for 0.1 s, the last one for no time yet. */
    assert_true(fabs(all.mean - (450000. - 9 + 1000 - 7) / 99999) < 1e-9);
    assert_true(all.min == 0 && all.max == 1000);
    assert_int_equal(resources.sets->rows[0]->count, 100000);
    resources_release(&resources);
}

/* Looks become rarer with time: each counts for as long as it holds. */
static void rare_looks_count_for_longer(void **state)
{
    (void)state;
    struct resources resources = start();
    int64_t time_ns = origin;

    for (; time_ns < origin + 100 * second; time_ns += second / 10)
        put(&resources, GAUGE_NAME, time_ns, 1);
    for (; time_ns <= origin + 10000 * second; time_ns += 50 * second)
        put(&resources, GAUGE_NAME, time_ns, 0);
    assert_true(fabs(ask(&resources, 0, origin, origin + 10000 * second).mean - 0.01) < 1e-6);
    resources_release(&resources);
}

/* What hangs is not drawn on as if it went on. */
static void absent_ends_a_value(void **state)
{
    (void)state;
    struct resources resources = start();
    const struct ss_record absent = {.kind = SS_KIND_SYSTEM,
                                     .name = GAUGE_NAME,
                                     .time_ns = origin + 2 * second,
                                     .flags = SS_SYSTEM_ABSENT};

    put(&resources, GAUGE_NAME, origin, 5);
    resources_sample(&resources, 0, &absent);
    put(&resources, GAUGE_NAME, origin + 8 * second, 1);
    put(&resources, GAUGE_NAME, origin + 10 * second, 1);
    const struct resource_answer all = ask(&resources, 0, origin, origin + 10 * second);
    assert_true(fabs(all.mean - (5 * 2 + 1 * 2) / 4.) < 1e-9);
    assert_true(isnan(ask(&resources, 0, origin + 3 * second, origin + 7 * second).mean));
    resources_release(&resources);
}

static void odd_samples_harm_nothing(void **state)
{
    (void)state;
    struct resources resources = start();

    assert_int_equal(put(&resources, 3, origin, 1), -1);
    assert_int_equal(put(&resources, 9, origin, 1), -1);
    assert_int_equal(put(&resources, 999, origin, 1), -1);
    put(&resources, TOTAL_NAME, origin, 100);
    put(&resources, TOTAL_NAME, origin - 5, 100); /* before the first */
    put(&resources, TOTAL_NAME, origin, 200);     /* twice at once */
    put(&resources, TOTAL_NAME, origin + 1, NAN);
    put(&resources, TOTAL_NAME, origin + second, 50); /* it went back */
    put(&resources, TOTAL_NAME, origin + 2 * second, 50 + 1e9);
    put(&resources, TOTAL_NAME, INT64_MAX, 51 + 1e9);
    assert_true(fabs(ask(&resources, 0, origin + second, origin + 2 * second).mean) <= 1);
    resources_release(&resources);
}

static void feed_both(struct resources *resources, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        put(resources, TOTAL_NAME, origin + i * (second / 10), (double)(i * second / 20));
        put(resources, GAUGE_NAME, origin + i * (second / 10), (double)(i % 7));
    }
}

/* At the pace of the first ten minutes; later samples are fewer. */
static void a_day_takes_no_more_memory_than_a_minute(void **state)
{
    (void)state;
    enum { MINUTE = 600, DAY = 1440 * MINUTE };
    struct resources resources = start();
    feed_both(&resources, 0, MINUTE);
    const size_t before = mallinfo2().uordblks;
    feed_both(&resources, MINUTE, DAY);
    assert_int_equal(mallinfo2().uordblks, before);
    assert_int_equal(resources.sets->row_count, 2);
    const int64_t end = origin + (DAY - 1) * (second / 10);
    assert_true(fabs(ask(&resources, 0, origin, end).mean - 0.5) < 1e-9);
    resources_release(&resources);
}

/* Processes come and go: those for whom there is no room are counted, not kept. */
static void rows_are_bounded(void **state)
{
    (void)state;
    struct resources resources = start();

    for (uint64_t pid = 0; pid < 5000; pid++) {
        const struct ss_record record = {.kind = SS_KIND_SYSTEM,
                                         .name = GAUGE_NAME,
                                         .time_ns = origin + (int64_t)pid,
                                         .subject = pid,
                                         .u.value = 1};
        resources_sample(&resources, 0, &record);
    }
    assert_in_range(resources.sets->row_count, 500, RESOURCE_ROWS_MOST);
    assert_int_equal(resources.sets->row_count + resources.sets->unplaced, 5000);
    resources_release(&resources);
}

static void absent_is_not_zero(void **state)
{
    (void)state;
    struct resources resources = start();
    const struct ss_record denied = {
        .kind = SS_KIND_SYSTEM, .name = GAUGE_NAME, .time_ns = origin, .flags = SS_SYSTEM_DENIED};

    assert_int_equal(resources_sample(&resources, 0, &denied), SS_COUNTER_ID_TREE_RSS);
    assert_int_equal(resources.sets->state[SS_COUNTER_ID_TREE_RSS], SS_SYSTEM_DENIED + 1);
    assert_int_equal(resources.sets->row_count, 0);
    put(&resources, GAUGE_NAME, origin + 1, 5);
    assert_int_equal(resources.sets->state[SS_COUNTER_ID_TREE_RSS], SS_SYSTEM_VALUE + 1);
    resources_release(&resources);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_keep_their_sums),
        cmocka_unit_test(values_keep_mean_and_extremes),
        cmocka_unit_test(rare_looks_count_for_longer),
        cmocka_unit_test(absent_ends_a_value),
        cmocka_unit_test(odd_samples_harm_nothing),
        cmocka_unit_test(a_day_takes_no_more_memory_than_a_minute),
        cmocka_unit_test(rows_are_bounded),
        cmocka_unit_test(absent_is_not_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
