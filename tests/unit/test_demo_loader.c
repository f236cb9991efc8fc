/* demo/loader.c: the same batches whichever thread is faster, each digit once an epoch, never one
 * that is still being used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "demo/loader.h"

enum { DIGITS = 60, BATCH = 8, BATCHES = 7, EPOCHS = 3 };

static struct demo_settings settings = DEMO_DEFAULTS;
static struct digits digits;
static struct faults faults;
static struct truth truth;

static int make_digits(void **state)
{
    (void)state;
    faults_start(&faults, &settings);
    return digits_draw(&digits, DIGITS, 9);
}

static int release_digits(void **state)
{
    (void)state;
    digits_release(&digits);
    return 0;
}

static uint64_t hash_of(const struct batch *batch)
{
    uint64_t hash = 0;
    const uint32_t *words = (const uint32_t *)(const void *)batch->pixels;
    for (int i = 0; i < BATCH * DIGIT_PIXELS; i++)
        hash = (hash ^ words[i]) * 0x100000001b3u;
    return hash;
}

static void load(uint64_t *hashes, uint64_t seed)
{
    struct loader loader;
    assert_int_equal(loader_start(&loader, &digits, BATCH, seed, &faults, &truth), 0);
    for (int i = 0; i < EPOCHS * BATCHES; i++) {
        const struct batch *batch = loader_next(&loader);
        hashes[i] = hash_of(batch);
        assert_true(hashes[i] == hash_of(batch)); /* nothing writes to it at that time */
    }
    loader_release(&loader);
}

static void batches_depend_on_the_seed_alone(void **state)
{
    (void)state;
    uint64_t first[EPOCHS * BATCHES], again[EPOCHS * BATCHES], other[EPOCHS * BATCHES];

    load(first, 1);
    load(again, 1);
    load(other, 2);
    assert_memory_equal(first, again, sizeof first);
    for (int i = 0; i < EPOCHS * BATCHES; i++) {
        assert_true(first[i] != other[i]);
        for (int k = 0; k < i; k++)
            assert_true(first[i] != first[k]);
    }
}

static void a_digit_comes_once_an_epoch(void **state)
{
    (void)state;
    struct loader loader;

    assert_int_equal(loader_start(&loader, &digits, DIGITS, 1, &faults, &truth), 0);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        int seen[DIGIT_CLASSES] = {0}, there[DIGIT_CLASSES] = {0};
        const struct batch *batch = loader_next(&loader);
        for (int i = 0; i < DIGITS; i++) {
            seen[batch->labels[i]]++;
            there[digits.labels[i]]++;
        }
        assert_memory_equal(seen, there, sizeof seen);
    }
    loader_release(&loader);
}

static void a_loader_stops_whatever_it_does(void **state)
{
    (void)state;
    for (int taken = 0; taken < 2 * LOADER_AHEAD; taken++) {
        struct loader loader;
        assert_int_equal(loader_start(&loader, &digits, BATCH, 1, &faults, &truth), 0);
        for (int i = 0; i < taken; i++)
            assert_non_null(loader_next(&loader));
        loader_stop(&loader);
        loader_release(&loader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_depend_on_the_seed_alone),
        cmocka_unit_test(a_digit_comes_once_an_epoch),
        cmocka_unit_test(a_loader_stops_whatever_it_does),
    };
    return cmocka_run_group_tests_name("the loader of the demo", tests, make_digits,
                                       release_digits);
}
