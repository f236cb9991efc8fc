/* stats/sketch: quantiles within 0.5 %, sums exact, parts that merge into the whole. */
#include "stats/sketch.h"
#include "test_stats_support.h"

typedef double distribution(struct random *random);

static double uniform(struct random *random)
{
    return 1e3 + 1e6 * random_uniform(random);
}

static double log_normal(struct random *random)
{
    return 1e6 * exp(1.5 * random_normal(random));
}

static double exponential(struct random *random)
{
    return 100 - 1e5 * log(random_uniform(random));
}

static double pareto(struct random *random)
{
    return 200 * pow(random_uniform(random), -0.8);
}

static double two_peaks(struct random *random)
{
    double peak = random_uniform(random) < 0.95 ? 1e7 : 3e9;
    return peak * exp(0.01 * random_normal(random));
}

static double the_whole_range(struct random *random)
{
    return 100 * pow(1e10, random_uniform(random));
}

static double small_integers(struct random *random)
{
    return 100 + floor(20 * random_uniform(random));
}

static distribution *const distributions[] = {
    uniform, log_normal, exponential, pareto, two_peaks, the_whole_range, small_integers,
};

static void quantiles_are_within_half_a_percent(void **state)
{
    (void)state;
    static double x[20000];
    const double qs[] = {0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1};

    for (size_t k = 0; k < COUNT_OF(distributions); k++) {
        for (size_t n = 1; n <= COUNT_OF(x); n *= 11) {
            struct random random = random_from(k);
            struct sketch sketch = {0};
            for (size_t i = 0; i < n; i++) {
                int64_t ns = (int64_t)fmin(distributions[k](&random), 1e12);
                x[i] = (double)ns;
                sketch_add(&sketch, ns);
            }
            qsort(x, n, sizeof(x[0]), compare_doubles);
            for (size_t i = 0; i < COUNT_OF(qs); i++) {
                double exact = x[(size_t)floor(qs[i] * (double)(n - 1))];
                assert_near(sketch_quantile(&sketch, qs[i]), exact, 0.00500001 * exact);
            }
            assert_near(sketch_quantile(&sketch, 0), x[0], 0);
            assert_near(sketch_quantile(&sketch, 1), x[n - 1], 0);
            sketch_release(&sketch);
        }
    }
}

/* Every value near the edges of bins: between two others of which one is much smaller and one much
 * larger, so that the answer is neither the smallest nor the largest. */
static void no_value_of_the_range_is_off_by_more(void **state)
{
    (void)state;
    double worst = 0;

    for (double value = 100; value <= 1e12; value *= 1.0003) {
        int64_t ns = (int64_t)value;
        struct sketch sketch = {0};
        sketch_add(&sketch, 0);
        sketch_add(&sketch, ns);
        sketch_add(&sketch, INT64_C(2000000000000));
        worst = fmax(worst, fabs(sketch_quantile(&sketch, 0.5) / (double)ns - 1));
        sketch_release(&sketch);
    }
    assert_in_range(worst * 1e7, 0.0038 * 1e7, 0.0039001 * 1e7);
}

static bool equal(const struct sketch *a, const struct sketch *b)
{
    return a->count == b->count && a->below == b->below && a->above == b->above &&
           a->min_ns == b->min_ns && a->max_ns == b->max_ns && a->sum_ns == b->sum_ns &&
           a->first == b->first && a->bin_count == b->bin_count &&
           memcmp(a->bins, b->bins, (size_t)a->bin_count * sizeof(a->bins[0])) == 0;
}

static void eight_parts_merge_into_the_whole(void **state)
{
    (void)state;
    struct random random = random_from(9);
    struct sketch whole = {0}, parts[8] = {{0}}, forth = {0}, back = {0};

    for (int i = 0; i < 100000; i++) {
        int64_t ns = (int64_t)(50 * pow(1e11, random_uniform(&random)));
        sketch_add(&whole, ns);
        sketch_add(&parts[random_bits(&random) % 8], ns);
    }
    for (size_t k = 0; k < 8; k++) {
        sketch_merge(&forth, &parts[k]);
        sketch_merge(&back, &parts[7 - k]);
    }
    assert_true(whole.below > 0 && whole.above > 0);
    assert_true(equal(&forth, &whole));
    assert_true(equal(&back, &whole));
    sketch_merge(&whole, &(struct sketch){0});
    assert_true(equal(&forth, &whole));
    for (size_t k = 0; k < 8; k++)
        sketch_release(&parts[k]);
    sketch_release(&whole);
    sketch_release(&forth);
    sketch_release(&back);
}

static void the_order_of_values_does_not_matter(void **state)
{
    (void)state;
    struct sketch up = {0}, down = {0};

    for (int64_t i = 0; i < 3000; i++) {
        sketch_add(&up, 100 + i * i * i);
        sketch_add(&down, 100 + (2999 - i) * (2999 - i) * (2999 - i));
    }
    assert_true(equal(&up, &down));
    sketch_release(&up);
    sketch_release(&down);
}

static void many_equal_values_can_be_added_at_once(void **state)
{
    (void)state;
    struct sketch once = {0}, one_by_one = {0};

    sketch_add_n(&once, 12345, 1000);
    sketch_add_n(&once, 99999, 0);
    for (int i = 0; i < 1000; i++)
        sketch_add(&one_by_one, 12345);
    assert_true(equal(&once, &one_by_one));
    assert_near(sketch_mean(&once), 12345, 0);
    assert_near(sketch_quantile(&once, 0.5), 12345, 0);
    sketch_add_n(&once, 5, 2000);
    sketch_add_n(&once, INT64_C(2000000000000), 3000);
    assert_int_equal(once.below, 2000);
    assert_int_equal(once.above, 3000);
    assert_near(sketch_quantile(&once, 0.45), 12345, 65);
    sketch_release(&once);
    sketch_release(&one_by_one);
}

static void what_is_out_of_range_is_counted(void **state)
{
    (void)state;
    struct sketch sketch = {0};

    sketch_add(&sketch, -5);
    sketch_add(&sketch, 99);
    sketch_add(&sketch, 1000);
    sketch_add(&sketch, INT64_C(1000000000000));
    sketch_add(&sketch, INT64_C(1000000000001));
    sketch_add(&sketch, INT64_C(5000000000000));
    assert_int_equal(sketch.below, 2);
    assert_int_equal(sketch.above, 2);
    assert_int_equal(sketch.min_ns, 0);
    assert_int_equal(sketch.max_ns, INT64_C(5000000000000));
    assert_near(sketch_quantile(&sketch, 0.2), 0, 0); /* the second, below: the smallest */
    assert_near(sketch_quantile(&sketch, 0.4), 1000, 5);
    assert_near(sketch_quantile(&sketch, 0.6), 1e12, 0.005e12);
    assert_near(sketch_quantile(&sketch, 0.8), 5e12, 0); /* above: the largest */
    sketch_release(&sketch);
}

static void a_sum_may_pass_64_bits(void **state)
{
    (void)state;
    struct sketch sketch = {0};
    const uint64_t times = UINT64_C(1) << 40;

    /* 2^40 times 2^30 ns are 2^70 ns, 37 thousand years. */
    sketch_add_n(&sketch, INT64_C(1) << 30, times);
    assert_true(sketch.sum_ns == (sketch_sum)1 << 70);
    assert_near(sketch_mean(&sketch), (double)(INT64_C(1) << 30), 0);
    sketch_release(&sketch);
}

static void an_empty_sketch_is_cheap_and_says_nothing(void **state)
{
    (void)state;
    struct sketch sketch;

    sketch_init(&sketch);
    assert_null(sketch.bins);
    assert_true(isnan(sketch_quantile(&sketch, 0.5)));
    assert_near(sketch_mean(&sketch), 0, 0);
    sketch_add(&sketch, 50);
    assert_null(sketch.bins);
    sketch_release(&sketch);
    assert_true(sizeof(sketch) <= 96);
}

static void bins_cover_what_occurs_only(void **state)
{
    (void)state;
    struct sketch sketch = {0};

    for (int64_t i = 0; i < 1000; i++)
        sketch_add(&sketch, 10000000 + 1000 * i); /* 10 to 11 ms: 15 bins */
    assert_true(sketch.bin_count <= 128);
    sketch_add(&sketch, 100);
    sketch_add(&sketch, INT64_C(1000000000000));
    assert_in_range(sketch.bin_count, 4253, 4253 + 128);
    sketch_release(&sketch);
    assert_null(sketch.bins);
}

static void check_bars(const struct sketch *sketch, size_t most)
{
    struct sketch_bar bars[64];
    const size_t count = sketch_bars(sketch, bars, most);
    uint64_t total = 0;

    assert_in_range(count, 1, most);
    for (size_t i = 0; i < count; i++) {
        total += bars[i].count;
        assert_true(bars[i].low_ns <= bars[i].high_ns);
        assert_true(i == 0 || bars[i].low_ns >= bars[i - 1].high_ns);
    }
    assert_int_equal(total, sketch->count);
    assert_true(bars[0].low_ns == (double)sketch->min_ns);
    assert_true(bars[count - 1].high_ns == (double)sketch->max_ns);
}

static void bars_hold_all_values(void **state)
{
    struct random random = random_from(5);
    struct sketch sketch = {0};
    struct sketch_bar bar;

    (void)state;
    assert_int_equal(sketch_bars(&sketch, &bar, 3), 0);
    sketch_add_n(&sketch, 1000000, 7);
    check_bars(&sketch, 3);
    for (int i = 0; i < 10000; i++)
        sketch_add(&sketch, (int64_t)two_peaks(&random));
    check_bars(&sketch, 3);
    check_bars(&sketch, 64);
    sketch_add(&sketch, 5);                      /* below the range of the bins */
    sketch_add(&sketch, INT64_C(2000000000000)); /* above it */
    check_bars(&sketch, 64);
    sketch_release(&sketch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_within_half_a_percent),
        cmocka_unit_test(no_value_of_the_range_is_off_by_more),
        cmocka_unit_test(eight_parts_merge_into_the_whole),
        cmocka_unit_test(the_order_of_values_does_not_matter),
        cmocka_unit_test(many_equal_values_can_be_added_at_once),
        cmocka_unit_test(what_is_out_of_range_is_counted),
        cmocka_unit_test(a_sum_may_pass_64_bits),
        cmocka_unit_test(an_empty_sketch_is_cheap_and_says_nothing),
        cmocka_unit_test(bins_cover_what_occurs_only),
        cmocka_unit_test(bars_hold_all_values),
    };
    return cmocka_run_group_tests_name("stats/sketch", tests, NULL, NULL);
}
