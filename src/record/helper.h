/* The helper thread: everything about recording that takes a system call. Every 10 ms it says
 * that the process lives, refills the pool of segments, keeps the pages just ahead of each lane
 * writable and sends full segments to disk; every second it calibrates the clock.
 *
 * It has all signals blocked, so that no handler of the program ever runs on it. */
#ifndef RECORD_HELPER_H
#define RECORD_HELPER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct session;

struct helper {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool running, stop;
    uint64_t rounds;
    uint32_t peak;       /* segments taken a round, recently at most */
    int64_t cpu_before;  /* CPU time of helper threads that were stopped for a fork */
};

/* 0 or SS_E_THREAD. Start and stop may be repeated (fork). */
int helper_start(struct session *session);
void helper_stop(struct session *session);

#endif
