#include "supervise/supervise.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/small_file.h"
#include "base/units.h"
#include "output/report.h"
#include "read/run.h"
#include "supervise/apart.h"
#include "supervise/carry.h"
#include "supervise/descriptors.h"
#include "supervise/job.h"
#include "supervise/live.h"
#include "supervise/now.h"
#include "supervise/python_path.h"
#include "supervise/samples.h"

/* Merged records younger than 100 ms wait (reader.h), if a process goes on after the command. */
static const int64_t settle_ns = 110000000;

static const int64_t patience_ns = 1000000000; /* before a progress line appears */

enum { STATUS_PAUSES = 9 }; /* of the time that a refresh takes */

struct supervisor {
    const struct supervision *wish;
    struct place place;
    struct job job;
    struct run_facts facts;
    struct live live;
    struct tensorboard *tensorboard; /* NULL: not wanted */
    struct samples *samples;         /* NULL: none are taken */
    int64_t feed_at_ns, status_at_ns;
    int64_t refresh_from_ns; /* not before this for a status line: a tenth of a core */
};

static void say(const struct supervision *wish, const char *format, ...)
    ATTR_PRINTF(2, 3);

static void say(const struct supervision *wish, const char *format, ...)
{
    char message[1024];
    va_list arguments;

    if (wish->quiet)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    wish->say(wish->context, message);
}

static void cannot_run(const struct supervision *wish, int os_error,
                       struct supervision_end *end)
{
    say(wish, "cannot run '%s': %s.", wish->place.command[0], strerror(os_error));
    end->exit_code = launch_exit_code(os_error);
}

/* Someone records this already: another supervisor around us, or the user by hand. */
static bool is_nested(void)
{
    const char *dir = secure_getenv("STEPSCOPE_RUN");
    struct stat status;

    return dir && *dir && stat(dir, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Again after each change; the last one that could be written counts. */
static void write_outcome(struct supervisor *s)
{
    struct run_facts facts = s->facts;
    struct buf text = {0};

    facts.elsewhere = NULL;
    run_facts_write(&text, &facts);
    if (s->place.local)
        (void)small_file_write(s->place.local, RUN_OUTCOME_FILE, &text);
    buf_reset(&text);
    run_facts_write(&text, &s->facts);
    (void)small_file_write(s->place.home, RUN_OUTCOME_FILE, &text);
    buf_release(&text);
}

static void keep_own_descriptors(const struct supervisor *s)
{
    const int signals = s->job.signals.fd, witness = s->job.witness.fd;
    int kept[3];
    size_t count = 0;

    if (!s->wish->quiet)
        kept[count++] = STDERR_FILENO;
    if (witness >= 0 && witness < signals)
        kept[count++] = witness;
    kept[count++] = signals;
    if (witness > signals)
        kept[count++] = witness;
    descriptors_keep_only(kept, count);
}

static void fill_input(struct supervisor *s, const struct snapshot *snapshot,
                       struct report_input *input)
{
    *input = (struct report_input){
        .snapshot = snapshot,
        .run = s->live.run,
        .facts = &s->facts,
        .hooks = &s->live.feed.hooks,
        .deadline_ns = s->wish->deadline_ns,
    };
}

/* Why Python will not be hooked, as far as the command tells: for the summary and later reports. */
static void note_unhooked(const struct supervisor *s)
{
    const char *reason = python_path_hidden_by(s->wish->place.command);
    struct buf text = {0};

    if (!reason)
        return;
    buf_printf(&text, "unhooked: %s\n", reason);
    (void)small_file_write(place_dir(&s->place), "unhooked-run", &text);
    buf_release(&text);
}

static void say_nothing_yet(const struct supervisor *s)
{
    char took[UNITS_SIZE];

    sink_printf(s->wish->err, "stepscope %s: nothing recorded yet\n",
                units_duration(took, now_raw_ns() - s->facts.started_ns));
    (void)sink_flush(s->wish->err);
}

static void print(struct supervisor *s,
                  void (*report)(struct sink *out, const struct report_input *input,
                                 const struct report_style *style))
{
    struct report_style style = report_style_for(STDERR_FILENO);
    struct report_input input;

    if (!s->live.feed.model || s->wish->quiet)
        return;
    struct snapshot *snapshot = model_snapshot(s->live.feed.model);
    if (style.columns > REPORT_COLUMNS)
        style.columns = REPORT_COLUMNS;
    if (snapshot) {
        fill_input(s, snapshot, &input);
        report(s->wish->err, &input, &style);
        (void)sink_flush(s->wish->err);
    }
    snapshot_free(snapshot);
}

/* A status line must not make us wait for a reader that does not read. */
static bool can_write(void)
{
    struct pollfd wanted = {.fd = STDERR_FILENO, .events = POLLOUT};

    return poll(&wanted, 1, 0) == 1;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool refresh(struct supervisor *s)
{
    const int64_t start_ns = now_ns();

    samples_flush(s->samples);
    s->feed_at_ns = start_ns + live_refresh(&s->live);
    s->refresh_from_ns = now_ns() + STATUS_PAUSES * (now_ns() - start_ns);
    return true;
}

/* Says how far the run is now, not how far it was at the last refresh: first what is new is fed, for
 * a second at most. */
static void show_status(struct supervisor *s)
{
    const int64_t until_ns = now_ns() + patience_ns;
    bool more = now_ns() >= s->refresh_from_ns && refresh(s);

    while (more && now_ns() < until_ns && !s->job.ended) {
        more = live_feed(&s->live);
        job_wait(&s->job, 0);
    }
    if (s->job.ended || !can_write())
        return;
    if (s->live.run && run_training_processes(s->live.run) > 0)
        print(s, report_status_line);
    else
        say_nothing_yet(s);
}

/* Until the command has ended. What is done from time to time has its line in the first part of the
 * loop, and the time of its next turn in `wait_ns`. */
static void follow(struct supervisor *s)
{
    const struct supervision *wish = s->wish;
    bool more = false;

    s->feed_at_ns = now_ns();
    s->status_at_ns =
        wish->quiet || !wish->every_ns ? INT64_MAX : now_ns() + wish->every_ns;
    while (!s->job.ended) {
        const int64_t sample_at_ns =
            s->samples ? samples_take(s->samples, s->live.feed.model) : INT64_MAX;
        if (now_ns() >= s->feed_at_ns)
            more = refresh(s);
        more = more && live_feed(&s->live);
        if (now_ns() >= s->status_at_ns) {
            if (can_write()) {
                show_status(s);
                more = true;
            }
            s->status_at_ns = now_ns() + wish->every_ns;
        }
        int64_t wait_ns =
            earlier(sample_at_ns, earlier(s->feed_at_ns, s->status_at_ns)) - now_ns();
        if (!s->job.ended)
            job_wait(&s->job, more ? 0 : wait_ns);
    }
}

static void note_end(struct supervisor *s, struct supervision_end *end)
{
    const struct job *job = &s->job;
    const struct timeval *user = &job->usage.ru_utime, *system = &job->usage.ru_stime;

    s->facts.ended_ns = job->ended_ns;
    if (WIFSIGNALED(job->status))
        s->facts.signal = end->signal = WTERMSIG(job->status);
    else
        s->facts.exit_code = end->exit_code = WEXITSTATUS(job->status);
    s->facts.user_ns = (user->tv_sec * INT64_C(1000000) + user->tv_usec) * 1000;
    s->facts.system_ns = (system->tv_sec * INT64_C(1000000) + system->tv_usec) * 1000;
    s->facts.max_rss_bytes = job->usage.ru_maxrss * INT64_C(1024);
}

static void show_progress(struct supervisor *s, const char *text)
{
    if (!s->wish->quiet && isatty(STDERR_FILENO)) {
        sink_printf(s->wish->err, "\r%s\033[K", text);
        (void)sink_flush(s->wish->err);
    }
}

/* Feeds what is left; false if someone does not want to wait. */
static bool catch_up(struct supervisor *s)
{
    int64_t show_at_ns = now_ns() + patience_ns;
    bool shown = false;

    (void)live_refresh(&s->live);
    while (!s->job.hurry && live_feed(&s->live)) {
        job_wait(&s->job, 0);
        if (now_ns() >= show_at_ns) {
            show_progress(s, "stepscope: reading the rest of the run ...");
            show_at_ns = INT64_MAX;
            shown = true;
        }
    }
    if (shown)
        show_progress(s, "");
    return !s->job.hurry;
}

/* Everything has been seen here, also what the cap has taken from the files since. */
static void keep_summary(struct supervisor *s)
{
    const struct report_style style = {.columns = REPORT_COLUMNS};
    struct report_input input;
    struct buf text = {0};
    struct sink out;
    struct snapshot *snapshot = model_snapshot(s->live.feed.model);

    if (snapshot) {
        fill_input(s, snapshot, &input);
        sink_init_buf(&out, &text);
        if (report_gave_up(&input)) {
            report_summary(&out, &input, &style);
            if (sink_flush(&out) == 0)
                (void)small_file_write(s->place.home, RUN_SUMMARY_FILE, &text);
        }
    }
    buf_release(&text);
    snapshot_free(snapshot);
}

static void sum_up(struct supervisor *s)
{
    live_end(&s->live);
    bool all = catch_up(s);
    if (all && live_goes_on(&s->live)) {
        for (int64_t until_ns = now_ns() + settle_ns; now_ns() < until_ns;)
            job_wait(&s->job, until_ns - now_ns());
        all = catch_up(s);
    }
    if (!all)
        return;
    if (s->live.error) {
        say(s->wish, "the summary is missing: %s. 'stepscope report %s' gives it.",
            ss_error_text(s->live.error), s->place.shown);
        return;
    }
    if (!s->live.run) /* how the command ended is known all the same */
        live_open_empty(&s->live);
    if (s->live.feed.model)
        model_finish(s->live.feed.model);
    print(s, report_summary);
    if (s->live.feed.model)
        keep_summary(s);
}

static bool may_go_on(void *context)
{
    struct supervisor *s = context;

    job_wait(&s->job, 0);
    return !s->job.hurry;
}

/* From the local directory; if that fails, the outcome goes on saying where the files are. */
static void bring_home(struct supervisor *s)
{
    struct ss_error error = {0};
    char *const local = s->facts.elsewhere;

    if (!local)
        return;
    bool still_written = live_goes_on(&s->live);
    if (carry_home(local, s->place.home, may_go_on, s, &error) != 0) {
        say(s->wish, "the run stays in %s, %s was not reached: %s.", local, s->place.home,
            error.message);
        return;
    }
    if (still_written) {
        say(s->wish, "a process still records into %s: what it adds stays there.", local);
        return;
    }
    s->facts.elsewhere = NULL;
    write_outcome(s);
    carry_remove(local);
}

/* There will be no files; false: then nothing is run. */
static bool miss_tensorboard(const struct supervision *wish, const char *reason)
{
    if (!wish->tensorboard)
        return true;
    if (wish->strict)
        say(wish, "not run, since TensorBoard would get nothing: %s", reason);
    else
        say(wish, "TensorBoard gets nothing: %s The command runs all the same.", reason);
    return !wish->strict;
}

/* Before the command is started, so that nobody finds out only afterwards; false: nothing is run. */
static bool open_tensorboard(struct supervisor *s)
{
    const struct supervision *wish = s->wish;
    const struct run_facts facts = {.path = s->place.shown};
    const struct tensorboard_wish board = {.dir = wish->tensorboard,
                                           .name = run_facts_name(&facts)};
    struct ss_error error = {0};

    if (!wish->tensorboard)
        return true;
    s->tensorboard = tensorboard_new(&board, &error);
    return s->tensorboard || miss_tensorboard(wish, error.message);
}

static void end_tensorboard(struct supervisor *s)
{
    struct buf problem = {0};

    if (!s->tensorboard)
        return;
    tensorboard_finish(s->tensorboard);
    if (tensorboard_problem(s->tensorboard, &problem))
        say(s->wish, "%s.", buf_text(&problem));
    else if (s->job.hurry || s->live.error)
        say(s->wish, "TensorBoard got a part of the run. 'stepscope export tensorboard' "
                     "writes all of it.");
    else
        say(s->wish, "to see its curves: tensorboard --logdir %s", s->wish->tensorboard);
    tensorboard_tidy(s->tensorboard);
    buf_release(&problem);
}

static void watch(struct supervisor *s, struct supervision_end *end)
{
    s->facts = (struct run_facts){.path = s->place.shown,
                                  .elsewhere = s->place.local,
                                  .pid = (uint32_t)s->job.launch.pid,
                                  .started_ns = s->job.launch.fork_ns,
                                  .exit_code = -1};
    keep_own_descriptors(s);
    write_outcome(s);
    note_unhooked(s);
    place_publish(&s->place);
    live_init(&s->live, place_dir(&s->place), &s->facts, s->tensorboard);
    s->samples =
        samples_start(place_dir(&s->place), s->job.launch.pid, s->job.launch.fork_ns);
    follow(s);
    samples_end(s->samples, &s->job.usage);
    note_end(s, end);
    write_outcome(s);
    sum_up(s);
    end_tensorboard(s);
    bring_home(s);
    live_release(&s->live);
}

static void do_rest(void *context)
{
    const struct supervisor *s = context;

    s->wish->done(s->wish->context, s->place.shown);
}

static void run_in_place(struct supervisor *s, struct supervision_end *end)
{
    char *const *command = s->wish->place.command;
    int failed = job_start(&s->job, command, place_dir(&s->place));

    if (failed) { /* recorded by itself, without a supervisor */
        if (s->tensorboard)
            tensorboard_tidy(s->tensorboard);
        end->refused = !miss_tensorboard(s->wish, "nobody would read what is recorded.");
        if (end->refused) {
            place_remove(&s->place);
            return;
        }
        say(s->wish,
            "no process can be started beside the command (%s); "
            "'stepscope report' will sum up.",
            ss_error_text(failed));
        place_publish(&s->place);
        cannot_run(s->wish, launch_become(command, place_dir(&s->place)), end);
        return;
    }
    if (s->job.launch.os_error) {
        if (s->tensorboard)
            tensorboard_tidy(s->tensorboard);
        place_remove(&s->place);
        cannot_run(s->wish, s->job.launch.os_error, end);
        return;
    }
    watch(s, end);
    job_release(&s->job);
    if (s->wish->done && !s->job.hurry) {
        const int signal = apart_do(&s->job.signals, do_rest, s);
        if (signal)
            say(s->wish, "page not written: %s.", strsignal(signal));
    }
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
    if (place_make(&s.place, &wish->place, &error) == 0) {
        end->refused = !open_tensorboard(&s);
        if (end->refused)
            place_remove(&s.place);
        else
            run_in_place(&s, end);
        tensorboard_free(s.tensorboard);
    } else if (wish->strict) {
        say(wish, "not run, since it cannot be recorded: %s.", error.message);
        end->refused = true;
    } else {
        say(wish, "not recorded%s: %s. The command runs all the same.",
            wish->tensorboard ? ", and TensorBoard gets nothing" : "", error.message);
        unsetenv("STEPSCOPE_RUN");
        cannot_run(wish, launch_become(wish->place.command, NULL), end);
    }
    place_release(&s.place);
}
