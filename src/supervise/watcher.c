#include "supervise/watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "supervise/descriptors.h"
#include "supervise/live.h"
#include "supervise/now.h"
#include "supervise/samples.h"

enum { CONTROL = STDIN_FILENO };

struct watcher {
    pid_t pid;
    struct live live;
    struct samples *samples;
    int64_t feed_at_ns;
};

/* Nothing is ever sent: what can be read is the end. A process that was killed may have left the
 * other end of the socket to its children. */
static bool is_over(const struct watcher *watcher, int64_t wait_ns)
{
    struct pollfd control = {.fd = CONTROL, .events = POLLIN};
    const int wait_ms = wait_ns > 0 ? (int)((wait_ns + 999999) / 1000000) : 0;

    return poll(&control, 1, wait_ms) > 0 || (kill(watcher->pid, 0) != 0 && errno == ESRCH);
}

static void follow(struct watcher *watcher)
{
    bool more = false;
    int64_t wait_ns = 0;

    while (!is_over(watcher, wait_ns)) {
        const int64_t sample_at_ns = samples_take(watcher->samples, watcher->live.feed.model);
        if (now_ns() >= watcher->feed_at_ns) {
            watcher->feed_at_ns = now_ns() + live_refresh(&watcher->live);
            more = true;
        }
        more = more && live_feed(&watcher->live);
        const int64_t next_ns =
            sample_at_ns < watcher->feed_at_ns ? sample_at_ns : watcher->feed_at_ns;
        wait_ns = more ? 0 : next_ns - now_ns();
    }
}

/* The driver of a GPU may hang: nothing is released, and exit() is not called. */
static void watch(const char *run, pid_t pid)
{
    struct watcher watcher = {.pid = pid};
    struct run_facts facts;

    if (run_facts_load(&facts, run) != 0)
        _exit(1);
    const char *const dir = facts.elsewhere ? facts.elsewhere : run;
    const int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    watcher.samples = dir_fd < 0 ? NULL : samples_start(dir_fd, pid, SAMPLES_RUNS_ALREADY);
    if (!watcher.samples)
        _exit(1);
    live_init(&watcher.live, dir, &facts, NULL);
    (void)samples_take(watcher.samples, NULL);
    (void)send(CONTROL, "", 1, MSG_NOSIGNAL);
    follow(&watcher);
    samples_end(watcher.samples, NULL);
    _exit(0);
}

int watcher_start(const char *run, pid_t pid)
{
    static const int kept[] = {CONTROL};
    const pid_t child = fork();

    if (child < 0)
        return error_code_of_errno(errno);
    if (child > 0)
        return 0;
    (void)setsid();
    descriptors_keep_only(kept, 1);
    watch(run, pid);
    return 0;
}
