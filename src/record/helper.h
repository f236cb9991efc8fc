/* The helper thread: everything about recording that takes a system call. Every 20 ms, every
 * 5 ms while a lot is recorded and every 50 ms while it is little, it says that the process lives,
 * refills the pool of segments, keeps the pages just ahead of each lane writable and sends full
 * segments to disk; every second it calibrates the clock.
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
    bool running;            /* it was started, and not joined yet */
    bool alone;              /* the program's threads have ended: it waits for this one only */
    _Atomic uint32_t stop;   /* a futex: enum helper_request */
    _Atomic uint32_t files;  /* a futex: how often it finished the file */
    atomic_bool must_finish; /* it is asked to, which a stop does not take back */
    _Atomic uint32_t file;   /* a futex: enum helper_file */
    int file_error;
    uint32_t keep; /* segments of the pool, for threads that go on then */
    uint64_t rounds;
    int64_t last_round_ns;
    double rate;            /* segments taken a second, recently at most */
    uint32_t taken;         /* in this second */
    bool quiet;             /* few were, in the last one */
    int64_t next_second_ns; /* when the things are due that need no haste */
    int64_t cpu_before;     /* CPU time of helper threads that were stopped for a fork */
};

enum helper_file { HELPER_MAKES_FILE, HELPER_HAS_FILE, HELPER_HAS_NO_FILE, HELPER_IS_LATE };
enum helper_request { HELPER_GO_ON, HELPER_STOP, HELPER_FINISH_FILE, HELPER_ENDED };

/* 0 or SS_E_THREAD. Start and stop may be repeated (fork). */
int helper_start(struct session *session);

/* After the first start, with lane memory: waits until the helper has made the file, but not for a
 * disk. If that fails in time, the helper has ended: SS_E. Else it is tried again later. Without a
 * helper the calling thread makes it. */
int helper_wait_for_file(struct session *session);

/* False if it waits for a disk, with lane memory: it will end when it comes back. */
bool helper_stop(struct session *session);

/* Lets one that could not be stopped in time go on instead; false: it has ended, and is joined. */
bool helper_go_on(struct session *session);

/* With lane memory: has it finish the file (mirror_finish), and waits for that, but not for a disk.
 * Without a helper the calling thread does it. */
void helper_finish_file(struct session *session, uint32_t keep);

#endif
