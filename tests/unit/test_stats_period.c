/* stats/spikes and stats/period: slow steps found as they come, and how regular they are. */
#include "stats/spikes.h"
#include "test_stats_support.h"

static struct spikes spikes;

/* n steps that vary by 3 %; a share `random_rate` of them, and every `period`-th, is slower. */
static void run(int64_t n, int64_t period, double random_rate, uint64_t seed)
{
    struct series series = series_from(seed, 0.3, 0.03);
    series.spike_rate = random_rate;
    series.spike_factor = 3;
    spikes_init(&spikes);
    for (int64_t i = 0; i < n; i++) {
        double time = series_next(&series);
        if (period > 0 && i % period == period - 1)
            time *= 2;
        spikes_add(&spikes, i, time);
    }
}

static size_t find(int64_t n, const int64_t *known, size_t known_count, struct period out[4])
{
    int64_t list[SPIKES_KEPT];
    size_t count = spikes_list(&spikes, list);
    return period_find(list, count, spikes.complete_from, n, known, known_count, out, 4);
}

static void spikes_are_counted_with_what_they_cost(void **state)
{
    (void)state;

    spikes_init(&spikes);
    for (int64_t i = 0; i < 1000; i++)
        assert_int_equal(spikes_add(&spikes, i, i % 100 == 50 ? 5000 : 1000), i % 100 == 50);
    assert_int_equal(spikes.count, 10);
    assert_near(spikes.excess_ns, 10 * 4000, 0);
    assert_int_equal(spikes.complete_from, 32);
}

static void the_limit_is_20_percent_or_5_sigma_above_the_median(void **state)
{
    (void)state;

    spikes_init(&spikes);
    for (int64_t i = 0; i < 32; i++)
        assert_false(spikes_add(&spikes, i, 1000));
    assert_false(spikes_add(&spikes, 32, 1200));
    assert_true(spikes_add(&spikes, 33, 1201));

    /* 900 and 1100 in turn: median 1000, sigma 148.26, limit 1741. */
    spikes_init(&spikes);
    for (int64_t i = 0; i < 32; i++)
        spikes_add(&spikes, i, i % 2 ? 900 : 1100);
    assert_false(spikes_add(&spikes, 32, 1741));
    assert_true(spikes_add(&spikes, 33, 1742));
}

static void the_first_steps_are_not_judged(void **state)
{
    (void)state;

    spikes_init(&spikes);
    assert_false(spikes_add(&spikes, 0, 1e9));
    for (int64_t i = 1; i < 31; i++)
        assert_false(spikes_add(&spikes, i, i % 3 ? 1000 : 9000));
    assert_int_equal(spikes.count, 0);
}

static void a_new_level_stops_being_a_spike(void **state)
{
    (void)state;
    int64_t before = 0;

    spikes_init(&spikes);
    for (int64_t i = 0; i < 1000; i++) {
        spikes_add(&spikes, i, i < 500 ? 1000 : 2000);
        if (i == 563)
            before = spikes.count;
    }
    assert_true(before > 20 && before < 50);
    assert_int_equal(spikes.count, before);
}

static void the_newest_spikes_are_kept_and_known_to_be_complete(void **state)
{
    (void)state;
    int64_t list[SPIKES_KEPT];

    spikes_init(&spikes);
    for (int64_t i = 0; i < 10000; i++)
        spikes_add(&spikes, i, i % 10 == 0 ? 5000 : 1000);
    /* From 40 on, every 10th: 996 spikes, the last is 9990, the 512th before the end 4880. */
    assert_int_equal(spikes.count, 996);
    assert_int_equal(spikes_list(&spikes, list), 512);
    assert_int_equal(list[0], 4880);
    assert_int_equal(list[511], 9990);
    assert_int_equal(spikes.complete_from, 4871);
}

static void regular_spikes_give_their_period_among_random_ones(void **state)
{
    (void)state;
    const struct {
        int64_t n, period;
        double random_rate;
    } cases[] = {
        {400, 20, 0.03},    {400, 50, 0.01},      {1000, 125, 0.01},   {1000, 50, 0.03},
        {10000, 10, 0.01},  {10000, 200, 0.03},   {10000, 1250, 0.01}, {10000, 500, 0.03},
        {100000, 10, 0.01}, {50000, 1000, 0.005},
    };
    struct period found[4];

    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        for (uint64_t seed = 1; seed <= 4; seed++) {
            run(cases[k].n, cases[k].period, cases[k].random_rate, seed);
            assert_int_equal(find(cases[k].n, NULL, 0, found), 1);
            assert_int_equal(found[0].steps, cases[k].period);
            assert_int_equal((found[0].first + 1) % cases[k].period, 0);
            assert_true(found[0].hits >= 0.8 * (double)found[0].places);
            assert_false(found[0].known);
        }
    }
}

static void random_spikes_have_no_period(void **state)
{
    (void)state;
    const double rates[] = {0.003, 0.01, 0.03, 0.1};
    const int64_t known[] = {10, 50, 100, 500};
    struct period found[4];

    for (size_t k = 0; k < COUNT_OF(rates); k++) {
        for (uint64_t seed = 1; seed <= 30; seed++) {
            run(3000, 0, rates[k], seed);
            assert_int_equal(find(3000, known, COUNT_OF(known), found), 0);
        }
    }
}

static void a_known_period_needs_three_places_only(void **state)
{
    (void)state;
    const int64_t outliers[] = {332, 665, 998};
    const int64_t known[] = {500, 333};
    struct period found[4];

    assert_int_equal(period_find(outliers, 3, 0, 1000, NULL, 0, found, 4), 0);
    assert_int_equal(period_find(outliers, 3, 0, 1000, known, 2, found, 4), 1);
    assert_true(found[0].known);
    assert_int_equal(found[0].steps, 333);
    assert_int_equal(found[0].first, 332);
    assert_int_equal(found[0].hits, 3);
    assert_int_equal(found[0].places, 3);
    /* With a fourth place, at 1331, that is none: 3 of 4 are 75 %. */
    assert_int_equal(period_find(outliers, 3, 0, 1332, known, 2, found, 4), 0);
}

static void a_true_period_wins_over_a_known_multiple(void **state)
{
    (void)state;
    int64_t outliers[100];
    const int64_t known[] = {50, 100};
    struct period found[4];

    for (size_t i = 0; i < 100; i++)
        outliers[i] = 10 * (int64_t)i + 9;
    assert_int_equal(period_find(outliers, 100, 0, 1000, known, 2, found, 4), 1);
    assert_int_equal(found[0].steps, 10);
    assert_false(found[0].known);
    assert_int_equal(found[0].places, 100);
    assert_int_equal(found[0].hits, 100);
}

static void two_periods_are_both_found(void **state)
{
    (void)state;
    int64_t outliers[200];
    size_t count = 0;
    struct period found[4];

    for (int64_t i = 0; i < 3000; i++)
        if (i % 25 == 7 || i % 170 == 11)
            outliers[count++] = i;
    assert_int_equal(period_find(outliers, count, 0, 3000, NULL, 0, found, 4), 2);
    assert_int_equal(found[0].steps, 25);
    assert_int_equal(found[0].first, 7);
    assert_int_equal(found[1].steps, 170);
    assert_int_equal(found[1].first, 11);
    assert_int_equal(period_find(outliers, count, 0, 3000, NULL, 0, found, 1), 1);
}

static void too_many_missing_places_are_no_period(void **state)
{
    (void)state;
    const char *const hit = "1011001111011001110111101110110111101101"; /* 28 of 40: 70 % */
    int64_t outliers[40];
    size_t count = 0;
    struct period found[4];

    for (int64_t i = 0; i < 40; i++)
        if (hit[i] == '1')
            outliers[count++] = 100 * i;
    assert_int_equal(count, 28);
    /* A multiple of it may be one: it misses fewer by chance. */
    size_t periods = period_find(outliers, count, 0, 4000, (int64_t[]){100}, 1, found, 4);
    for (size_t k = 0; k < periods; k++)
        assert_int_not_equal(found[k].steps, 100);
    /* Four more, and it is one. */
    for (int64_t i = 0; i < 40; i++)
        outliers[i] = 100 * i;
    memmove(outliers + 7, outliers + 15, 25 * sizeof(outliers[0]));
    assert_int_equal(period_find(outliers, 32, 0, 4000, NULL, 0, found, 4), 1);
    assert_int_equal(found[0].steps, 100);
    assert_int_equal(found[0].hits, 32);
    assert_int_equal(found[0].places, 40);
}

static void chance_is_chernoffs_bound_times_the_tests(void **state)
{
    (void)state;
    const int64_t outliers[] = {100, 300, 500, 700, 900};
    struct period found[4];

    /* 5 of 5 places, rate 5 / 1000: 5 ln 0.005; 200 phases times 250 lengths. */
    assert_int_equal(period_find(outliers, 5, 0, 1000, NULL, 0, found, 4), 1);
    assert_near(found[0].log_chance, 5 * log(0.005) + log(200.0 * 250), 1e-9);
    /* As a known period, alone: 200 phases. */
    period_find(outliers, 5, 0, 1000, (int64_t[]){200}, 1, found, 4);
    assert_near(found[0].log_chance, 5 * log(0.005) + log(200), 1e-9);
}

static void no_outliers_have_no_period(void **state)
{
    (void)state;
    const int64_t known[] = {0, 1, 10};
    struct period found[4];

    assert_int_equal(period_find(NULL, 0, 0, 1000, known, 3, found, 4), 0);
    assert_int_equal(period_find(NULL, 0, 5, 5, known, 3, found, 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spikes_are_counted_with_what_they_cost),
        cmocka_unit_test(the_limit_is_20_percent_or_5_sigma_above_the_median),
        cmocka_unit_test(the_first_steps_are_not_judged),
        cmocka_unit_test(a_new_level_stops_being_a_spike),
        cmocka_unit_test(the_newest_spikes_are_kept_and_known_to_be_complete),
        cmocka_unit_test(regular_spikes_give_their_period_among_random_ones),
        cmocka_unit_test(random_spikes_have_no_period),
        cmocka_unit_test(a_known_period_needs_three_places_only),
        cmocka_unit_test(a_true_period_wins_over_a_known_multiple),
        cmocka_unit_test(two_periods_are_both_found),
        cmocka_unit_test(too_many_missing_places_are_no_period),
        cmocka_unit_test(chance_is_chernoffs_bound_times_the_tests),
        cmocka_unit_test(no_outliers_have_no_period),
    };
    return cmocka_run_group_tests_name("stats/period", tests, NULL, NULL);
}
