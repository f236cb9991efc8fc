/* Records with four threads until it is killed, and says in shared memory how far it has come.
 *
 *     kill_writer RUN AREA burst|flood
 *
 * RUN is a directory, or - for the one that the environment names.
 *
 * burst: all threads record as fast as they can for some segments, then give the recorder's helper
 * thread time to catch up, so that nothing is dropped. flood: without pause. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "kill_pattern.h"

enum { ROUNDS_A_BURST = 600, PAUSE_NS = 25000000 };

static struct kill_area *area;
static ss_name names[KILL_NAMES];
static bool flood;
static pthread_barrier_t barrier;

static void make_call(unsigned thread, uint64_t number)
{
    const struct kill_call *call = &KILL_CALL[number % KILL_CALLS];

    switch (call->verb) {
    case KILL_BEGIN:
        ss_begin(names[call->name], call->flags);
        break;
    case KILL_SWITCH:
        ss_switch(names[call->name], call->flags);
        break;
    case KILL_END:
        ss_end(call->flags, kill_argument(thread, number));
        break;
    }
    atomic_store_explicit(&area->thread[thread].calls, number + 1, memory_order_release);
}

static void pause_between_bursts(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};

    pthread_barrier_wait(&barrier);
    nanosleep(&pause, NULL);
    pthread_barrier_wait(&barrier);
}

static void *record(void *argument)
{
    const unsigned thread = *(const unsigned *)argument;

    area->thread[thread].tid = (uint32_t)syscall(SYS_gettid);
    for (uint64_t number = 0;; number++) {
        if (!flood && number % (ROUNDS_A_BURST * KILL_CALLS) == 0)
            pause_between_bursts();
        make_call(thread, number);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static const unsigned numbers[KILL_THREADS] = {0, 1, 2, 3};
    pthread_t threads[KILL_THREADS];

    if (argc != 4 || !(area = kill_area_map(argv[2]))) {
        fprintf(stderr, "usage: kill_writer RUN AREA burst|flood\n");
        return 2;
    }
    flood = strcmp(argv[3], "flood") == 0;
    const bool is_given = strcmp(argv[1], "-") != 0;
    const struct ss_options options = {.dir = is_given ? argv[1] : NULL, .rank = -1};
    if (ss_start(&options) != 0) {
        fprintf(stderr, "kill_writer: %s\n", ss_status());
        return 1;
    }
    for (unsigned i = 0; i < KILL_NAMES; i++)
        names[i] =
            ss_intern(KILL_NAME[i].text, KILL_NAME[i].stage, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    pthread_barrier_init(&barrier, NULL, KILL_THREADS);
    atomic_store(&area->ready, 1);
    for (int i = 0; i < KILL_THREADS; i++)
        if (pthread_create(&threads[i], NULL, record, (void *)(uintptr_t)&numbers[i]) != 0)
            return 1;
    pthread_join(threads[0], NULL);
    return 0;
}
