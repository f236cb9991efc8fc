#include "supervise/job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stepscope/error.h"
#include "supervise/now.h"

static const int64_t longest_wait_ns = 3600000000000;

int job_start(struct job *job, char *const *command, const char *dir)
{
    *job = (struct job){0};
    signals_block(&job->signals);
    if (!signals_open(&job->signals)) {
        signals_restore(&job->signals);
        return SS_E_LIMIT;
    }
    witness_start(&job->witness);
    int failed = launch_command(&job->launch, command, dir, &job->signals);
    if (failed || job->launch.os_error) {
        job_release(job);
        signals_restore(&job->signals);
    }
    return failed;
}

void job_release(struct job *job)
{
    witness_stop(&job->witness);
    if (job->signals.fd >= 0)
        close(job->signals.fd);
    job->signals.fd = -1;
}

/* Some signals come from the kernel for what this very process did. */
static bool is_about_us(const struct signalfd_siginfo *info)
{
    switch (info->ssi_signo) {
    case SIGPIPE:
    case SIGXCPU:
    case SIGXFSZ:
        return info->ssi_code > 0 || (pid_t)info->ssi_pid == getpid();
    default:
        return false;
    }
}

/* Did the command get it without us? */
static bool went_to_group(struct job *job, const struct signalfd_siginfo *info)
{
    switch (witness_ask(&job->witness, (int)info->ssi_signo)) {
    case WITNESS_GOT_IT:
        return getpgid(job->launch.pid) == getpgrp();
    case WITNESS_DID_NOT:
        return false;
    case WITNESS_IS_GONE:
        break;
    }
    return info->ssi_code > 0; /* the terminal */
}

static void take_signal(struct job *job, const struct signalfd_siginfo *info)
{
    if (info->ssi_signo == SIGCHLD || is_about_us(info))
        return;
    bool is_theirs = went_to_group(job, info);
    if (job->ended)
        job->hurry |= info->ssi_signo == SIGINT || info->ssi_signo == SIGTERM ||
                      info->ssi_signo == SIGHUP || info->ssi_signo == SIGQUIT;
    else if (!is_theirs && (pid_t)info->ssi_pid != job->launch.pid)
        kill(job->launch.pid, (int)info->ssi_signo);
}

/* Also those of processes that were left to us, as they are to process 1. */
static void reap(struct job *job)
{
    const int kinds = WNOHANG | WUNTRACED | WCONTINUED;
    struct rusage usage;
    int status;

    for (pid_t pid; !job->ended && (pid = wait4(-1, &status, kinds, &usage)) > 0;) {
        if (pid != job->launch.pid)
            continue;
        job->stopped = WIFSTOPPED(status);
        job->status = status;
        if (job->stopped || WIFCONTINUED(status))
            continue;
        job->ended = true;
        job->ended_ns = now_raw_ns();
        job->usage = usage;
    }
}

/* Without a terminal there is nobody who would let us go on. */
static bool has_terminal(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

void job_wait(struct job *job, int64_t wait_ns)
{
    struct pollfd wanted = {.fd = job->signals.fd, .events = POLLIN};
    struct signalfd_siginfo info;

    wait_ns = wait_ns < 0 ? 0 : wait_ns < longest_wait_ns ? wait_ns : longest_wait_ns;
    (void)poll(&wanted, 1, (int)((wait_ns + 999999) / 1000000));
    while (signals_next(&job->signals, &info))
        take_signal(job, &info);
    reap(job);
    if (job->stopped && has_terminal())
        signals_stop_self(WSTOPSIG(job->status));
    job->stopped = false;
}
