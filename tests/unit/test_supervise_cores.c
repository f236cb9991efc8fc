/* supervise/allowed_cores: which cores count, when these are others than before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervise/allowed_cores.h"

/* Three cores of which each works as many ticks a look as its number says, and a tenth of it is
 * taken away. */
static struct proc_cpus after(uint64_t looks)
{
    struct proc_cpus cpus = {.count = 3};

    for (uint32_t i = 0; i < 3; i++) {
        cpus.number[i] = i;
        cpus.busy_of[i] = 1000 + looks * 10 * (i + 1);
        cpus.steal_of[i] = 500 + looks * (i + 1);
    }
    return cpus;
}

static struct allowed_cores only(int core)
{
    struct allowed_cores cores = {.count = 1};

    CPU_ZERO(&cores.set);
    CPU_SET((size_t)core, &cores.set);
    return cores;
}

static void add(struct core_times *times, int core, uint64_t looks)
{
    const struct allowed_cores cores = only(core);
    const struct proc_cpus cpus = after(looks);

    assert_true(core_times_add(times, &cores, &cpus));
}

/* What a core did before it was allowed does not count, nor what it does afterwards. */
static void other_cores_make_no_jump(void **state)
{
    (void)state;
    static struct core_times times;

    add(&times, 2, 0);
    assert_int_equal(times.busy, 0);
    add(&times, 2, 1);
    assert_int_equal(times.busy, 30);
    assert_int_equal(times.steal, 3);
    add(&times, 0, 2);
    assert_int_equal(times.busy, 30 + 10);
    assert_int_equal(times.steal, 3 + 1);
    add(&times, 0, 5);
    assert_int_equal(times.busy, 30 + 40);
    add(&times, 2, 6);
    assert_int_equal(times.busy, 30 + 40 + 30);
    assert_int_equal(times.steal, 3 + 4 + 3);
}

static void what_goes_back_counts_as_nothing(void **state)
{
    (void)state;
    static struct core_times times;

    add(&times, 1, 5);
    add(&times, 1, 2);
    assert_int_equal(times.busy, 0);
    add(&times, 1, 3);
    assert_int_equal(times.busy, 20);
}

static void cores_that_the_kernel_does_not_list_are_not_known(void **state)
{
    (void)state;
    static struct core_times times;
    const struct allowed_cores cores = only(7), none = {.count = 0};
    const struct proc_cpus cpus = after(1);

    assert_false(core_times_add(&times, &cores, &cpus));
    assert_false(core_times_add(&times, &none, &cpus));
}

/* This thread gives up all cores but one, and a thread that is not there says nothing. */
static void cores_of_a_thread_are_followed(void **state)
{
    (void)state;
    struct allowed_cores own, followed;
    const pid_t absent = 0x3fffffff, here = (pid_t)gettid();

    allowed_cores_look(&own);
    assert_true(own.count > 0);
    followed = own;
    allowed_cores_follow(&followed, &absent, 1);
    assert_true(CPU_EQUAL(&followed.set, &own.set));
    allowed_cores_follow(&followed, NULL, 0);
    assert_true(CPU_EQUAL(&followed.set, &own.set));
    size_t last = CPU_SETSIZE;
    while (!allowed_cores_has(&own, --last))
        ;
    const struct allowed_cores one = only((int)last);
    assert_int_equal(sched_setaffinity(0, sizeof one.set, &one.set), 0);
    const pid_t both[] = {absent, here};
    allowed_cores_follow(&followed, both, 2);
    assert_int_equal(followed.count, 1);
    assert_true(allowed_cores_has(&followed, last));
    assert_int_equal(sched_setaffinity(0, sizeof own.set, &own.set), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_cores_make_no_jump),
        cmocka_unit_test(what_goes_back_counts_as_nothing),
        cmocka_unit_test(cores_that_the_kernel_does_not_list_are_not_known),
        cmocka_unit_test(cores_of_a_thread_are_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
