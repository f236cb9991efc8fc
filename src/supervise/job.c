#include "supervise/job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stepscope/error.h"
#include "supervise/held_process.h"
#include "supervise/now.h"

static const int64_t longest_wait_ns = 1000000000; /* then it is looked whether a disk holds it */
static const int64_t together_ns = 50000000;

int job_start(struct job *job, char *const *command, const char *dir)
{
    *job = (struct job){.wake_fd = -1, .news_fd = -1};
    signals_block(&job->signals);
    if (!signals_open(&job->signals)) {
        signals_restore(&job->signals);
        return SS_E_LIMIT;
    }
    signal_witness_start(&job->witness);
    int failed = launch_command(&job->launch, command, dir, &job->signals);
    if (failed || job->launch.os_error) {
        job_release(job);
        signals_restore(&job->signals);
    }
    return failed;
}

void job_release(struct job *job)
{
    signal_witness_stop(&job->witness);
    if (job->signals.fd >= 0)
        close(job->signals.fd);
    job->signals.fd = -1;
}

/* Did the command get it without us? Two of a kind that come together are one, as they are for
 * every process: a second one may have come while the witness was asked about the first. */
static bool went_to_group(struct job *job, const struct signalfd_siginfo *info)
{
    int64_t *const last_ns = &job->to_group_ns[info->ssi_signo];

    switch (signal_witness_ask(&job->witness, (int)info->ssi_signo)) {
    case WITNESS_GOT_IT:
        *last_ns = now_ns();
        break;
    case WITNESS_DID_NOT:
        if (*last_ns == 0 || now_ns() - *last_ns > together_ns)
            return false;
        break;
    case WITNESS_IS_GONE:
        return info->ssi_code > 0; /* the terminal */
    }
    return getpgid(job->launch.pid) == getpgrp();
}

/* SIGCONT is passed on only to a command that is known to be stopped, and a stop of the terminal
 * never: each of the two takes back the other, so the witness may have lost what it got. */
static bool is_for_command(struct job *job, const struct signalfd_siginfo *info)
{
    const pid_t sender = (pid_t)info->ssi_pid;
    bool is_theirs = went_to_group(job, info);

    if (is_theirs || (info->ssi_code <= 0 && sender == getpid()) || sender == job->launch.pid)
        return false;
    switch (info->ssi_signo) {
    case SIGCONT:
        return job->stopped;
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGPIPE: /* from here on: what the kernel says about us */
    case SIGXCPU:
    case SIGXFSZ:
    case SIGIO: /* a lease of ours ends (run_budget.c) */
        return info->ssi_code <= 0;
    default:
        return true;
    }
}

static bool asks_to_end(uint32_t signal)
{
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

static void take_signal(struct job *job, const struct signalfd_siginfo *info)
{
    if (info->ssi_signo == SIGCHLD)
        return;
    if (info->ssi_signo == SIGCONT && job->worker) /* a stop of the group stopped it too */
        kill(job->worker, SIGCONT);
    if (job->ended && asks_to_end(info->ssi_signo)) {
        job->hurry = true;
        job->hurry_signal = (int)info->ssi_signo;
    }
    if (job->ended)
        return;
    if (is_for_command(job, info))
        kill(job->launch.pid, (int)info->ssi_signo);
}

static void end_worker(struct job *job, int status)
{
    if (!WIFEXITED(status) && !WIFSIGNALED(status))
        return;
    job->worker = 0;
    job->worker_status = status;
}

/* Takes what wait() has: false if there is no news of the command. Others are those of processes
 * that were left to us, as they are to process 1. */
static bool reap(struct job *job)
{
    const int kinds = WNOHANG | WUNTRACED | WCONTINUED;
    struct rusage usage;
    bool news = false;
    int status;

    for (pid_t pid; (pid = wait4(-1, &status, kinds, &usage)) > 0;) {
        if (pid == job->worker)
            end_worker(job, status);
        if (pid != job->launch.pid || job->ended)
            continue;
        news = true;
        job->status = status;
        job->stopped = WIFSTOPPED(status);
        job->ended = WIFEXITED(status) || WIFSIGNALED(status);
        if (job->ended) {
            job->ended_ns = now_raw_ns();
            job->usage = usage;
        }
    }
    return news;
}

/* Without a terminal no shell would continue us. */
static bool has_terminal(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Stops as the command did. A shell lets both go on; if only we were meant, the command follows: by
 * this SIGCONT alone, for the one that woke us is still to be taken. */
static void stop_too(struct job *job)
{
    while (job->stopped && has_terminal()) {
        if (job->worker)
            kill(job->worker, SIGSTOP);
        signals_stop_self(WSTOPSIG(job->status));
        if (job->worker)
            kill(job->worker, SIGCONT);
        if (!reap(job)) {
            kill(job->launch.pid, SIGCONT);
            job->stopped = false;
        }
    }
}

/* A command that is killed ends when its last thread does, and a thread that waits for a disk does
 * not. Its program has ended all the same: what is left of it will never run again. */
static void look_whether_held(struct job *job)
{
    struct held_process held;

    job->look_ns = now_ns() + longest_wait_ns;
    const bool is_held = held_process_look(job->launch.pid, &held);
    if (is_held && job->was_held) {
        job->ended = true;
        job->status = held.status;
        job->ended_ns = now_raw_ns();
        job->usage = held.usage;
    }
    job->was_held = is_held;
}

static void take_news(struct job *job)
{
    struct job_news news;
    ssize_t got;

    while ((got = recv(job->news_fd, &news, sizeof news, MSG_DONTWAIT)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got != (ssize_t)sizeof news)
            return;
        job->hurry |= news.hurry;
        job->is_left |= news.stays_behind;
        if (!news.ended || job->ended)
            continue;
        job->ended = true;
        job->status = news.status;
        job->ended_ns = news.ended_ns;
        job->usage = news.usage;
    }
    job->is_deserted = !job->is_left;
}

void job_wait(struct job *job, int64_t wait_ns)
{
    const bool is_guard = job->news_fd < 0;
    const int end_of_news = job->is_left || job->is_deserted;
    struct pollfd wanted[] = {{.fd = is_guard      ? job->signals.fd
                                     : end_of_news ? -1
                                                   : job->news_fd,
                               .events = POLLIN},
                              {.fd = job->wake_fd, .events = POLLIN}};
    struct signalfd_siginfo info;

    wait_ns = wait_ns < 0 ? 0 : wait_ns < longest_wait_ns ? wait_ns : longest_wait_ns;
    (void)poll(wanted, 2, (int)((wait_ns + 999999) / 1000000));
    if (!is_guard) {
        if (!end_of_news)
            take_news(job);
        return;
    }
    while (signals_next(&job->signals, &info))
        take_signal(job, &info);
    if (reap(job))
        stop_too(job);
    if (!job->ended && now_ns() >= job->look_ns)
        look_whether_held(job);
}
