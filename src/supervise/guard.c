#include "supervise/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/risky_calls.h"
#include "supervise/descriptors.h"
#include "supervise/gpus.h"
#include "supervise/held_process.h"
#include "supervise/now.h"
#include "supervise/supervise_parts.h"

enum { PIECE_BYTES = 512 }; /* as much as there is room for where there is any */
static const int64_t look_ns = 100000000;
static const int64_t disk_patience_ns = 2000000000;

struct guard {
    struct job *job;
    int news_fd;
    int relay_fd; /* what the worker prints; -1: it has the terminal */
};

static void tell(struct guard *guard, bool stays_behind)
{
    const struct job *const job = guard->job;
    const struct job_news news = {.ended = job->ended,
                                  .hurry = job->hurry,
                                  .stays_behind = stays_behind,
                                  .status = job->status,
                                  .ended_ns = job->ended_ns,
                                  .usage = job->usage};

    while (send(guard->news_fd, &news, sizeof news, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
           errno == EINTR)
        ;
}

/* Returns whether there was something. */
static bool relay_some(struct guard *guard)
{
    char text[PIECE_BYTES];
    const ssize_t size = read(guard->relay_fd, text, sizeof text);

    if (size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN)) {
        close(guard->relay_fd);
        guard->relay_fd = guard->job->wake_fd = -1;
    }
    for (ssize_t at = 0; at < size;) {
        const ssize_t done = write(STDERR_FILENO, text + at, (size_t)(size - at));
        if (done < 0 && errno != EINTR && errno != EAGAIN)
            break;
        at += done > 0 ? done : 0;
    }
    return size > 0;
}

/* Never waits: what there is no room for stays with the worker. */
static void relay(struct guard *guard)
{
    while (guard->relay_fd >= 0 && message_has_room() && relay_some(guard))
        ;
    if (guard->relay_fd >= 0) /* else a pipe that is full on the other side would wake us always */
        guard->job->wake_fd = message_has_room() ? guard->relay_fd : -1;
}

static void wait_and_relay(struct guard *guard, int64_t wait_ns)
{
    if (guard->relay_fd >= 0 && guard->job->wake_fd < 0)
        wait_ns = earlier(wait_ns, look_ns);
    job_wait(guard->job, wait_ns);
    relay(guard);
}

/* A second wish to end ends what may be ended. */
static void pass_hurry_on(struct guard *guard)
{
    struct job *const job = guard->job;

    if (!job->hurry_signal)
        return;
    tell(guard, false);
    if (job->worker)
        kill(job->worker, job->hurry_signal);
    job->hurry_signal = 0;
}

/* Of what the worker has printed. A reader that has been given all of it need not make room. */
static bool has_more(int fd)
{
    int bytes = 0;

    return ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

static bool wait_for_worker(struct guard *guard)
{
    struct disk_wait wait = {0};
    struct held_process held;
    struct job *const job = guard->job;

    while (job->worker) {
        wait_and_relay(guard, look_ns);
        pass_hurry_on(guard);
        if (job->worker && held_process_look(job->worker, &held)) {
            job->worker_status = held.status;
            job->worker = 0;
        }
        if (job->worker && disk_wait_look(&wait, job->worker) >= disk_patience_ns) {
            tell(guard, true);
            return false;
        }
    }
    while (guard->relay_fd >= 0 && !job->hurry && has_more(guard->relay_fd))
        wait_and_relay(guard, look_ns);
    return true;
}

static int compare_descriptors(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* A descriptor of the run directory, say, would hold up who unmounts it. */
static void keep_own_descriptors(const struct guard *guard)
{
    const struct job *const job = guard->job;
    const int own[] = {STDERR_FILENO, job->signals.fd, job->witness.fd, guard->news_fd,
                       guard->relay_fd};
    int kept[sizeof own / sizeof own[0]] = {0};
    size_t count = 0;

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (own[i] >= 0)
            kept[count++] = own[i];
    qsort(kept, count, sizeof kept[0], compare_descriptors);
    descriptors_keep_only(kept, count);
}

static enum guard_end follow(struct guard *guard)
{
    struct job *const job = guard->job;

    keep_own_descriptors(guard);
    job->wake_fd = guard->relay_fd;
    while (!job->ended)
        wait_and_relay(guard, INT64_MAX);
    tell(guard, false);
    const bool has_ended = wait_for_worker(guard);
    close(guard->news_fd);
    if (guard->relay_fd >= 0)
        close(guard->relay_fd);
    job->wake_fd = -1;
    if (!has_ended)
        return GUARD_LEFT_WORKER;
    return WIFSIGNALED(job->worker_status) ? GUARD_LOST_WORKER : GUARD_DONE;
}

/* The reader of our output waits until no process can print any more: a worker that stays behind
 * must not be able to. No reader waits for a terminal, and a file may be on a disk that hangs.
 */
static bool open_relay(int ends[2])
{
    struct stat status;

    ends[0] = ends[1] = -1;
    if (fstat(STDERR_FILENO, &status) != 0 ||
        !(S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)))
        return true;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

static _Noreturn void be_worker(struct job *job, int news_fd, int print_fd,
                                void (*work)(void *context), void *context)
{
    if (print_fd >= 0)
        (void)dup2(print_fd, STDERR_FILENO);
    job->news_fd = news_fd;
    work(context);
    if (gpus_left_behind()) /* exit() would run into what hangs */
        _exit(0);
    exit(0);
}

static void close_both(const int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

enum guard_end guard_follow(struct job *job, void (*work)(void *context), void *context)
{
    int news[2] = {-1, -1}, print[2] = {-1, -1};
    pid_t worker = -1;

    if (!risky_call_kills(RISKY_SOCKET_PAIR) &&
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, news) == 0 && open_relay(print))
        worker = fork();
    if (worker == 0)
        be_worker(job, news[1], print[1], work, context);
    if (worker < 0) {
        close_both(news);
        close_both(print);
        while (!job->ended)
            job_wait(job, INT64_MAX);
        return GUARD_HAS_NO_WORKER;
    }
    struct guard guard = {.job = job, .news_fd = news[0], .relay_fd = print[0]};
    job->worker = worker;
    return follow(&guard);
}

bool guard_worker_may_end(struct job *job)
{
    const struct timespec now = {0};
    sigset_t all;

    sigfillset(&all);
    while (sigtimedwait(&all, NULL, &now) > 0) /* what came for the command */
        ;
    job_wait(job, 0);
    if (job->hurry)
        return false;
    (void)signal(SIGTSTP, SIG_IGN); /* we stop with the guard */
    (void)signal(SIGTTIN, SIG_IGN);
    (void)signal(SIGTTOU, SIG_IGN);
    signals_restore(&job->signals);
    return true;
}
