/* Starting, stopping, starting again, forking, with threads that record all the while. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/own_run.h"

enum { THREADS = 4, ROUNDS = 30, SPANS_A_ROUND = 100, ODD_ERRNO = 12345 };

/* Under ThreadSanitizer a child of several threads may not start one unless it is allowed to. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}

static void starting_twice_is_busy(void **state)
{
    struct own_run *own = *state;
    const struct ss_options options = {.dir = own->dir, .rank = -1};

    own_run_start(own, 0);
    errno = ODD_ERRNO;
    assert_int_equal(ss_start(&options), SS_E_BUSY);
    assert_int_equal(ss_start(NULL), SS_E_BUSY);
    assert_int_equal(errno, ODD_ERRNO);
    ss_step(1);
    own_run_stop(own);

    assert_int_equal(ss_run_processes(own->run), 1);
    assert_int_equal(own_run_count(own, SS_KIND_STEP), 1);
}

static void each_start_makes_a_file(void **state)
{
    struct own_run *own = *state;

    for (uint64_t i = 1; i <= 3; i++) {
        own_run_start(own, 0);
        ss_step(i);
        own_run_stop(own);
        assert_int_equal(ss_run_processes(own->run), i);
        assert_int_equal(own_run_count(own, SS_KIND_STEP), i);
        for (size_t k = 0; k < i; k++)
            assert_int_equal(ss_run_process(own->run, k)->end, SS_END_STOPPED);
    }
}

static void stopping_what_is_off_does_nothing(void **state)
{
    struct own_run *own = *state;

    errno = ODD_ERRNO;
    ss_stop();
    ss_stop();
    own_run_start(own, 0);
    ss_stop();
    ss_stop();
    assert_int_equal(errno, ODD_ERRNO);
    own_run_open(own);
    assert_int_equal(ss_run_processes(own->run), 1);
}

static void status_says_what_is_going_on(void **state)
{
    struct own_run *own = *state;
    char expected[300], bad[300];

    ss_stop();
    assert_string_equal(ss_status(), "off");
    own_run_start(own, 0);
    snprintf(expected, sizeof expected, "recording to %s/p-%ld-", own->dir, (long)getpid());
    assert_memory_equal(ss_status(), expected, strlen(expected));
    own_run_stop(own);
    assert_string_equal(ss_status(), "off");

    snprintf(bad, sizeof bad, "%s/file", own->dir);
    close(open(bad, O_CREAT | O_WRONLY, 0600));
    snprintf(bad, sizeof bad, "%s/file/run", own->dir);
    errno = ODD_ERRNO;
    assert_int_equal(ss_start(&(struct ss_options){.dir = bad, .rank = -1}), SS_E_NODIR);
    assert_int_equal(errno, ODD_ERRNO);
    assert_string_equal(ss_status(), "off: the run directory cannot be made");
    ss_step(1); /* goes nowhere */
    own_run_start(own, 0);
    assert_memory_equal(ss_status(), expected, strlen(expected));
}

static void a_new_directory_is_private_and_described(void **state)
{
    struct own_run *own = *state;
    char path[300], text[4000];
    struct stat st;
    const char *const files[] = {"/.gitignore", "/manifest"};
    const char *const begins[] = {"*\n", "format: 1\nversion: "};

    snprintf(path, sizeof path, "%s/a/b", own->dir);
    assert_int_equal(ss_start(&(struct ss_options){.dir = path, .rank = -1}), SS_E_OK);
    ss_stop();
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/a/b%s", own->dir, files[i]);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        assert_memory_equal(text, begins[i], strlen(begins[i]));
    }
    assert_non_null(strstr(text, "\ncommand: "));
    assert_non_null(strstr(text, "test_record_life"));

    snprintf(own->dir + strlen(own->dir), 5, "/a/b"); /* read and removed from there */
    own_run_open(own);
    own_run_clear(own);
    rmdir(own->dir);
    *strrchr(own->dir, '/') = '\0';
    rmdir(own->dir);
    *strrchr(own->dir, '/') = '\0';
}

static void no_call_changes_errno(void **state)
{
    struct own_run *own = *state;

    errno = ODD_ERRNO;
    own_run_start(own, 0);
    errno = ODD_ERRNO;
    const ss_name name = ss_intern("n", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    for (int i = 0; i < 5000; i++) { /* through several segments */
        ss_begin(name, 0);
        ss_switch(name, 0);
        ss_append(name, ss_now(), ss_now(), 0, 0);
        ss_end(0, 0);
        ss_counter(name, i);
        ss_step(1);
    }
    ss_mark(name, "text");
    ss_plan(1, 1, 1, 1);
    ss_loop_begin(name);
    ss_epoch_begin(0);
    ss_epoch_end(0);
    ss_loop_end(0);
    (void)ss_ticks_of_ns(5);
    (void)ss_status();
    ss_stop();
    assert_int_equal(errno, ODD_ERRNO);
}

/* How many descriptors or mappings of process files this process has; closes descriptors. */
static int close_run_files(void)
{
    char link[300], path[600];
    int n = 0;
    DIR *list = opendir("/proc/self/fd");
    struct dirent *entry;

    while (list && (entry = readdir(list))) {
        snprintf(link, sizeof link, "/proc/self/fd/%s", entry->d_name);
        const ssize_t size = readlink(link, path, sizeof path - 1);
        path[size > 0 ? size : 0] = '\0';
        if (strstr(path, SS_FILE_SUFFIX)) {
            /* Not by close(): that it meets the recorder is no mistake of this test. */
            syscall(SYS_close, (int)strtol(entry->d_name, NULL, 10));
            n++;
        }
    }
    if (list)
        closedir(list);
    return n;
}

static int mapped_run_files(void)
{
    char line[1000];
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");

    while (maps && fgets(line, sizeof line, maps))
        n += strstr(line, SS_FILE_SUFFIX) != NULL;
    if (maps)
        fclose(maps);
    return n;
}

/* Long names, so that the control lane, which may wait for space, soon has to grow the file. */
static void a_file_that_is_gone_is_an_error_that_status_tells(void **state)
{
    struct own_run *own = *state;
    char text[1800];

    memset(text, 'n', sizeof text);
    own_run_start(own, 0);
    assert_true(own_run_catch_up(own)); /* so that it is this thread that finds the pool empty */
    own_run_clear(own);
    assert_int_equal(close_run_files(), 1);
    errno = ODD_ERRNO;
    for (int i = 0; i < 3000; i++) {
        snprintf(text + sizeof text - 10, 10, "%d", i);
        ss_name name = ss_intern(text, SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
        ss_begin(name, 0);
        ss_end(0, 0);
    }
    assert_int_equal(errno, ODD_ERRNO);
    assert_string_equal(ss_status(), "recording with losses: the file descriptor was closed by "
                                     "the program");
    ss_stop();
    assert_string_equal(ss_status(), "off");
}

/* Threads that record without pause. `round` tells them which recording is on: in each they record
 * SPANS_A_ROUND spans with its number, then others until the next one. */
struct crew {
    pthread_t threads[THREADS];
    _Atomic bool done;
    _Atomic uint32_t round;
    _Atomic uint32_t finished; /* threads that are through with this round's spans */
};

static void *record_without_pause(void *argument)
{
    struct crew *crew = argument;
    uint32_t seen = 0;

    while (!atomic_load(&crew->done)) {
        const uint32_t round = atomic_load(&crew->round);
        if (round == seen) {
            ss_begin(0, 0);
            ss_begin(0, 0);
            ss_end(0, -1);
            (void)ss_ticks_of_ns(1000);
            ss_end(0, -1);
            sched_yield();
            continue;
        }
        for (int i = 0; i < SPANS_A_ROUND; i++) {
            ss_begin(0, 0);
            ss_end(0, round);
        }
        seen = round;
        atomic_fetch_add(&crew->finished, 1);
    }
    return NULL;
}

static void crew_start(struct crew *crew)
{
    memset(crew, 0, sizeof *crew);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&crew->threads[i], NULL, record_without_pause, crew), 0);
}

static void crew_stop(struct crew *crew)
{
    atomic_store(&crew->done, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(crew->threads[i], NULL);
}

/* Lets all threads record this round's spans. */
static void crew_record(struct crew *crew, uint32_t round)
{
    atomic_store(&crew->finished, 0);
    atomic_store(&crew->round, round);
    while (atomic_load(&crew->finished) < THREADS)
        sched_yield();
}

static void nothing_stays_after_a_stop_under_way(void **state)
{
    struct own_run *own = *state;
    struct crew crew;

    own_run_start(own, 0);
    crew_start(&crew);
    crew_record(&crew, 1);
    ss_stop(); /* they are in the middle of events */
    crew_stop(&crew);
    assert_int_equal(mapped_run_files(), 1); /* that of own_run */
    assert_int_equal(close_run_files(), 0);
    own_run_open(own);
    assert_int_equal(mapped_run_files(), 0);
    assert_int_equal(ss_run_process(own->run, 0)->end, SS_END_STOPPED);
    assert_true(own_run_count(own, SS_KIND_SPAN) > 0);
}

/* What the threads record in a round is in the file of that round, and in no other. */
static void threads_go_on_in_the_next_recording(void **state)
{
    struct own_run *own = *state;
    struct crew crew;

    crew_start(&crew);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        own_run_start(own, 0);
        crew_record(&crew, round);
        own_run_stop(own);
        uint64_t counted[2] = {0};
        for (size_t i = 0; i < own->count; i++)
            if (own->records[i].kind == SS_KIND_SPAN && own->records[i].u.arg > 0)
                counted[own->records[i].u.arg == round]++;
        assert_int_equal(counted[0], 0);
        /* The pool may be empty: they do not pause. */
        assert_in_range(counted[1] + own_run_lost(own, 0), THREADS * SPANS_A_ROUND, UINT64_MAX);
        own_run_clear(own);
    }
    crew_stop(&crew);
    assert_int_equal(mapped_run_files(), 0);
    assert_int_equal(close_run_files(), 0);
}

static void a_child_writes_its_own_file(void **state)
{
    struct own_run *own = *state;
    struct crew crew;
    int status;

    own_run_start(own, 0);
    crew_start(&crew);
    for (uint32_t i = 1; i <= 5; i++) {
        crew_record(&crew, i);
        ss_begin(0, 0); /* is open at the fork: in the parent only */
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            ss_end(0, 0); /* unbalanced here */
            ss_begin(0, 0);
            ss_end(0, 1000 + i);
            ss_stop();
            _exit(0);
        }
        ss_end(0, 2000 + i);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    crew_stop(&crew);
    own_run_stop(own);

    assert_int_equal(ss_run_processes(own->run), 6);
    uint64_t children = 0, parents = 0;
    for (size_t i = 0; i < own->count; i++) {
        const struct ss_record *span = &own->records[i];
        const struct ss_lane *lane = ss_run_lane(own->run, span->lane);
        const struct ss_process *process = ss_run_process(own->run, lane->process);
        if (span->kind != SS_KIND_SPAN || span->u.arg < 1000)
            continue;
        assert_int_equal(process->pid == (uint32_t)getpid(), span->u.arg > 2000);
        assert_int_equal(process->end, SS_END_STOPPED);
        *(span->u.arg > 2000 ? &parents : &children) += 1;
        assert_int_equal(lane->unbalanced, span->u.arg < 2000);
    }
    assert_int_equal(children, 5);
    assert_in_range(parents + own_run_lost(own, 0), 5, UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OWN_RUN_TEST(starting_twice_is_busy),
        OWN_RUN_TEST(each_start_makes_a_file),
        OWN_RUN_TEST(stopping_what_is_off_does_nothing),
        OWN_RUN_TEST(status_says_what_is_going_on),
        OWN_RUN_TEST(a_new_directory_is_private_and_described),
        OWN_RUN_TEST(no_call_changes_errno),
        OWN_RUN_TEST(nothing_stays_after_a_stop_under_way),
        OWN_RUN_TEST(threads_go_on_in_the_next_recording),
        OWN_RUN_TEST(a_child_writes_its_own_file),
        OWN_RUN_TEST(a_file_that_is_gone_is_an_error_that_status_tells),
    };

    return cmocka_run_group_tests_name("life", tests, NULL, NULL);
}
