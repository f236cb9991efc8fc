/* A command with much to look at, for bench_supervisor.py: 20 processes of 50 threads, one of which
 * in each process works a little 10 times per second, as a loader's worker does, while the others
 * wait. The first process trains: a loop of 100 steps a second with 10 spans each.
 *
 *   busy_tree SECONDS */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "stepscope/recorder.h"

enum { PROCESSES = 20, THREADS = 50, SPANS = 10, STEPS_PER_S = 100 };

static void *wait_for_ever(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

static void wake_up_for_ever(void)
{
    const struct timespec rest = {0, 100000000};

    for (;;)
        nanosleep(&rest, NULL);
}

static void start_threads(void)
{
    pthread_attr_t small;
    pthread_t thread;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (int i = 1; i < THREADS; i++)
        if (pthread_create(&thread, &small, wait_for_ever, NULL) != 0)
            exit(1);
}

static void start_processes(void)
{
    for (int i = 1; i < PROCESSES; i++) {
        const pid_t pid = fork();
        if (pid < 0)
            exit(1);
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            start_threads();
            wake_up_for_ever();
        }
    }
}

static void train(long seconds)
{
    const ss_name name = ss_intern("forward", SS_STAGE_FORWARD, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    const struct timespec rest = {0, 1000000000 / STEPS_PER_S};

    for (long step = 0; step < seconds * STEPS_PER_S; step++) {
        ss_step(1);
        for (int i = 0; i < SPANS; i++) {
            ss_begin(name, 0);
            ss_end(0, 0);
        }
        nanosleep(&rest, NULL);
    }
}

int main(int argc, char **argv)
{
    start_processes();
    start_threads();
    train(argc > 1 ? strtol(argv[1], NULL, 10) : 10);
    return 0;
}
