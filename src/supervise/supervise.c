#include "supervise/supervise.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/risky_calls.h"
#include "supervise/guard.h"
#include "supervise/job_place.h"
#include "supervise/launch.h"
#include "supervise/supervise_parts.h"
#include "supervise/worker.h"

static void cannot_run(const struct supervision *wish, int os_error, struct supervision_end *end)
{
    const char *command = wish->place.command[0];

    if (launch_is_script(command))
        message_say(wish, "cannot run '%s': %s. Put python in front: stepscope run -- python %s",
                    command, strerror(os_error), command);
    else
        message_say(wish, "cannot run '%s': %s.", command, strerror(os_error));
    end->exit_code = launch_exit_code(os_error);
}

/* Someone records this already: another supervisor around us, or the user by hand. */
static bool is_nested(void)
{
    const char *dir = secure_getenv("STEPSCOPE_RUN");
    struct stat status;

    return dir && *dir && stat(dir, &status) == 0 && S_ISDIR(status.st_mode);
}

/* There will be no files; false: then nothing is run. */
static bool miss_tensorboard(const struct supervision *wish, const char *reason)
{
    if (!wish->tensorboard)
        return true;
    if (wish->strict)
        message_say(wish, "not run, because TensorBoard would get nothing: %s", reason);
    else
        message_say(wish, "TensorBoard gets nothing: %s The command still runs.", reason);
    return !wish->strict;
}

/* Before the command is started, so that users do not find out only afterwards; false: nothing is
 * run. */
static bool open_tensorboard(struct supervisor *s)
{
    const struct supervision *wish = s->wish;
    const struct run_facts facts = {.path = s->place.shown};
    const struct tensorboard_wish board = {
        .dir = wish->tensorboard, .name = run_facts_name(&facts), .run_mode = 0700};
    struct ss_error error = {0};

    if (!wish->tensorboard)
        return true;
    s->tensorboard = tensorboard_new(&board, &error);
    return s->tensorboard || miss_tensorboard(wish, error.message);
}

/* Our own files stay where they belong; those of the command's processes are found by their path.
 */
static void warn_of_exposure(const struct supervisor *s)
{
    if (s->place.is_exposed)
        message_say(
            s->wish,
            "other users could replace %s: its parent directory is theirs, or anyone may write "
            "there and it is not sticky. Choose a safer one with --dir.",
            s->place.shown);
}

/* The worker lets itself be ended by these only while it writes the page. */
static bool asks_to_end(int signal)
{
    return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
}

/* The other process: it waits for the command. */
static void guard(struct supervisor *s)
{
    const enum guard_end end = guard_follow(&s->job, worker_do, s);

    switch (end) {
    case GUARD_HAS_NO_WORKER:
        if (s->place.local)
            run_place_say_where(s->place.home, s->place.local);
        run_place_publish(&s->place);
        keeper_complete(s->keeper, true);
        keeper_close(s->keeper);
        message_tell(s->wish, &s->job,
                     "cannot start a process next to the command; "
                     "'stepscope report' prints the summary.");
        return;
    case GUARD_LEFT_WORKER:
        message_tell(s->wish, &s->job,
                     "the disk with %s does not answer. The run will be completed when it does.",
                     s->place.shown);
        break;
    case GUARD_LOST_WORKER:
        message_tell(s->wish, &s->job,
                     s->wish->done && asks_to_end(WTERMSIG(s->job.worker_status))
                         ? "page not written: %s."
                         : "the process that sums up was ended by a signal (%s). "
                           "'stepscope report' shows what was recorded.",
                     strsignal(WTERMSIG(s->job.worker_status)));
        break;
    case GUARD_DONE:
        break;
    }
    keeper_forget(s->keeper);
    s->place.home_fd = s->place.local_fd = s->place.parent_fd = -1; /* the worker has them */
}

static void remove_place(const struct supervisor *s)
{
    run_place_remove(&s->place);
    job_place_remove(&s->job_place);
}

static void run_in_place(struct supervisor *s, struct supervision_end *end)
{
    warn_of_exposure(s);
    char *const *command = s->wish->place.command;
    s->keeper = keeper_open(run_place_fd(&s->place));
    int failed = job_start(&s->job, command, run_place_dir(&s->place));

    if (failed || s->job.launch.os_error)
        keeper_close(s->keeper);
    if (failed) { /* recorded by itself, without a supervisor */
        if (s->tensorboard)
            tensorboard_tidy(s->tensorboard);
        end->refused = !miss_tensorboard(s->wish, "there is no reader for the records.");
        if (end->refused) {
            remove_place(s);
            return;
        }
        message_say(s->wish,
                    "cannot start a process next to the command (%s); "
                    "'stepscope report' prints the summary.",
                    ss_error_text(failed));
        run_place_publish(&s->place);
        cannot_run(s->wish, launch_become(command, run_place_dir(&s->place)), end);
        return;
    }
    if (s->job.launch.os_error) {
        if (s->tensorboard)
            tensorboard_tidy(s->tensorboard);
        remove_place(s);
        cannot_run(s->wish, s->job.launch.os_error, end);
        return;
    }
    guard(s);
    if (WIFSIGNALED(s->job.status))
        end->signal = WTERMSIG(s->job.status);
    else
        end->exit_code = WEXITSTATUS(s->job.status);
    job_release(&s->job);
}

static void run_unrecorded(const struct supervision *wish, const struct ss_error *why,
                           struct supervision_end *end)
{
    if (wish->strict) {
        message_say(wish, "not run, because it cannot be recorded: %s.", why->message);
        end->refused = true;
        return;
    }
    message_say(wish, "not recorded%s: %s. The command still runs.",
                wish->tensorboard ? ", and TensorBoard gets nothing" : "", why->message);
    unsetenv("STEPSCOPE_RUN");
    cannot_run(wish, launch_become(wish->place.command, NULL), end);
}

void supervise(const struct supervision *wish, struct supervision_end *end)
{
    struct supervisor s = {.wish = wish};
    struct ss_error error = {0};

    *end = (struct supervision_end){0};
    if (is_nested()) {
        end->refused = !miss_tensorboard(wish, "another run records this command.");
        if (!end->refused)
            cannot_run(wish, launch_become(wish->place.command, NULL), end);
        return;
    }
    risky_calls_try();
    if (risky_call_kills(RISKY_MADVISE)) {
        error_set(&error, SS_E_OFF, "a filter of system calls (seccomp) kills for madvise()");
        run_unrecorded(wish, &error, end);
        return;
    }
    struct run_place_wish place = wish->place;
    int failed = job_place_make(&s.job_place, &place, wish->job, &error);
    place.run = s.job_place.run;
    if (!failed)
        failed = run_place_make(&s.place, &place, &error);
    if (!failed) {
        end->refused = !open_tensorboard(&s);
        if (end->refused)
            remove_place(&s);
        else
            run_in_place(&s, end);
        tensorboard_free(s.tensorboard);
    } else {
        run_unrecorded(wish, &error, end);
    }
    run_place_release(&s.place);
    job_place_release(&s.job_place);
}
