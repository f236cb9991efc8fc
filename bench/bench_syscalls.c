/* System calls made by a thread that records 10 million spans: strace attaches to that thread
 * alone, so that the recorder's helper thread keeps its speed. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "recording.h"
#include "stepscope/recorder.h"

enum { SPANS_PER_BEAT = 4000, MOST_MS = 5000 };

/* Calls that fail at once and that nothing else makes: they frame what is counted. */
static const char begin_marker[] = "bench-begin", end_marker[] = "bench-end";

struct traced {
    const struct recording *recording;
    ss_name name;
    uint64_t spans;
    atomic_int tid;
    atomic_bool may_start;
};

static void nap(void)
{
    nanosleep(&(const struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Waits without a clock or a system call: the helper thread's count is in memory. */
static void await_beat(const struct recording *recording)
{
    uint64_t beats = recording_beats(recording);
    while (recording_beats(recording) == beats)
        ;
}

static void mark(const char *text)
{
    if (write(-1, text, strlen(text)) >= 0)
        abort();
}

static void *record_traced(void *argument)
{
    struct traced *traced = argument;
    ss_begin(traced->name, 0); /* takes a lane */
    ss_end(0, 0);
    traced->tid = gettid();
    while (!traced->may_start)
        nap();
    mark(begin_marker);
    for (uint64_t i = 0; i < traced->spans; i++) {
        ss_begin(traced->name, 0);
        ss_end(0, 0);
        if (i % SPANS_PER_BEAT == 0)
            await_beat(traced->recording);
    }
    mark(end_marker);
    return NULL;
}

static pid_t start_strace(int tid, const char *output)
{
    char target[32];
    snprintf(target, sizeof target, "%d", tid);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* a child may trace us, under Yama too */
    pid_t pid = fork();
    if (pid == 0) {
        execlp("strace", "strace", "-qq", "-o", output, "-p", target, (char *)NULL);
        fprintf(stderr, "bench: strace cannot be run: install it\n");
        _exit(127);
    }
    return pid;
}

static int tracer_of(int tid)
{
    char path[64], line[128];
    int tracer = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "TracerPid:", 10) == 0)
            tracer = (int)strtol(line + 10, NULL, 10);
    if (file)
        fclose(file);
    return tracer;
}

/* True when strace has the thread. */
static bool await_tracer(int tid)
{
    for (int ms = 0; ms < MOST_MS && !tracer_of(tid); ms++)
        nap();
    return tracer_of(tid) != 0;
}

/* Calls between the markers, printed by name as well; -1 if a marker is missing. */
static long count_calls(const char *path)
{
    char line[512];
    long calls = -1;
    bool ended = false;
    FILE *file = fopen(path, "re");
    while (file && !ended && fgets(line, sizeof line, file)) {
        ended = strstr(line, end_marker) != NULL;
        if (strstr(line, begin_marker))
            calls = 0;
        else if (calls >= 0 && !ended) {
            calls++;
            printf("  %s", line);
        }
    }
    if (file)
        fclose(file);
    return ended ? calls : -1;
}

/* Records under strace; returns the number of calls, or -1. */
static long trace(struct traced *traced, const char *output)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, record_traced, traced))
        return -1;
    while (!traced->tid)
        nap();
    pid_t strace = start_strace(traced->tid, output);
    bool attached = await_tracer(traced->tid);
    if (!attached)
        traced->spans = 0;
    ss_begin(traced->name, 0); /* the first span after a fork brings the helper thread back */
    ss_end(0, 0);
    traced->may_start = true;
    pthread_join(thread, NULL);
    if (attached)
        kill(strace, SIGINT);
    waitpid(strace, NULL, 0);
    return attached ? count_calls(output) : -1;
}

int main(void)
{
    struct recording recording;
    char output[] = "/tmp/stepscope-strace-XXXXXX", text[128];
    int fd = mkstemp(output);
    if (fd < 0)
        return 1;
    close(fd);
    recording_start(&recording);
    struct traced traced = {.recording = &recording,
                            .spans = bench_setting("BENCH_SPANS", 10000000)};
    traced.name = ss_intern("bench", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    printf("\nSystem calls of a thread that records %llu spans\n",
           (unsigned long long)traced.spans);
    long calls = trace(&traced, output);
    uint64_t expected = traced.spans + 2;
    struct recording_check check = recording_finish(&recording);
    unlink(output);
    if (calls < 0) {
        fprintf(stderr, "bench: strace did not follow the thread\n");
        return 1;
    }
    double value = (double)calls;
    printf("  %ld system calls, %llu spans dropped\n", calls, (unsigned long long)check.lost);
    result_print("syscalls", (struct interval){value, value, value}, 0, 0, 0,
                 recording_spoilt(check, expected, text, sizeof text));
    return 0;
}
