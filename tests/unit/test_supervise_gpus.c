/* supervise/gpus: GPUs as tests/helpers/fake_nvml.c plays them, loaded as NVML is. */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervise/gpus.h"

#define SECOND_NS ((int64_t)1000000000)

enum { MOST = 256, PATIENCE_S = 30 };

#define ONE_GPU                                                                                    \
    "count.0 1\n"                                                                                  \
    "utilization.0 40\nutilization_memory.0 25\n"                                                  \
    "memory.0 85899345920\nmemory_used.0 1073741824\n"                                             \
    "clock.0 1410\nmemory_clock.0 1593\nclock_most.0 1980\nheld.0 68\n"                            \
    "power.0 312500\npower_limit.0 400000\ntemperature.0 71\n"                                     \
    "received.0 12000\nsent.0 500\nusers.0 2097152\npid.0 4711\n"
#define SECOND_GPU "utilization.1 90\npower.1 100000\n"

static char script[PATH_MAX], hangs[PATH_MAX + 8], library[PATH_MAX], old_library[PATH_MAX];
extern char **environ;

/* What was read last of a counter, and how often. */
struct seen {
    struct gpu_reading last;
    unsigned times;
};
static struct seen seen[2][SS_COUNTER_IDS];

static void play(const char *text)
{
    char fresh[PATH_MAX + 8];

    snprintf(fresh, sizeof fresh, "%s.new", script);
    FILE *file = fopen(fresh, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(fresh, script), 0);
}

static void short_pause(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void take(struct gpus *gpus)
{
    struct gpu_reading readings[MOST];
    const size_t count = gpus_take(gpus, readings, MOST);

    for (size_t i = 0; i < count; i++) {
        const unsigned gpu = (unsigned)(readings[i].counter == SS_COUNTER_ID_GPU_PROCESS_MEMORY
                                            ? readings[i].subject >> 32
                                            : readings[i].subject);
        assert_in_range(gpu, 0, 1);
        assert_in_range(readings[i].counter, SS_COUNTER_ID_GPU_BUSY,
                        SS_COUNTER_ID_GPU_PROCESS_MEMORY);
        seen[gpu][readings[i].counter].last = readings[i];
        seen[gpu][readings[i].counter].times++;
    }
}

static bool is_late(time_t since)
{
    return time(NULL) - since > PATIENCE_S;
}

/* Takes readings until the counter is in this state, or for too long. */
static void wait_for(struct gpus *gpus, unsigned gpu, enum ss_counter_id counter,
                     enum ss_system_state state)
{
    const struct seen *it = &seen[gpu][counter];

    for (time_t since = time(NULL); !it->times || it->last.state != state;) {
        take(gpus);
        assert_false(is_late(since));
        short_pause();
    }
}

/* The same until it has been read `more` times more. */
static void wait_for_more(struct gpus *gpus, unsigned gpu, enum ss_counter_id counter,
                          unsigned more)
{
    const unsigned wanted = seen[gpu][counter].times + more;

    for (time_t since = time(NULL); seen[gpu][counter].times < wanted;) {
        take(gpus);
        assert_false(is_late(since));
        short_pause();
    }
}

static struct gpus *start(const char *file, const char *text)
{
    memset(seen, 0, sizeof seen);
    play(text);
    setenv("STEPSCOPE_NVML", file, 1);
    struct gpus *gpus = gpus_start();
    assert_non_null(gpus);
    return gpus;
}

static void expect(unsigned gpu, enum ss_counter_id counter, double value)
{
    assert_int_equal(seen[gpu][counter].last.state, SS_SYSTEM_VALUE);
    assert_float_equal(seen[gpu][counter].last.value, value, 1e-9 * (1 + value));
}

static void without_nvml_there_is_nothing_but_a_reason(void **state)
{
    (void)state;
    const char *why = NULL;

    setenv("STEPSCOPE_NVML", "/nowhere/libnvidia-ml.so.1", 1);
    struct gpus *gpus = gpus_start();
    assert_int_equal(gpus_wait(gpus, PATIENCE_S * SECOND_NS, &why), GPUS_NO_LIBRARY);
    assert_non_null(strstr(why, "/nowhere/libnvidia-ml.so.1"));
    wait_for(gpus, 0, SS_COUNTER_ID_GPU_BUSY, SS_SYSTEM_ABSENT);
    take(gpus);
    assert_int_equal(seen[0][SS_COUNTER_ID_GPU_BUSY].times, 1);
    gpus_stop(gpus);
    setenv("STEPSCOPE_NVML", "libm.so.6", 1);
    gpus = gpus_start();
    assert_int_equal(gpus_wait(gpus, PATIENCE_S * SECOND_NS, &why), GPUS_NO_LIBRARY);
    assert_string_equal(why, "libm.so.6 lacks required NVML functions");
    gpus_stop(gpus);
    gpus_stop(NULL);
    assert_false(gpus_left_behind());
}

static void every_counter_comes_in_its_unit(void **state)
{
    (void)state;
    struct gpus *gpus = start(library, ONE_GPU);

    wait_for_more(gpus, 0, SS_COUNTER_ID_GPU_PROCESS_MEMORY, 1);
    expect(0, SS_COUNTER_ID_GPU_BUSY, 0.40);
    expect(0, SS_COUNTER_ID_GPU_MEMORY_BUSY, 0.25);
    expect(0, SS_COUNTER_ID_GPU_MEMORY_USED, 1073741824.0);
    expect(0, SS_COUNTER_ID_GPU_MEMORY_TOTAL, 85899345920.0);
    expect(0, SS_COUNTER_ID_GPU_CLOCK, 1410e6);
    expect(0, SS_COUNTER_ID_GPU_MEMORY_CLOCK, 1593e6);
    expect(0, SS_COUNTER_ID_GPU_CLOCK_MOST, 1980e6);
    expect(0, SS_COUNTER_ID_GPU_HELD, 68);
    expect(0, SS_COUNTER_ID_GPU_HELD_HEAT, 1);
    expect(0, SS_COUNTER_ID_GPU_HELD_POWER, 1);
    expect(0, SS_COUNTER_ID_GPU_HELD_HARDWARE, 0);
    expect(0, SS_COUNTER_ID_GPU_HELD_OTHER, 0);
    expect(0, SS_COUNTER_ID_GPU_POWER, 312.5);
    expect(0, SS_COUNTER_ID_GPU_POWER_LIMIT, 400);
    expect(0, SS_COUNTER_ID_GPU_TEMPERATURE, 71);
    expect(0, SS_COUNTER_ID_GPU_RECEIVED, 12e6);
    expect(0, SS_COUNTER_ID_GPU_SENT, 0.5e6);
    expect(0, SS_COUNTER_ID_GPU_PROCESS_MEMORY, 2097152);
    assert_int_equal(seen[0][SS_COUNTER_ID_GPU_PROCESS_MEMORY].last.subject, 4711);
    gpus_stop(gpus);
}

static void readings_go_on_with_later_times_and_fresh_values(void **state)
{
    (void)state;
    struct gpus *gpus = start(library, ONE_GPU);
    const struct seen *busy = &seen[0][SS_COUNTER_ID_GPU_BUSY];

    wait_for_more(gpus, 0, SS_COUNTER_ID_GPU_BUSY, 1);
    const int64_t first_ns = busy->last.time_ns;
    play("count.0 1\nutilization.0 55\n");
    wait_for_more(gpus, 0, SS_COUNTER_ID_GPU_BUSY, 2);
    expect(0, SS_COUNTER_ID_GPU_BUSY, 0.55);
    assert_true(busy->last.time_ns > first_ns);
    wait_for_more(gpus, 0, SS_COUNTER_ID_GPU_BUSY, 7);
    const struct seen *hot = &seen[0][SS_COUNTER_ID_GPU_TEMPERATURE];
    assert_true(hot->times < busy->times);
    gpus_stop(gpus);
}

static void what_does_not_fit_comes_with_the_next_take(void **state)
{
    (void)state;
    struct gpus *gpus = start(library, ONE_GPU);
    struct gpu_reading one;
    bool came[SS_COUNTER_IDS] = {false};
    unsigned kinds = 0;

    for (time_t since = time(NULL); kinds < 14;) {
        assert_false(is_late(since));
        if (gpus_take(gpus, &one, 1) == 1) {
            kinds += !came[one.counter];
            came[one.counter] = true;
        } else {
            short_pause();
        }
    }
    assert_int_equal(gpus_take(gpus, &one, 0), 0);
    gpus_stop(gpus);
}

static void denied_and_unsupported_are_told_apart_and_told_once(void **state)
{
    (void)state;
    struct gpus *gpus = start(library, "count.0 1\nutilization.0 5\npower.0 1000\n"
                                       "error.power.0 4\n");

    wait_for(gpus, 0, SS_COUNTER_ID_GPU_POWER, SS_SYSTEM_DENIED);
    wait_for(gpus, 0, SS_COUNTER_ID_GPU_TEMPERATURE, SS_SYSTEM_ABSENT);
    wait_for_more(gpus, 0, SS_COUNTER_ID_GPU_BUSY, 6);
    assert_int_equal(seen[0][SS_COUNTER_ID_GPU_POWER].times, 1);
    assert_int_equal(seen[0][SS_COUNTER_ID_GPU_TEMPERATURE].times, 1);
    assert_int_equal(seen[0][SS_COUNTER_ID_GPU_PROCESS_MEMORY].times, 0);
    gpus_stop(gpus);
}

static void an_error_that_comes_and_goes_leaves_the_rest_alone(void **state)
{
    (void)state;
    struct gpus *gpus = start(library, ONE_GPU);

    wait_for(gpus, 0, SS_COUNTER_ID_GPU_POWER, SS_SYSTEM_VALUE);
    play(ONE_GPU "error.power.0 999\n");
    wait_for(gpus, 0, SS_COUNTER_ID_GPU_POWER, SS_SYSTEM_ABSENT);
    wait_for_more(gpus, 0, SS_COUNTER_ID_GPU_CLOCK, 2);
    expect(0, SS_COUNTER_ID_GPU_CLOCK, 1410e6);
    play(ONE_GPU);
    wait_for(gpus, 0, SS_COUNTER_ID_GPU_POWER, SS_SYSTEM_VALUE);
    gpus_stop(gpus);
}

static void a_gpu_that_is_lost_is_absent_until_it_is_back(void **state)
{
    (void)state;
    struct gpus *gpus = start(library, "count.0 2\n" ONE_GPU SECOND_GPU);

    play("count.0 2\nutilization.0 40\nclock.0 1000\n" SECOND_GPU);
    wait_for(gpus, 0, SS_COUNTER_ID_GPU_CLOCK, SS_SYSTEM_VALUE);
    wait_for(gpus, 1, SS_COUNTER_ID_GPU_POWER, SS_SYSTEM_VALUE);
    play("count.0 2\nutilization.0 40\nclock.0 1000\nerror.utilization.0 15\n"
         "error.device.0 15\n" SECOND_GPU);
    wait_for(gpus, 0, SS_COUNTER_ID_GPU_CLOCK, SS_SYSTEM_ABSENT);
    assert_int_equal(seen[0][SS_COUNTER_ID_GPU_BUSY].last.state, SS_SYSTEM_ABSENT);
    const unsigned times = seen[0][SS_COUNTER_ID_GPU_CLOCK].times;
    wait_for_more(gpus, 1, SS_COUNTER_ID_GPU_POWER, 6);
    assert_int_equal(seen[0][SS_COUNTER_ID_GPU_CLOCK].times, times);
    play("count.0 2\nutilization.0 40\nclock.0 1000\n" SECOND_GPU);
    wait_for(gpus, 0, SS_COUNTER_ID_GPU_CLOCK, SS_SYSTEM_VALUE);
    gpus_stop(gpus);
}

static void a_gpu_that_hangs_becomes_absent_and_the_other_goes_on(void **state)
{
    (void)state;
    struct gpus *gpus = start(library, "count.0 2\nutilization.0 40\n" SECOND_GPU);

    wait_for(gpus, 0, SS_COUNTER_ID_GPU_BUSY, SS_SYSTEM_VALUE);
    play("count.0 2\nutilization.0 40\nhang.utilization.0 1\n" SECOND_GPU);
    wait_for(gpus, 0, SS_COUNTER_ID_GPU_BUSY, SS_SYSTEM_ABSENT);
    wait_for_more(gpus, 1, SS_COUNTER_ID_GPU_POWER, 3);
    expect(1, SS_COUNTER_ID_GPU_POWER, 100);
    play("count.0 2\nutilization.0 41\n" SECOND_GPU);
    wait_for(gpus, 0, SS_COUNTER_ID_GPU_BUSY, SS_SYSTEM_VALUE);
    expect(0, SS_COUNTER_ID_GPU_BUSY, 0.41);
    gpus_stop(gpus);
}

static void a_process_that_leaves_its_gpu_is_absent(void **state)
{
    (void)state;
    struct gpus *gpus = start(library, ONE_GPU);

    wait_for(gpus, 0, SS_COUNTER_ID_GPU_PROCESS_MEMORY, SS_SYSTEM_VALUE);
    play("count.0 1\nutilization.0 1\nusers.0 0\n");
    wait_for(gpus, 0, SS_COUNTER_ID_GPU_PROCESS_MEMORY, SS_SYSTEM_ABSENT);
    assert_int_equal(seen[0][SS_COUNTER_ID_GPU_PROCESS_MEMORY].last.subject, 4711);
    play("count.0 1\nutilization.0 1\nusers.0 -1\npid.0 815\n"); /* as in a container */
    while (seen[0][SS_COUNTER_ID_GPU_PROCESS_MEMORY].last.subject != 815)
        wait_for_more(gpus, 0, SS_COUNTER_ID_GPU_PROCESS_MEMORY, 1);
    assert_int_equal(seen[0][SS_COUNTER_ID_GPU_PROCESS_MEMORY].last.state, SS_SYSTEM_ABSENT);
    gpus_stop(gpus);
}

static void functions_that_an_old_nvml_lacks_are_absent(void **state)
{
    (void)state;
    struct gpus *gpus = start(old_library, ONE_GPU);

    wait_for(gpus, 0, SS_COUNTER_ID_GPU_POWER_LIMIT, SS_SYSTEM_ABSENT);
    wait_for(gpus, 0, SS_COUNTER_ID_GPU_RECEIVED, SS_SYSTEM_ABSENT);
    wait_for(gpus, 0, SS_COUNTER_ID_GPU_PROCESS_MEMORY, SS_SYSTEM_VALUE);
    expect(0, SS_COUNTER_ID_GPU_PROCESS_MEMORY, 2097152);
    expect(0, SS_COUNTER_ID_GPU_POWER, 312.5);
    gpus_stop(gpus);
}

static void names_and_failures_of_the_start_are_told(void **state)
{
    (void)state;
    char name[GPUS_NAME_SIZE];
    const char *why = NULL;
    struct gpus *gpus = start(library, "count.0 2\n" ONE_GPU SECOND_GPU);

    assert_int_equal(gpus_wait(gpus, PATIENCE_S * SECOND_NS, &why), 2);
    wait_for(gpus, 1, SS_COUNTER_ID_GPU_BUSY, SS_SYSTEM_VALUE);
    gpus_name(gpus, 1, name);
    assert_string_equal(name, "Fake GPU 1");
    gpus_name(gpus, 2, name);
    assert_string_equal(name, "");
    gpus_stop(gpus);

    gpus = start(library, "error.init.0 9\n");
    assert_int_equal(gpus_wait(gpus, PATIENCE_S * SECOND_NS, &why), -1);
    assert_string_equal(why, "nvmlInit failed with NVML error 9");
    gpus_stop(gpus);

    gpus = start(library, "hang.init.0 1\n");
    assert_int_equal(gpus_wait(gpus, SECOND_NS / 100, &why), -1);
    assert_string_equal(why, "NVML does not answer");
    gpus_stop(gpus);
    play("count.0 0\n");
}

/* Signals for the process go to threads that expect them. */
static void its_threads_take_no_signals(void **state)
{
    (void)state;
    sigset_t before, after;
    struct gpus *gpus = start(library, ONE_GPU);

    wait_for(gpus, 0, SS_COUNTER_ID_GPU_BUSY, SS_SYSTEM_VALUE);
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, &before);
    kill(getpid(), SIGUSR1); /* would kill us if any thread could take it */
    wait_for_more(gpus, 0, SS_COUNTER_ID_GPU_BUSY, 2);
    sigpending(&after);
    assert_true(sigismember(&after, SIGUSR1));
    const struct timespec at_once = {0};
    assert_int_equal(sigtimedwait(&usr1, NULL, &at_once), SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    gpus_stop(gpus);
}

/* In a process of its own, see main(): stops while a call hangs, and ends. */
static int stop_while_it_hangs(void)
{
    struct gpus *gpus = gpus_start();

    if (!gpus)
        return 2;
    while (access(hangs, F_OK) != 0)
        short_pause();
    gpus_stop(gpus);
    return 0;
}

static void a_process_with_a_call_that_hangs_can_stop_and_exit(void **state)
{
    (void)state;
    char program[] = "/proc/self/exe", word[] = "hang";
    char *const arguments[] = {program, word, NULL};
    pid_t child;
    int status;

    play(ONE_GPU "hang.clock.0 1\n");
    setenv("STEPSCOPE_NVML", library, 1);
    assert_int_equal(posix_spawn(&child, program, NULL, NULL, arguments, environ), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void find_libraries(void)
{
    char folder[PATH_MAX - 32];
    const ssize_t size = readlink("/proc/self/exe", folder, sizeof folder - 1);

    folder[size > 0 ? size : 0] = '\0';
    *strrchr(folder, '/') = '\0';
    snprintf(library, sizeof library, "%s/fake_nvml.so", folder);
    snprintf(old_library, sizeof old_library, "%s/fake_nvml_old.so", folder);
}

static int make_script(void **state)
{
    static char template[] = "/tmp/stepscope-gpus-XXXXXX";

    (void)state;
    find_libraries();
    const int file = mkstemp(template);
    if (file < 0 || close(file) != 0)
        return -1;
    memcpy(script, template, sizeof template);
    snprintf(hangs, sizeof hangs, "%s.hangs", script);
    return setenv("FAKE_NVML", script, 1);
}

static int remove_script(void **state)
{
    (void)state;
    unlink(script);
    unlink(hangs);
    return 0;
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_nvml_there_is_nothing_but_a_reason),
        cmocka_unit_test(every_counter_comes_in_its_unit),
        cmocka_unit_test(readings_go_on_with_later_times_and_fresh_values),
        cmocka_unit_test(what_does_not_fit_comes_with_the_next_take),
        cmocka_unit_test(denied_and_unsupported_are_told_apart_and_told_once),
        cmocka_unit_test(an_error_that_comes_and_goes_leaves_the_rest_alone),
        cmocka_unit_test(a_gpu_that_is_lost_is_absent_until_it_is_back),
        cmocka_unit_test(a_gpu_that_hangs_becomes_absent_and_the_other_goes_on),
        cmocka_unit_test(a_process_that_leaves_its_gpu_is_absent),
        cmocka_unit_test(functions_that_an_old_nvml_lacks_are_absent),
        cmocka_unit_test(names_and_failures_of_the_start_are_told),
        cmocka_unit_test(its_threads_take_no_signals),
        cmocka_unit_test(a_process_with_a_call_that_hangs_can_stop_and_exit),
    };

    if (count > 1 && strcmp(words[1], "hang") == 0) {
        snprintf(hangs, sizeof hangs, "%s.hangs", getenv("FAKE_NVML"));
        return stop_while_it_hangs();
    }
    return cmocka_run_group_tests(tests, make_script, remove_script);
}
