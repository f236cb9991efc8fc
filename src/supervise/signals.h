/* The supervisor's own signals: all are blocked and read from a descriptor, so that none of them
 * disturbs it, and the command starts with those that the supervisor was started with. */
#ifndef SUPERVISE_SIGNALS_H
#define SUPERVISE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

struct signals {
    sigset_t mask_before;
    struct sigaction
        child_before; /* SIGCHLD may have been ignored: then nothing is reaped */
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

#endif
