/* stats/sample: a random sample that is the same in any order. */
#include "stats/robust.h"
#include "stats/sample.h"
#include "test_stats_support.h"

static int compare_items(const void *a, const void *b)
{
    uint64_t x = ((const struct sample_item *)a)->order;
    uint64_t y = ((const struct sample_item *)b)->order;
    return (x > y) - (x < y);
}

static void assert_same(struct sample *a, struct sample *b)
{
    assert_int_equal(a->count, b->count);
    qsort(a->item, a->count, sizeof(a->item[0]), compare_items);
    qsort(b->item, b->count, sizeof(b->item[0]), compare_items);
    for (size_t i = 0; i < a->count; i++) {
        assert_int_equal(a->item[i].order, b->item[i].order);
        assert_int_equal(a->item[i].step, b->item[i].step);
        assert_near(a->item[i].value, b->item[i].value, 0);
    }
}

static void up_to_512_steps_are_all_kept(void **state)
{
    (void)state;
    static struct sample sample;
    double values[SAMPLE_SIZE];

    sample_init(&sample, 0);
    assert_int_equal(sample_values(&sample, 0, values), 0);
    for (int64_t i = 0; i < 512; i++)
        sample_add(&sample, i, (double)i);
    assert_int_equal(sample_values(&sample, 0, values), 512);
    double sum = 0;
    for (size_t i = 0; i < 512; i++)
        sum += values[i];
    assert_near(sum, 511 * 512 / 2, 0);
    assert_int_equal(sample_values(&sample, 500, values), 12);
}

static void every_step_has_the_same_chance(void **state)
{
    (void)state;
    static struct sample sample;
    int tenths[10] = {0};

    for (uint64_t source = 0; source < 20; source++) {
        sample_init(&sample, source);
        for (int64_t i = 0; i < 20000; i++)
            sample_add(&sample, i, 0);
        for (size_t i = 0; i < sample.count; i++)
            tenths[sample.item[i].step / 2000]++;
    }
    /* 1024 each, standard deviation about 31. */
    for (size_t k = 0; k < 10; k++)
        assert_in_range(tenths[k], 1024 - 120, 1024 + 120);
}

static void the_order_does_not_matter(void **state)
{
    (void)state;
    static struct sample up, down;

    sample_init(&up, 3);
    sample_init(&down, 3);
    for (int64_t i = 0; i < 5000; i++) {
        sample_add(&up, i, (double)i);
        sample_add(&down, 4999 - i, (double)(4999 - i));
    }
    assert_same(&up, &down);
}

static void merged_samples_are_the_sample_of_all(void **state)
{
    (void)state;
    static struct sample parts[3], forth, back, all;

    sample_init(&all, 0);
    sample_init(&forth, 0);
    sample_init(&back, 0);
    for (uint64_t rank = 0; rank < 3; rank++) {
        sample_init(&parts[rank], rank);
        for (int64_t i = 0; i < 4000; i++)
            sample_add(&parts[rank], i, (double)i + (double)rank / 10);
    }
    for (size_t k = 0; k < 3; k++) {
        sample_merge(&forth, &parts[k]);
        sample_merge(&back, &parts[2 - k]);
    }
    assert_same(&forth, &back);
    /* The smallest 512 of all three, by brute force. */
    static struct sample_item items[3 * SAMPLE_SIZE];
    size_t count = 0;
    for (size_t k = 0; k < 3; k++) {
        memcpy(items + count, parts[k].item, sizeof(parts[k].item));
        count += parts[k].count;
    }
    qsort(items, count, sizeof(items[0]), compare_items);
    memcpy(all.item, items, sizeof(all.item));
    all.count = SAMPLE_SIZE;
    assert_same(&forth, &all);
}

static void the_mad_of_the_sample_is_near_that_of_all(void **state)
{
    (void)state;
    static struct sample sample;
    static double values[SAMPLE_SIZE], scratch[SAMPLE_SIZE];
    struct series series = series_from(7, 0.3, 0.04);

    sample_init(&sample, 0);
    for (int64_t i = 0; i < 100000; i++)
        sample_add(&sample, i, i < 1000 ? 1e9 : series_next(&series));
    size_t count = sample_values(&sample, 1000, values);
    assert_in_range(count, 490, 512);
    double median = robust_median(values, count, scratch);
    assert_near(median, 1e7, 0.008e7);
    assert_near(robust_sigma(values, count, median, scratch), 0.04e7, 0.006e7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(up_to_512_steps_are_all_kept),
        cmocka_unit_test(every_step_has_the_same_chance),
        cmocka_unit_test(the_order_does_not_matter),
        cmocka_unit_test(merged_samples_are_the_sample_of_all),
        cmocka_unit_test(the_mad_of_the_sample_is_near_that_of_all),
    };
    return cmocka_run_group_tests_name("stats/sample", tests, NULL, NULL);
}
