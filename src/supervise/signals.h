/* The supervisor's own signals: all are blocked and read from a descriptor, so that none of them
 * disturbs it, and the command starts with those that the supervisor was started with.
 *
 * The command shares the process group of the supervisor. A Ctrl-C, or a kill() of the group,
 * reaches it without our help: passing such a signal on would give it the signal twice. siginfo
 * does not tell the two apart, so a third member of the group, the signal witness, is asked whether
 * it got the signal too. The kernel serves the newest member of a group first: a process forked by
 * the supervisor has a signal before the supervisor sees it. */
#ifndef SUPERVISE_SIGNALS_H
#define SUPERVISE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

struct signals {
    sigset_t mask_before;
    struct sigaction child_before; /* SIGCHLD may have been ignored: then nothing is reaped */
    int fd;
};

void signals_block(struct signals *signals);

/* As it was before: for the command, between fork and exec. */
void signals_restore(const struct signals *signals);

/* Opens the descriptor. False: there is none to be had. */
bool signals_open(struct signals *signals);

/* The next one that is waiting; false if there is none. */
bool signals_next(const struct signals *signals, struct signalfd_siginfo *info);

/* Stops this process as `signal` would; returns when it goes on. */
void signals_stop_self(int signal);

/* Ends this process by `signal`, without a core dump. Returns if that is not possible: process 1 of
 * a container does not die by its own signals. */
void signals_die_by(int signal);

struct signal_witness {
    pid_t pid;
    int fd; /* -1: there is none */
};

enum testimony { WITNESS_GOT_IT, WITNESS_DID_NOT, WITNESS_IS_GONE };

/* All signals must be blocked. Without memory or processes there is no witness, which is no
 * failure. */
void signal_witness_start(struct signal_witness *witness);

/* Whether it got `signal` since it was last asked. Takes a moment at most: a witness that is
 * stopped is woken, and one that does not answer is given up. */
enum testimony signal_witness_ask(struct signal_witness *witness, int signal);

/* It ends by itself, and also when the supervisor dies. One that is stopped is killed. */
void signal_witness_stop(struct signal_witness *witness);

#endif
