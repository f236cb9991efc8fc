#include "supervise/signals.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

void signals_block(struct signals *signals)
{
    sigset_t all;
    const struct sigaction standard = {.sa_handler = SIG_DFL};

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &signals->mask_before);
    sigaction(SIGCHLD, &standard, &signals->child_before);
    signals->fd = -1;
}

void signals_restore(const struct signals *signals)
{
    sigaction(SIGCHLD, &signals->child_before, NULL);
    sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}

bool signals_open(struct signals *signals)
{
    sigset_t all;

    sigfillset(&all);
    signals->fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd >= 0;
}

bool signals_next(const struct signals *signals, struct signalfd_siginfo *info)
{
    ssize_t got;

    do {
        got = read(signals->fd, info, sizeof *info);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof *info;
}

/* Lets `signal` through with its usual effect and sends it. */
static void raise_for_real(int signal)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    struct sigaction before;
    sigset_t only;

    sigemptyset(&only);
    sigaddset(&only, signal);
    sigaction(signal, &standard, &before);
    kill(getpid(), signal);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    sigprocmask(SIG_BLOCK, &only, NULL);
    sigaction(signal, &before, NULL);
}

void signals_stop_self(int signal)
{
    raise_for_real(signal);
}

void signals_die_by(int signal)
{
    const struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_CORE, &none);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* where a program takes the core dumps */
    raise_for_real(signal);
}
