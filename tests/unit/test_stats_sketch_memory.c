/* stats/sketch when memory runs out: the module is compiled in, with an allocator that fails. */
#include "test_stats_support.h"

static int allocations_left;

static void *failing_calloc(size_t count, size_t size)
{
    if (allocations_left == 0)
        return NULL;
    allocations_left--;
    return calloc(count, size);
}

#define calloc failing_calloc
#include "stats/sketch.c"
#undef calloc

static void the_failure_stays_and_exact_numbers_go_on(void **state)
{
    (void)state;
    struct sketch sketch = {0};

    for (int n = 0; n < 3; n++) {
        allocations_left = n;
        for (int64_t ns = 1000; ns <= 1000000000; ns *= 10)
            sketch_add(&sketch, ns); /* each needs bins of its own */
        assert_int_equal(sketch.error, SS_E_NOMEM);
        assert_int_equal(sketch.count, 7);
        assert_int_equal(sketch.min_ns, 1000);
        assert_int_equal(sketch.max_ns, 1000000000);
        assert_true(sketch.sum_ns == 1111111000);
        assert_true(isnan(sketch_quantile(&sketch, 0.5)));
        sketch_release(&sketch);
        assert_int_equal(sketch.error, 0);
    }
}

static void a_failure_is_merged_too(void **state)
{
    (void)state;
    struct sketch good = {0}, bad = {0}, out = {0};

    allocations_left = 1;
    sketch_add(&good, 5000);
    sketch_add(&bad, 5000);
    assert_int_equal(good.error, 0);
    assert_int_equal(bad.error, SS_E_NOMEM);
    allocations_left = 1;
    sketch_merge(&out, &good);
    sketch_merge(&out, &bad);
    assert_int_equal(out.error, SS_E_NOMEM);
    assert_int_equal(out.count, 2);
    assert_true(isnan(sketch_quantile(&out, 0.5)));
    sketch_release(&out);

    allocations_left = 0;
    sketch_merge(&out, &good);
    assert_int_equal(out.error, SS_E_NOMEM);
    assert_int_equal(out.count, 1);
    sketch_release(&out);
    sketch_release(&good);
    sketch_release(&bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_failure_stays_and_exact_numbers_go_on),
        cmocka_unit_test(a_failure_is_merged_too),
    };
    return cmocka_run_group_tests_name("stats/sketch without memory", tests, NULL, NULL);
}
