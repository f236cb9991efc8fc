/* supervise/proc_file: what a failure means, and whether it is tried again. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervise/proc_file.h"
#include "supervise/sample_file.h"

static void a_file_that_is_not_there_is_absent_for_good(void **state)
{
    struct proc_file file = {0};
    char text[64];

    (void)state;
    assert_false(proc_file_read(&file, "/proc/no-such-file", text, sizeof text));
    assert_int_equal(proc_file_state(&file), SS_SYSTEM_ABSENT);
    assert_false(proc_file_read(&file, "/proc/self/stat", text, sizeof text));
    proc_file_close(&file);
}

static void without_a_descriptor_it_has_no_value_just_now(void **state)
{
    struct rlimit before, none = {0};
    struct proc_file file = {0};
    char text[1024];

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const bool done = proc_file_read(&file, "/proc/self/stat", text, sizeof text);
    const enum ss_system_state meant = proc_file_state(&file);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_false(done);
    assert_int_equal(meant, SS_SYSTEM_VALUE);
    assert_true(proc_file_read(&file, "/proc/self/stat", text, sizeof text));
    assert_false(proc_file_is_passing(&file));
    proc_file_close(&file);
}

static void what_passes_is_not_said_to_be_missing(void **state)
{
    struct sample_sink sink = {0}; /* without a file: nothing may be written */

    (void)state;
    sample_missing(&sink, SS_COUNTER_ID_CPU_BUSY, SS_SYSTEM_VALUE);
    assert_int_equal(sink.told[SS_COUNTER_ID_CPU_BUSY], 0);
}

static char pipe_path[64];
static volatile sig_atomic_t signals;

/* The third one, when a reader surely waits for a writer, is that writer. */
static void interrupt(int number)
{
    (void)number;
    if (++signals == 3)
        (void)open(pipe_path, O_RDWR | O_NONBLOCK);
}

static void an_interrupted_open_is_tried_again(void **state)
{
    const struct itimerval often = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
    const struct sigaction action = {.sa_handler = interrupt}; /* no SA_RESTART */
    char folder[] = "/tmp/test-proc-file-XXXXXX", text[64];
    struct proc_file file = {0};

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    assert_false(proc_file_read(&file, pipe_path, text, sizeof text));
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(file.error, ESPIPE); /* it was opened, and has no places to read at */
    assert_true(signals >= 3);
    unlink(pipe_path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_not_there_is_absent_for_good),
        cmocka_unit_test(without_a_descriptor_it_has_no_value_just_now),
        cmocka_unit_test(what_passes_is_not_said_to_be_missing),
        cmocka_unit_test(an_interrupted_open_is_tried_again),
    };
    return cmocka_run_group_tests_name("supervise/proc_file", tests, NULL, NULL);
}
