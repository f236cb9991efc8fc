#include "supervise/apart.h"

#include <sys/wait.h>
#include <unistd.h>

static const int ending_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof ending_signals[0] };

/* Nobody would tell the shell that it stopped: Ctrl-Z waits. */
static void let_signals_through(const struct signals *signals)
{
    sigset_t stopping;

    signals_restore(signals);
    sigemptyset(&stopping);
    sigaddset(&stopping, SIGTSTP);
    sigaddset(&stopping, SIGTTIN);
    sigaddset(&stopping, SIGTTOU);
    sigprocmask(SIG_BLOCK, &stopping, NULL);
}

/* All signals are blocked here, and wait until they are asked for. */
static int wait_for(pid_t child)
{
    sigset_t awaited;
    int status;
    pid_t got;

    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    for (size_t i = 0; i < ENDING_SIGNALS; i++)
        sigaddset(&awaited, ending_signals[i]);
    while ((got = waitpid(child, &status, WNOHANG)) == 0) {
        const int signal = sigwaitinfo(&awaited, NULL);
        if (signal > 0 && signal != SIGCHLD)
            kill(child, signal);
    }
    return got == child && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int apart_do(const struct signals *signals, void (*work)(void *context), void *context)
{
    const pid_t child = fork();

    if (child > 0)
        return wait_for(child);
    if (child == 0)
        let_signals_through(signals);
    work(context);
    if (child == 0)
        _exit(0);
    return 0;
}
