/* stats/turns: rows of two kinds of which the order is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stats/mix.h"
#include "stats/modes.h"

enum { COUNT = 400 };

static double number(uint64_t i)
{
    return (double)(mix64(i) >> 11) / 9007199254740992.0;
}

static struct turns find(double (*value)(size_t i, uint64_t seed), size_t count, uint64_t seed)
{
    double x[COUNT];
    struct turns turns;

    for (size_t i = 0; i < count; i++)
        x[i] = value(i, seed);
    turns_find(x, count, 1.5, &turns);
    return turns;
}

static double in_turn(size_t i, uint64_t seed)
{
    (void)seed;
    return i % 2 ? 2 : 1;
}

static double in_stretches(size_t i, uint64_t seed)
{
    (void)seed;
    return i % 25 < 10 ? 2 : 1;
}

static double at_random(size_t i, uint64_t seed)
{
    return number(seed * COUNT + i) < 0.3 ? 2 : 1;
}

static double all_alike(size_t i, uint64_t seed)
{
    (void)i;
    (void)seed;
    return 1;
}

static void known_orders(void **state)
{
    (void)state;
    assert_int_equal(find(in_turn, COUNT, 0).order, TURNS_ALTERNATE);
    const struct turns stretches = find(in_stretches, COUNT, 0);
    assert_int_equal(stretches.order, TURNS_STRETCHES);
    assert_true(fabs(stretches.stretch - 10) < 1e-9);
}

/* Chance alone looks like an order in about 1 of 100 rows. */
static void no_order(void **state)
{
    int wrong = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 1000; seed++)
        wrong += find(at_random, COUNT, seed).order != TURNS_RANDOM;
    assert_in_range(wrong, 2, 25);
}

static void too_few(void **state)
{
    (void)state;
    assert_int_equal(find(in_turn, 18, 0).order, TURNS_RANDOM);
    assert_int_equal(find(all_alike, COUNT, 0).order, TURNS_RANDOM);
    assert_true(find(all_alike, COUNT, 0).stretch == 0);
    assert_int_equal(find(in_turn, 0, 0).order, TURNS_RANDOM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_orders),
        cmocka_unit_test(no_order),
        cmocka_unit_test(too_few),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
