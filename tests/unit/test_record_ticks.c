/* Clocks: pairs of ticks and nanoseconds, a thread that is interrupted while it reads them, and a
 * recorder that may not use the counter of the processor, as in many virtual machines: it has no
 * fast path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/ticks.h"
#include "support/own_run.h"

static bool counter_is_forbidden;

/* In place of that of the C library: says that the counter may not be read, and does the rest. */
int prctl(int option, ...)
{
    va_list arguments;
    va_start(arguments, option);
    void *first = va_arg(arguments, void *);
    va_end(arguments);
    if (option == PR_GET_TSC && counter_is_forbidden) {
        *(int *)first = PR_TSC_SIGSEGV;
        return 0;
    }
    return (int)syscall(SYS_prctl, option, first, 0L, 0L, 0L);
}

static _Atomic int stalls; /* every N readings, a thread other than the first is held up */
enum { STALL_NS = 200000 };

static int64_t raw_ns(void)
{
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* In place of that of the C library: may be interrupted right after it has read the clock. */
int clock_gettime(clockid_t clock, struct timespec *out)
{
    static _Atomic int readings;
    const int result = (int)syscall(SYS_clock_gettime, clock, out);
    const int every = atomic_load(&stalls);

    if (every > 0 && clock == CLOCK_MONOTONIC_RAW && syscall(SYS_gettid) != getpid() &&
        atomic_fetch_add(&readings, 1) % every == 0)
        for (const int64_t end = raw_ns() + STALL_NS; raw_ns() < end;) {
        }
    return result;
}

static int forbid_counter(void **state)
{
    counter_is_forbidden = true;
    return own_run_setup(state);
}

static int allow_counter(void **state)
{
    counter_is_forbidden = false;
    return own_run_teardown(state);
}

static void a_pair_lies_between_two_readings(void **state)
{
    (void)state;
    const enum ss_clock clock = ticks_choose();
    struct ticks_pair pair;

    for (int i = 0; i < 100; i++) {
        const uint64_t before = ticks_now(clock);
        const int64_t before_ns = ticks_clock_ns(CLOCK_MONOTONIC_RAW);
        ticks_read_pair(clock, 1 + i % 3, &pair);
        const int64_t after_ns = ticks_clock_ns(CLOCK_MONOTONIC_RAW);
        const uint64_t after = ticks_now(clock);
        assert_true(pair.ticks >= before && pair.ticks <= after);
        assert_true(pair.raw_ns >= before_ns && pair.raw_ns <= after_ns);
        assert_true(pair.bracket_ticks <= after - before);
        assert_true(pair.realtime_ns > 1000000000);
    }
}

static void a_rate_needs_two_times(void **state)
{
    (void)state;
    const struct ticks_pair a = {.ticks = 5000, .raw_ns = 1000};
    const struct ticks_pair b = {.ticks = 8000, .raw_ns = 2000};

    assert_int_equal(ticks_per_second(&a, &b), 3000000000);
    assert_int_equal(ticks_per_second(&a, &a), 0);
    assert_int_equal(ticks_per_second(&b, &a), 0);
}

struct beat {
    uint64_t ticks;
    int64_t raw_ns;
};

/* The next one that comes, as a reader would find it if the process died now. */
static struct beat next_beat(const struct own_run *own)
{
    uint64_t beats;
    struct beat beat;

    assert_true(own_run_catch_up(own));
    do {
        beats = __atomic_load_n(&own->header->beats, __ATOMIC_ACQUIRE);
        beat.ticks = __atomic_load_n(&own->header->beat[beats & 1].ticks, __ATOMIC_ACQUIRE);
        beat.raw_ns = __atomic_load_n(&own->header->beat[beats & 1].raw_ns, __ATOMIC_ACQUIRE);
    } while (__atomic_load_n(&own->header->beats, __ATOMIC_RELAXED) != beats);
    return beat;
}

/* The last beat is one of the two points that times in the last second of a killed process are
 * reckoned from: it must be right even if the helper thread was held up while it read the
 * clocks. */
static void a_beat_is_right_even_if_its_thread_is_held_up(void **state)
{
    struct own_run *own = *state;
    enum { BEATS = 10 };
    struct beat beats[BEATS];
    struct ticks_pair first, last;
    const enum ss_clock clock = ticks_choose();

    own_run_start(own, 0);
    ticks_read_pair(clock, 100, &first);
    atomic_store(&stalls, 3);
    for (int i = 0; i < BEATS; i++)
        beats[i] = next_beat(own);
    atomic_store(&stalls, 0);
    ticks_read_pair(clock, 100, &last);

    const double ns_per_tick =
        (double)(last.raw_ns - first.raw_ns) / (double)(last.ticks - first.ticks);
    for (int i = 0; i < BEATS; i++) {
        const double expected = (double)(beats[i].ticks - first.ticks) * ns_per_tick;
        const double off_ns = (double)(beats[i].raw_ns - first.raw_ns) - expected;
        assert_true(off_ns < 1000 && off_ns > -1000);
    }
}

static void without_the_counter_ticks_are_nanoseconds(void **state)
{
    struct own_run *own = *state;

    assert_int_equal(ticks_choose(), SS_CLOCK_RAW);
    own_run_start(own, 0);
    const int64_t before_ns = ticks_clock_ns(CLOCK_MONOTONIC_RAW);
    const ss_ticks now = ss_now();
    const int64_t after_ns = ticks_clock_ns(CLOCK_MONOTONIC_RAW);
    assert_int_equal(ss_ticks_of_ns(12345), 12345);
    own_run_stop(own);

    assert_int_equal(ss_run_process(own->run, 0)->clock, SS_CLOCK_RAW);
    assert_true((int64_t)now >= before_ns && (int64_t)now <= after_ns);
}

static void without_the_counter_all_is_recorded_too(void **state)
{
    struct own_run *own = *state;
    enum { SWITCHES = 3000, LEVELS = 70 };

    own_run_start(own, 0);
    assert_true(own_run_catch_up(own));
    ss_end(0, 0);
    ss_begin(0, SS_FLAG_TRAIN);
    for (int i = 1; i < SWITCHES; i++)
        ss_switch(0, SS_FLAG_TRAIN);
    ss_end(0, 1);
    for (int i = 0; i < LEVELS; i++)
        ss_begin(0, 0);
    for (int i = 0; i < LEVELS; i++)
        ss_end(0, 0);
    own_run_stop(own);

    assert_int_equal(own_run_lost(own, 0), 0);
    assert_int_equal(own_run_count(own, SS_KIND_SPAN), SWITCHES + SS_STACK_DEPTH - 1);
    assert_int_equal(ss_run_lane(own->run, 1)->unbalanced, 1);
    assert_int_equal(ss_run_lane(own->run, 1)->too_deep, LEVELS - (SS_STACK_DEPTH - 1));
    const struct ss_record *span = own_run_span(own, 0);
    for (int i = 0; i < SWITCHES; i++) {
        assert_int_equal(span[i].flags, SS_FLAG_TRAIN);
        assert_int_equal(span[i].u.arg, i == SWITCHES - 1);
        assert_true(i == 0 || span[i].start_ns == span[i - 1].end_ns);
    }
    assert_int_equal(span[SWITCHES].depth, SS_STACK_DEPTH - 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_lies_between_two_readings),
        cmocka_unit_test(a_rate_needs_two_times),
        OWN_RUN_TEST(a_beat_is_right_even_if_its_thread_is_held_up),
        cmocka_unit_test_setup_teardown(without_the_counter_ticks_are_nanoseconds, forbid_counter,
                                        allow_counter),
        cmocka_unit_test_setup_teardown(without_the_counter_all_is_recorded_too, forbid_counter,
                                        allow_counter),
    };

    return cmocka_run_group_tests_name("ticks", tests, NULL, NULL);
}
