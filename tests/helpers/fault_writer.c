/* A program that records itself while things go wrong; tests/record/test_faults.py runs it.
 *
 *     fault_writer COMMAND[:NUMBER] ...
 *
 * Commands run in order. What it prints and its exit code, 7, depend on them alone: with and
 * without recording, and whatever happens to the recording, they must be the same. Only lines
 * that begin with "status: " say how the recording is. Each span's argument is its number. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stepscope/recorder.h"

enum {
    EXIT_CODE = 7,
    SLOW_BURST = 500, /* spans a millisecond, or a little more */
    FAST_BURST = 4000,
    THREADS = 3,
    FIRST_FREE_FD = 3,
    LAST_FD = 1024,
    PATIENCE = 20000 /* milliseconds */
};

static ss_name stages[3];
static int64_t number; /* of the next span */

static void one_span(int64_t n)
{
    ss_begin(stages[n % 3], 0);
    ss_end(0, n);
}

static void burst_of(long count)
{
    for (long i = 0; i < count; i++)
        one_span(number++);
}

static void do_spans(long count)
{
    burst_of(count);
    printf("%ld spans\n", count);
}

static void rest(void)
{
    const struct timespec millisecond = {0, 1000000};
    nanosleep(&millisecond, NULL);
}

static void bursts(long count, long size)
{
    for (long left = count; left > 0; left -= size) {
        burst_of(left < size ? left : size);
        rest();
    }
    printf("%ld spans\n", count);
}

/* At a pace that the helper thread can follow, on a busy machine too. */
static void do_paced(long count)
{
    bursts(count, SLOW_BURST);
}

static void do_fast(long count)
{
    bursts(count, FAST_BURST);
}

static bool read_line(void)
{
    char c = 0;
    while (c != '\n')
        if (read(STDIN_FILENO, &c, 1) != 1)
            return false;
    return true;
}

/* How many depends on the test, so it is no output of the program. */
static void do_until_line(long unused)
{
    (void)unused;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int64_t before = number;
    do {
        burst_of(SLOW_BURST);
    } while (poll(&input, 1, 1) == 0);
    printf("status: %ld spans\n", (long)(number - before));
    printf("%s\n", read_line() ? "a line" : "no line");
}

/* Until the recording has a problem. */
static void do_until_loss(long unused)
{
    (void)unused;
    int64_t before = number;
    for (int i = 0; i < PATIENCE && strncmp(ss_status(), "recording to", 12) == 0; i++) {
        burst_of(SLOW_BURST);
        rest();
    }
    printf("status: %ld spans\n", (long)(number - before));
}

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The same until there is a line, and the longest time that a burst took. */
static void do_worst_until_line(long unused)
{
    (void)unused;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int64_t before = number, worst_us = 0;
    do {
        int64_t start_us = now_us();
        burst_of(SLOW_BURST);
        int64_t took_us = now_us() - start_us;
        worst_us = took_us > worst_us ? took_us : worst_us;
    } while (poll(&input, 1, 10) == 0);
    printf("status: %ld spans\n", (long)(number - before));
    printf("status: worst %ld us\n", (long)worst_us);
    printf("%s\n", read_line() ? "a line" : "no line");
}

/* The time of one fork(); its child ends at once. */
static int64_t fork_us(void)
{
    int64_t start_us = now_us();
    pid_t child = fork();
    if (child == 0)
        _exit(EXIT_CODE);
    int64_t took_us = now_us() - start_us;
    waitpid(child, NULL, 0);
    return took_us;
}

/* Forks, and records between, until there is a line. */
static void do_forks_until_line(long unused)
{
    (void)unused;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int64_t before = number, worst_us = 0;
    do {
        burst_of(SLOW_BURST);
        int64_t took_us = fork_us();
        worst_us = took_us > worst_us ? took_us : worst_us;
    } while (poll(&input, 1, 10) == 0);
    printf("status: %ld spans\n", (long)(number - before));
    printf("status: worst %ld us\n", (long)worst_us);
    printf("%s\n", read_line() ? "a line" : "no line");
}

/* The first event of a process, and of a child that it forks, which records in its own file. */
static void do_first_events(long unused)
{
    (void)unused;
    int64_t us[3], start_us = now_us();
    int ends[2];
    burst_of(SLOW_BURST);
    us[0] = now_us() - start_us;
    if (pipe(ends) != 0)
        exit(1);
    start_us = now_us();
    if (fork() == 0) {
        start_us = now_us();
        burst_of(SLOW_BURST);
        us[0] = now_us() - start_us;
        _exit(write(ends[1], us, sizeof us[0]) == sizeof us[0] ? EXIT_CODE : 1);
    }
    us[1] = now_us() - start_us;
    if (read(ends[0], &us[2], sizeof us[2]) != sizeof us[2])
        exit(1);
    int64_t worst_us = us[0] > us[1] ? us[0] : us[1];
    worst_us = worst_us > us[2] ? worst_us : us[2];
    printf("status: %d spans\n", SLOW_BURST);
    printf("status: %d spans\n", SLOW_BURST);
    printf("status: worst %ld us\n", (long)worst_us);
}

static void *thread_main(void *argument)
{
    const long *count = argument;
    for (long i = 0; i < *count; i++)
        one_span(i);
    return NULL;
}

static void do_threads(long count)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, thread_main, &count) != 0) {
            printf("no thread\n");
            exit(1);
        }
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld spans\n", count * THREADS);
}

static void do_wait(long unused)
{
    (void)unused;
    printf("waiting\n");
    fflush(stdout);
    printf("%s\n", read_line() ? "a line" : "no line");
}

static void do_say_ready(long unused)
{
    (void)unused;
    printf("ready\n");
    fflush(stdout);
}

static void do_status(long unused)
{
    (void)unused;
    printf("status: %s\n", ss_status());
}

static void do_stop(long unused)
{
    (void)unused;
    ss_stop();
}

static void do_die(long signal)
{
    fflush(stdout);
    raise((int)signal);
}

/* Leaves this many descriptors free. */
static void do_use_fds(long free_ones)
{
    const struct rlimit few = {64, 64};
    setrlimit(RLIMIT_NOFILE, &few);
    int fd, last = -1;
    while ((fd = open("/dev/null", O_RDONLY)) >= 0)
        last = fd;
    while (free_ones-- > 0)
        close(last--);
}

static void do_close_fds(long unused)
{
    (void)unused;
    for (int fd = FIRST_FREE_FD; fd < LAST_FD; fd++)
        close(fd);
}

/* Files of the program itself, so many that they get any number that was ours. */
static void do_own_files(long count)
{
    for (long i = 0; i < count; i++) {
        char path[32];
        snprintf(path, sizeof path, "own-%ld", i);
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || write(fd, path, strlen(path)) != (ssize_t)strlen(path)) {
            printf("%s: %s\n", path, strerror(errno));
            exit(1);
        }
    }
}

/* This many KB more of address space than now. */
static void do_limit_memory(long kilobytes)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        exit(1);
    fclose(file);
    rlim_t bytes = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)kilobytes * 1024;
    const struct rlimit limit = {bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
}

/* A child that records this many spans, then says how it went. */
static void do_child(long count)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        do_spans(count);
        do_status(0);
        fflush(stdout);
        _exit(EXIT_CODE);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static const struct command {
    const char *word;
    void (*run)(long number);
} COMMANDS[] = {{"spans", do_spans},
                {"paced", do_paced},
                {"fast", do_fast},
                {"until_loss", do_until_loss},
                {"until_line", do_until_line},
                {"worst_until_line", do_worst_until_line},
                {"forks_until_line", do_forks_until_line},
                {"first_events", do_first_events},
                {"threads", do_threads},
                {"wait", do_wait},
                {"say_ready", do_say_ready},
                {"status", do_status},
                {"stop", do_stop},
                {"die", do_die},
                {"use_fds", do_use_fds},
                {"close_fds", do_close_fds},
                {"own_files", do_own_files},
                {"child", do_child},
                {"limit_memory", do_limit_memory}};

static const struct command *find(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof COMMANDS / sizeof COMMANDS[0]; i++) {
        const char *word = COMMANDS[i].word;
        if (strlen(word) == length && strncmp(word, text, length) == 0)
            return &COMMANDS[i];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    stages[0] = ss_intern("load", SS_STAGE_DATA, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    stages[1] = ss_intern("forward", SS_STAGE_FORWARD, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    stages[2] = ss_intern("backward", SS_STAGE_BACKWARD, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    for (int i = 1; i < argc; i++) {
        size_t length = strcspn(argv[i], ":");
        const struct command *command = find(argv[i], length);
        if (!command) {
            fprintf(stderr, "fault_writer: no command '%s'\n", argv[i]);
            return 2;
        }
        command->run(argv[i][length] ? strtol(argv[i] + length + 1, NULL, 10) : 0);
    }
    return EXIT_CODE;
}
