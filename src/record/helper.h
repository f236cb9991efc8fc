/* The helper thread: everything about recording that takes a system call. Every 20 ms, every
 * 5 ms while a lot is recorded and every 50 ms while it is little, it says that the process lives, refills the pool of segments, keeps
 * the pages just ahead of each lane writable and sends full segments to disk; every second it
 * calibrates the clock.
 *
 * It has all signals blocked, so that no handler of the program ever runs on it. */
#ifndef RECORD_HELPER_H
#define RECORD_HELPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct session;

struct helper {
    pthread_t thread;
    bool running;
    bool alone; /* the program's threads have ended: it waits for this one only */
    _Atomic uint32_t stop; /* a futex */
    uint64_t rounds;
    int64_t last_round_ns;
    double rate;            /* segments taken a second, recently at most */
    uint32_t taken;         /* in this second */
    bool quiet;             /* few were, in the last one */
    int64_t next_second_ns; /* when the things are due that need no haste */
    int64_t cpu_before;     /* CPU time of helper threads that were stopped for a fork */
};

/* 0 or SS_E_THREAD. Start and stop may be repeated (fork). */
int helper_start(struct session *session);
void helper_stop(struct session *session);

#endif
