/* Scenes of life_writer: threads that come, go and are cancelled. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "life.h"
#include "stepscope/recorder.h"

enum { SHORT_THREADS = 10000, AT_ONCE = 8, WITH_DESTRUCTORS = 20, SIGNALS = 1000 };

static pthread_t started(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, run, argument) == 0, "a thread");
    return thread;
}

static void *record_ten_later(void *main_thread)
{
    pthread_join(*(pthread_t *)main_thread, NULL);
    record_spans(10);
    say(20, 0, 0);
    return NULL;
}

/* The program ends with its last thread; ours is none of them. A plugin may have one more. */
static int main_thread_ends_first(char **arguments)
{
    static pthread_t self;
    if (arguments[0]) {
        void *plugin = dlopen(arguments[0], RTLD_NOW | RTLD_LOCAL);
        must(plugin != NULL, "the plugin");
        void (*record)(long) = (void (*)(long))(uintptr_t)dlsym(plugin, "plugin_record");
        record(5);
        say(5, 0, 0);
    }
    self = pthread_self();
    record_spans(10);
    started(record_ten_later, &self);
    pthread_exit(NULL);
}

static sem_t done;

static void *record_and_post(void *unused)
{
    (void)unused;
    record_spans(10);
    sem_post(&done);
    return NULL;
}

static int detached(char **unused)
{
    (void)unused;
    sem_init(&done, 0, 0);
    for (int i = 0; i < 20; i++)
        pthread_detach(started(record_and_post, NULL));
    for (int i = 0; i < 20; i++)
        sem_wait(&done);
    say(200, 0, 0);
    return 0;
}

static void *record_three(void *unused)
{
    (void)unused;
    record_spans(3);
    return NULL;
}

static int short_threads(char **unused)
{
    (void)unused;
    pthread_t threads[AT_ONCE];
    for (int i = 0; i < SHORT_THREADS; i += AT_ONCE) {
        for (int k = 0; k < AT_ONCE; k++)
            threads[k] = started(record_three, NULL);
        for (int k = 0; k < AT_ONCE; k++)
            pthread_join(threads[k], NULL);
    }
    say(SHORT_THREADS * 3L, 0, 0);
    return 0;
}

static void *wait_in_a_span(void *unused)
{
    (void)unused;
    record_spans(5);
    ss_begin(ss_intern("wait", SS_STAGE_SYNC, SS_ROLE_NONE, SS_SCOPE_NONE, NULL), 0);
    sem_post(&done);
    for (;;)
        pause();
    return NULL;
}

static int cancelled_in_a_span(char **unused)
{
    (void)unused;
    sem_init(&done, 0, 0);
    for (int i = 0; i < 10; i++) {
        void *result = NULL;
        pthread_t thread = started(wait_in_a_span, NULL);
        sem_wait(&done);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        must(result == PTHREAD_CANCELED, "cancelled");
    }
    record_spans(5);
    say(65, 0, 10);
    return 0;
}

static void first_event(void)
{
    record_spans(1);
}

/* Enough to make the file grow. */
static void many_names(void)
{
    char text[1000];
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "%0990d", i);
        ss_intern(text, SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    }
}

static void one_fork(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    must_exit_with(child, 0);
    pthread_setcancelstate(state, NULL);
}

static void stop_and_start(void)
{
    ss_stop();
    must(ss_start(NULL) == 0, "start after stop");
    (void)ss_status();
}

static sem_t cancel_me, go_on;
static void (*call)(void);
static atomic_bool came_through;

/* The cancellation waits for the next point where a thread can be cancelled. No call of the
 * recorder may be one: it would keep its locks for ever. */
static void *call_while_cancelled(void *unused)
{
    (void)unused;
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    sem_post(&cancel_me);
    sem_wait(&go_on);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    call();
    atomic_store(&came_through, true);
    pthread_testcancel();
    return NULL;
}

static int cancelled_in_a_call(char **unused)
{
    (void)unused;
    static void (*const calls[])(void) = {first_event, many_names, one_fork, stop_and_start};
    static const char *const names[] = {"begin", "intern", "fork", "stop"};
    sem_init(&cancel_me, 0, 0);
    sem_init(&go_on, 0, 0);
    for (int i = 0; i < 4; i++) {
        call = calls[i];
        atomic_store(&came_through, false);
        pthread_t thread = started(call_while_cancelled, NULL);
        sem_wait(&cancel_me);
        pthread_cancel(thread);
        sem_post(&go_on);
        void *result = NULL;
        pthread_join(thread, &result);
        must(result == PTHREAD_CANCELED, "cancelled afterwards");
        must(atomic_load(&came_through), names[i]);
        one_fork();
    }
    say(1, 0, 0); /* and after stop and start a second file, without a lane */
    say(0, 0, 0);
    return 0;
}

static pthread_key_t before_ours, after_ours;

static void record_at_end(void *left)
{
    record_spans(5);
    if (left == &after_ours) /* once more, in the next round of destructors */
        pthread_setspecific(before_ours, &before_ours);
}

static void *with_destructors(void *unused)
{
    (void)unused;
    record_spans(5);
    pthread_setspecific(before_ours, &before_ours);
    pthread_setspecific(after_ours, &after_ours);
    return NULL;
}

/* Destructors of the program that run before and after that of the recorder, and record. */
static int destructors_record(char **unused)
{
    (void)unused;
    pthread_key_create(&before_ours, record_at_end);
    record_spans(5);
    pthread_key_create(&after_ours, record_at_end);
    for (int i = 0; i < WITH_DESTRUCTORS; i++)
        pthread_join(started(with_destructors, NULL), NULL);
    say(5 + WITH_DESTRUCTORS * 20L, 0, 0);
    return 0;
}

static void *record_and_stay(void *unused)
{
    (void)unused;
    record_spans(1);
    sem_post(&done);
    sem_wait(&go_on);
    return NULL;
}

/* A thread that never records again keeps its first recording mapped, and no other. */
static int restart_200_times(char **unused)
{
    (void)unused;
    sem_init(&done, 0, 0);
    sem_init(&go_on, 0, 0);
    pthread_t idle = started(record_and_stay, NULL);
    sem_wait(&done);
    ss_stop();
    say(1, 0, 0);
    for (int i = 1; i <= 200; i++) {
        must(ss_start(NULL) == 0, "start after stop");
        record_spans(10);
        ss_stop();
        say(10, 0, 0);
        if (i == 20 || i == 200)
            dprintf(STDOUT_FILENO, "mappings %ld, %ld KB\n", mappings(), status_number("VmSize:"));
    }
    sem_post(&go_on);
    pthread_join(idle, NULL);
    return 0;
}

static void *record_and_stop(void *stopping)
{
    record_spans(1);
    atomic_store((atomic_bool *)stopping, true);
    ss_stop();
    pause();
    return NULL;
}

/* Tries another moment of the stop each time. */
static void exit_during_stop(long microseconds)
{
    atomic_bool stopping = false;
    struct timespec begin, now;
    started(record_and_stop, &stopping);
    while (!atomic_load(&stopping))
        sched_yield();
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 <
             microseconds);
    exit(3);
}

static int exit_while_stopping(char **arguments)
{
    for (long i = 0; i < strtol(arguments[0], NULL, 10); i++) {
        pid_t child = fork();
        if (child == 0)
            exit_during_stop(i * 3 % 300);
        must_exit_with(child, 3);
    }
    return 0;
}

static atomic_int handled, handled_elsewhere;

static void on_signal(int unused)
{
    (void)unused;
    atomic_fetch_add(&handled, 1);
    if (syscall(SYS_gettid) != getpid())
        atomic_fetch_add(&handled_elsewhere, 1);
}

/* Signals to the process: some while its one thread blocks them, so that another thread of it would
 * get them if it could. */
static int signals_stay_with_the_program(char **unused)
{
    (void)unused;
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaction(SIGUSR1, &action, NULL);
    record_spans(10);
    for (int i = 0; i < SIGNALS; i++) {
        pthread_sigmask(SIG_BLOCK, &set, &before);
        kill(getpid(), SIGUSR1);
        sched_yield();
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    must(atomic_load(&handled) == SIGNALS, "each signal was handled");
    must(atomic_load(&handled_elsewhere) == 0, "on the thread of the program");
    say(10, 0, 0);
    dprintf(STDOUT_FILENO, "waiting\n");
    char line[8];
    must(read(STDIN_FILENO, line, sizeof line) > 0, "a line");
    return 0;
}

const struct scene thread_scenes[] = {
    {"main_thread_ends_first", main_thread_ends_first},
    {"detached", detached},
    {"short_threads", short_threads},
    {"cancelled_in_a_span", cancelled_in_a_span},
    {"cancelled_in_a_call", cancelled_in_a_call},
    {"destructors_record", destructors_record},
    {"restart_200_times", restart_200_times},
    {"exit_while_stopping", exit_while_stopping},
    {"signals_stay_with_the_program", signals_stay_with_the_program},
    {NULL, NULL}};
