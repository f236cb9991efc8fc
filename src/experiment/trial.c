#include "experiment/trial.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stats/robust.h"
#include "supervise/now.h"
#include "supervise/proc_file.h"
#include "supervise/proc_text.h"

enum {
    TEXT_SIZE = 4096,
    LOG_TAIL = 8192, /* of what it printed, to find its last line */
    USUAL_OF = 64    /* steps, for the median */
};
static const int64_t patience_ns = 2000000000, look_ns = 5000000;
/* A stop takes hold at once, unless the leader waits for a child in vfork(), which has stopped. */
static const int64_t poll_ns = 1000000, stop_patience_ns = 100000000, run_on_ns = 2000000,
                     stop_limit_ns = 5000000000;
static const double settle_steps = 3; /* after a pause, as a time: caches are cold */

static void take_step(void *context, const struct model_step *step)
{
    struct trial *trial = context;

    trial->steps_seen += step->steps;
    trial->thread.tid = step->tid;
    if (!step->counted)
        return;
    if (trial->count == trial->room) {
        const size_t room = trial->room ? 2 * trial->room : 256;
        struct trial_step *steps = realloc(trial->steps, room * sizeof *steps);
        if (!steps)
            return;
        trial->steps = steps;
        trial->room = room;
    }
    trial->steps[trial->count++] = (struct trial_step){.start_ns = step->start_ns,
                                                       .end_ns = step->end_ns,
                                                       .time_ns = step->time_ns,
                                                       .steps = step->steps,
                                                       .samples = step->samples};
}

int trial_init(struct trial *trial, const char *label, char *const *command, const char *dir)
{
    *trial = (struct trial){.label = label, .command = command};
    buf_add_text(&trial->dir, dir);
    buf_printf(&trial->log, "%s/output.log", dir);
    trial->facts.path = trial->dir.data;
    live_init(&trial->live, buf_text(&trial->dir), &trial->facts, NULL);
    return trial->dir.failed || trial->log.failed ? ENOMEM : 0;
}

void trial_release(struct trial *trial)
{
    live_release(&trial->live);
    buf_release(&trial->dir);
    buf_release(&trial->log);
    free(trial->steps);
    free(trial->slices);
    *trial = (struct trial){0};
}

struct preparation {
    const struct trial *trial;
    const struct protect *protect;
    pid_t parent;
    int log_fd;
};

/* In the child. Input is empty, output goes into the log; if we die, so does it. */
static int prepare(void *context)
{
    const struct preparation *preparation = context;
    const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (input < 0 || dup2(input, STDIN_FILENO) < 0 ||
        dup2(preparation->log_fd, STDOUT_FILENO) < 0 ||
        dup2(preparation->log_fd, STDERR_FILENO) < 0)
        return errno;
    if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return errno;
    if (getppid() != preparation->parent) /* it died before we could ask */
        return ECHILD;
    for (char *const *entry = preparation->trial->environment; entry && *entry; entry++)
        if (putenv(*entry) != 0)
            return errno;
    return protect_enter(preparation->protect);
}

int trial_start(struct trial *trial, const struct protect *protect, const struct signals *signals,
                bool *cannot_run)
{
    struct preparation preparation = {.trial = trial, .protect = protect, .parent = getpid()};
    struct launch launch;

    *cannot_run = false;
    preparation.log_fd =
        open(buf_text(&trial->log), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (preparation.log_fd < 0)
        return errno;
    int failed = launch_prepared(&launch, trial->command, buf_text(&trial->dir), signals, prepare,
                                 &preparation);
    close(preparation.log_fd);
    if (failed)
        return EAGAIN;
    if (launch.os_error) {
        *cannot_run = true;
        return launch.os_error;
    }
    trial->pid = launch.pid;
    trial->facts.pid = (uint32_t)launch.pid;
    trial->facts.started_ns = launch.fork_ns;
    trial->facts.exit_code = -1;
    return 0;
}

/* Of its group: CPU time, also that of children that it has waited for, and memory. Pages that
 * processes share count for each. */
struct group_use {
    int64_t cpu_ns;
    uint64_t rss_bytes;
};

static struct group_use look_at_group(pid_t leader)
{
    const int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct group_use use = {0};
    struct buf path = {0};
    DIR *processes = opendir("/proc");

    for (const struct dirent *entry; processes && (entry = readdir(processes));) {
        const long pid = strtol(entry->d_name, NULL, 10);
        char text[TEXT_SIZE];
        struct proc_process process;
        if (pid <= 0 || getpgid((pid_t)pid) != leader)
            continue;
        buf_reset(&path);
        buf_printf(&path, "/proc/%ld/stat", pid);
        if (!proc_read(buf_text(&path), text, sizeof text) || !proc_text_process(text, &process))
            continue;
        use.cpu_ns += (int64_t)(process.user + process.system + process.children) * tick_ns;
        use.rss_bytes += process.rss_pages * page;
    }
    if (processes)
        closedir(processes);
    buf_release(&path);
    return use;
}

/* How long the loop thread has run, and waited for a core, so far. False: unknown. */
static bool look_at_thread(struct trial *trial, uint64_t *ran_ns, uint64_t *waited_ns)
{
    struct model_loop_thread thread;
    struct buf path = {0};
    char text[TEXT_SIZE];

    if (!trial->live.feed.model || model_loop_threads(trial->live.feed.model, &thread, 1) == 0)
        return false;
    trial->thread.pid = thread.pid;
    trial->thread.tid = thread.tid;
    buf_printf(&path, "/proc/%u/task/%u/schedstat", thread.pid, thread.tid);
    const bool known = proc_read(buf_text(&path), text, sizeof text) &&
                       proc_text_schedstat(text, ran_ns, waited_ns);
    buf_release(&path);
    return known;
}

static void note_end(struct trial *trial, int status)
{
    trial->has_ended = true;
    trial->is_stopped = false;
    trial->status = status;
    trial->facts.ended_ns = now_raw_ns();
    live_end(&trial->live);
}

/* While its leader is a zombie the number of the group is taken: what is left of it can be killed
 * without hitting a stranger. */
bool trial_has_ended(struct trial *trial)
{
    siginfo_t info = {0};
    int status;

    if (trial->has_ended || !trial->pid ||
        waitid(P_PID, (id_t)trial->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0)
        return trial->has_ended;
    (void)kill(-trial->pid, SIGKILL);
    if (waitpid(trial->pid, &status, 0) == trial->pid)
        note_end(trial, status);
    return trial->has_ended;
}

bool trial_is_in_group(struct trial *trial)
{
    uint64_t ran, waited;

    return trial_has_ended(trial) || !look_at_thread(trial, &ran, &waited) ||
           getpgid((pid_t)trial->thread.pid) == trial->pid;
}

static struct trial_slice *begin_slice(struct trial *trial, uint64_t round)
{
    if (trial->slice_count == trial->slice_room) {
        const size_t room = trial->slice_room ? 2 * trial->slice_room : 64;
        struct trial_slice *slices = realloc(trial->slices, room * sizeof *slices);
        if (!slices)
            return NULL;
        trial->slices = slices;
        trial->slice_room = room;
    }
    trial->slices[trial->slice_count] = (struct trial_slice){.round = round};
    return &trial->slices[trial->slice_count++];
}

void trial_continue(struct trial *trial, uint64_t round)
{
    struct trial_slice *const slice = begin_slice(trial, round);

    if (trial_has_ended(trial) || !slice)
        return;
    if (trial->group_seen_ns == 0)
        trial->group_seen_ns = look_at_group(trial->pid).cpu_ns;
    if (!look_at_thread(trial, &trial->thread.ran_ns, &trial->thread.waited_ns))
        trial->thread.ran_ns = trial->thread.waited_ns = 0;
    slice->begin_ns = now_raw_ns();
    (void)kill(-trial->pid, SIGCONT);
    trial->is_stopped = false;
}

static void pause_for(int64_t ns)
{
    const struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

    (void)nanosleep(&time, NULL);
}

void trial_end(struct trial *trial)
{
    const int64_t until_ns = now_ns() + patience_ns;

    if (!trial->pid)
        return;
    if (!trial_has_ended(trial)) {
        trial->was_ended = true;
        (void)kill(-trial->pid, SIGTERM);
        (void)kill(-trial->pid, SIGCONT);
        while (!trial_has_ended(trial) && now_ns() < until_ns)
            pause_for(look_ns);
    }
    if (!trial->has_ended)
        (void)kill(-trial->pid, SIGKILL);
    while (!trial_has_ended(trial))
        pause_for(look_ns);
    trial->pid = 0;
}

/* Its leader; what it started gets the signal at the same time. False: not in this time. */
static bool sees_stop(struct trial *trial, int64_t until_ns)
{
    do {
        siginfo_t info = {0};
        if (trial_has_ended(trial))
            return true;
        if (waitid(P_PID, (id_t)trial->pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid) {
            trial->is_stopped = true;
            return true;
        }
        pause_for(poll_ns);
    } while (now_ns() < until_ns);
    return false;
}

/* One that cannot be stopped is ended. */
static void stop_group(struct trial *trial)
{
    const int64_t until_ns = now_ns() + stop_limit_ns;

    (void)kill(-trial->pid, SIGSTOP);
    while (!sees_stop(trial, now_ns() + stop_patience_ns)) {
        if (now_ns() > until_ns) {
            trial->is_unstoppable = true;
            trial_end(trial);
            return;
        }
        (void)kill(-trial->pid, SIGCONT);
        pause_for(run_on_ns);
        (void)kill(-trial->pid, SIGSTOP);
    }
}

/* What the loop's thread used in the slice that ends. */
static void note_thread(struct trial *trial, struct trial_slice *slice)
{
    const uint32_t pid = trial->thread.pid, tid = trial->thread.tid;
    uint64_t ran = 0, waited = 0;

    slice->waited_ns = -1;
    if (!look_at_thread(trial, &ran, &waited) || trial->thread.pid != pid ||
        trial->thread.tid != tid || trial->thread.ran_ns == 0 || ran < trial->thread.ran_ns ||
        waited < trial->thread.waited_ns)
        return;
    trial->thread_cpu_ns += (int64_t)(ran - trial->thread.ran_ns);
    slice->waited_ns = (int64_t)(waited - trial->thread.waited_ns);
}

void trial_stop(struct trial *trial)
{
    if (trial->has_ended || !trial->pid)
        return;
    stop_group(trial);
    const int64_t end_ns = now_raw_ns();
    struct trial_slice *const slice =
        trial->slice_count ? &trial->slices[trial->slice_count - 1] : NULL;
    if (slice) {
        slice->end_ns = end_ns;
        slice->waited_ns = -1;
    }
    if (trial->has_ended)
        return;
    const struct group_use use = look_at_group(trial->pid);
    if (slice && use.cpu_ns > trial->group_seen_ns)
        trial->group_cpu_ns += use.cpu_ns - trial->group_seen_ns;
    trial->group_seen_ns = use.cpu_ns;
    if (use.rss_bytes > trial->rss_bytes)
        trial->rss_bytes = use.rss_bytes;
    if (slice)
        note_thread(trial, slice);
}

int trial_read(struct trial *trial)
{
    struct live *const live = &trial->live;
    const bool is_new = !live->run;

    (void)live_refresh(live);
    if (is_new && live->feed.model)
        model_observe(live->feed.model, take_step, trial);
    while (live_feed(live))
        ;
    return live->error;
}

/* The time of a step without that for which it stood still, between slices. */
static int64_t running_ns(const struct trial *trial, const struct trial_step *step)
{
    int64_t out = step->time_ns;

    for (size_t i = 0; i + 1 < trial->slice_count; i++) {
        const int64_t begin = trial->slices[i].end_ns, end = trial->slices[i + 1].begin_ns;
        const int64_t from = begin > step->start_ns ? begin : step->start_ns;
        const int64_t to = end < step->end_ns ? end : step->end_ns;
        if (begin >= step->end_ns)
            break;
        if (to > from)
            out -= to - from;
    }
    return out > 0 ? out : 0;
}

/* Whether all steps that began in it have been read: one that ends later has, or the training has
 * ended. */
static bool is_complete(const struct trial *trial, const struct trial_slice *slice)
{
    return slice->end_ns > 0 &&
           (trial->has_ended ||
            (trial->count > 0 && trial->steps[trial->count - 1].end_ns > slice->end_ns));
}

bool trial_next(struct trial *trial, struct trial_yield *out)
{
    if (trial->slice_count == 0 || !is_complete(trial, &trial->slices[0]))
        return false;
    const struct trial_slice slice = trial->slices[0];
    size_t at = trial->used;
    const int64_t from_ns =
        slice.begin_ns + (int64_t)(settle_steps * (double)trial_usual_ns(trial));

    *out = (struct trial_yield){.round = slice.round};
    for (; at < trial->count && trial->steps[at].start_ns < slice.end_ns; at++) {
        const struct trial_step *const step = &trial->steps[at];
        if (step->start_ns < from_ns)
            continue;
        out->wall_ns += (double)running_ns(trial, step);
        out->steps += (double)step->steps;
        out->samples += (double)step->samples;
    }
    trial->used = at;
    trial->slice_count--;
    memmove(trial->slices, trial->slices + 1, trial->slice_count * sizeof trial->slices[0]);
    const double length = (double)(slice.end_ns - slice.begin_ns);
    out->is_quiet_known = slice.waited_ns >= 0 && length > 0;
    out->quiet_ns = out->wall_ns;
    if (out->is_quiet_known)
        out->quiet_ns *= 1 - fmin(1, (double)slice.waited_ns / length);
    return true;
}

int64_t trial_usual_ns(const struct trial *trial)
{
    double values[USUAL_OF], scratch[USUAL_OF];
    size_t count = 0;

    for (size_t i = trial->count; i > 0 && count < USUAL_OF; i--) {
        const struct trial_step *const step = &trial->steps[i - 1];
        values[count++] = (double)step->time_ns / (double)step->steps;
    }
    return count ? (int64_t)robust_median(values, count, scratch) : 0;
}

void trial_last_words(const struct trial *trial, struct buf *out)
{
    const int fd = open(buf_text(&trial->log), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char text[LOG_TAIL];

    if (fd < 0)
        return;
    const off_t size = lseek(fd, 0, SEEK_END);
    const ssize_t got = pread(fd, text, sizeof text, size > LOG_TAIL ? size - LOG_TAIL : 0);
    close(fd);
    const char *end = text + (got > 0 ? got : 0);
    while (end > text && strchr("\n\r ", end[-1]))
        end--;
    const char *begin = end;
    while (begin > text && begin[-1] != '\n' && begin[-1] != '\r')
        begin--;
    buf_add(out, begin, (size_t)(end - begin));
}
