#include "supervise/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "read/run.h"
#include "render/units.h"
#include "report/report.h"
#include "supervise/copy_back.h"
#include "supervise/descriptors.h"
#include "supervise/guard.h"
#include "supervise/now.h"
#include "supervise/proc_file.h"
#include "supervise/python_path.h"
#include "supervise/supervise_parts.h"

/* Merged records younger than 100 ms wait (reader.h), if a process goes on after the command. */
static const int64_t settle_ns = 110000000;

static const int64_t patience_ns = 1000000000; /* before a progress line appears */
static const int64_t trim_pause_ns = 100000000;
static const int64_t last_trim_ns = 5000000000;
static const int64_t deserted_pause_ns = 250000000;

enum { STATUS_PAUSES = 9 }; /* of the time that a refresh takes */

/* Again after each change; the last one that could be written counts. */
static void write_outcome(struct supervisor *s)
{
    struct run_facts facts = s->facts;
    struct buf text = {0};

    facts.elsewhere = NULL;
    run_facts_write(&text, &facts);
    if (s->place.local)
        (void)small_file_write_at(s->place.local_fd, RUN_OUTCOME_FILE, &text);
    buf_reset(&text);
    run_facts_write(&text, &s->facts);
    (void)small_file_write_at(s->place.home_fd, RUN_OUTCOME_FILE, &text);
    buf_release(&text);
}

static int compare_descriptors(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void keep_own_descriptors(const struct supervisor *s)
{
    const int own[] = {s->wish->quiet ? -1 : STDERR_FILENO, s->job.news_fd, s->place.home_fd,
                       s->place.local_fd, s->place.parent_fd};
    int kept[sizeof own / sizeof own[0] + KEEPER_FDS];
    size_t count = keeper_fds(s->keeper, kept);

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (own[i] >= 0)
            kept[count++] = own[i];
    qsort(kept, count, sizeof kept[0], compare_descriptors);
    descriptors_keep_only(kept, count);
}

static void analyse(struct supervisor *s, const struct snapshot *snapshot,
                    struct analysis *analysis)
{
    analysis_make(analysis, snapshot, s->live.run, &s->facts, &s->live.feed.hooks);
    analysis->deadline_ns = s->wish->deadline_ns;
}

/* Why Python will not be hooked, as far as the command tells: for the summary and later reports. */
static void note_unhooked(const struct supervisor *s)
{
    const char *reason = python_path_hidden_by(s->wish->place.command);
    struct buf text = {0};

    if (!reason)
        return;
    buf_printf(&text, "unhooked: %s\n", reason);
    (void)small_file_write_at(run_place_fd(&s->place), "unhooked-run", &text);
    buf_release(&text);
}

/* A command that cannot record says nothing itself. As long as nothing is recorded, we look. */
static void note_out_of_reach(struct supervisor *s)
{
    struct buf reason = {0}, text = {0};

    if (s->is_out_of_reach || (s->live.run && run_training_processes(s->live.run) > 0))
        return;
    reach_look(&reason, s->job.launch.pid);
    s->is_out_of_reach = reason.size > 0;
    if (s->is_out_of_reach) {
        buf_printf(&text, "unhooked: %s\n", buf_text(&reason));
        (void)small_file_write_at(run_place_fd(&s->place), "unhooked-reach", &text);
    }
    buf_release(&reason);
    buf_release(&text);
}

static void say_nothing_yet(struct supervisor *s)
{
    struct buf text = {0};
    char took[UNITS_SIZE];

    message_begin_line(&text);
    buf_printf(&text, "stepscope %s: nothing recorded yet\n",
               units_duration(took, now_raw_ns() - s->facts.started_ns));
    message_show(&s->job, &text);
}

static void print(struct supervisor *s, const struct analysis *analysis, bool is_status)
{
    struct style style = style_for(STDERR_FILENO);
    struct buf text = {0};
    struct sink out;

    if (s->wish->quiet)
        return;
    if (style.columns > STYLE_COLUMNS)
        style.columns = STYLE_COLUMNS;
    if (is_status)
        message_begin_line(&text);
    sink_init_buf(&out, &text);
    (is_status ? report_status_line : report_summary)(&out, analysis, &style);
    (void)sink_flush(&out);
    message_show(&s->job, &text);
}

static void print_status(struct supervisor *s)
{
    struct snapshot *snapshot = s->live.feed.model ? model_snapshot(s->live.feed.model) : NULL;
    struct analysis analysis;

    if (!snapshot)
        return;
    analyse(s, snapshot, &analysis);
    print(s, &analysis, true);
    snapshot_free(snapshot);
}

/* False: files are left that shall be trimmed. */
static bool keep_budget(struct supervisor *s)
{
    return !s->live.run || s->live.error != 0 ||
           run_budget_keep(&s->budget, s->live.run, s->live.feed.model, s->keeper);
}

static bool refresh(struct supervisor *s)
{
    const int64_t start_ns = now_ns();

    keeper_complete(s->keeper, false);
    samples_flush(s->samples);
    s->feed_at_ns = start_ns + live_refresh(&s->live);
    note_out_of_reach(s);
    windows_look(&s->windows, run_place_dir(&s->place), s->wish->keep_traces);
    keep_budget(s);
    s->refresh_from_ns = now_ns() + STATUS_PAUSES * (now_ns() - start_ns);
    return true;
}

/* Says how far the run is now, not how far it was at the last refresh: first what is new is fed,
 * for a second at most. */
static void show_status(struct supervisor *s)
{
    const int64_t until_ns = now_ns() + patience_ns;
    bool more = now_ns() >= s->refresh_from_ns && refresh(s);

    while (more && now_ns() < until_ns && !s->job.ended) {
        more = live_feed(&s->live);
        job_wait(&s->job, 0);
    }
    if (s->job.ended || !message_has_room())
        return;
    if (s->live.run && run_training_processes(s->live.run) > 0)
        print_status(s);
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
    s->status_at_ns = wish->quiet || !wish->every_ns ? INT64_MAX : now_ns() + wish->every_ns;
    while (!s->job.ended && !s->job.is_deserted) {
        const int64_t sample_at_ns =
            s->samples ? samples_take(s->samples, s->live.feed.model) : INT64_MAX;
        keeper_follow(s->keeper);
        s->feed_at_ns = earlier(s->feed_at_ns, keeper_crowd_ns(s->keeper));
        s->job.wake_fd = keeper_fd(s->keeper);
        if (now_ns() >= s->feed_at_ns)
            more = refresh(s);
        else if (s->budget.is_late)
            (void)keep_budget(s);
        more = more && live_feed(&s->live);
        if (now_ns() >= s->status_at_ns) {
            if (message_has_room()) {
                show_status(s);
                more = true;
            }
            s->status_at_ns = now_ns() + wish->every_ns;
        }
        const int64_t part_at_ns = job_part_follow(s);
        int64_t wait_ns =
            earlier(earlier(part_at_ns, sample_at_ns), earlier(s->feed_at_ns, s->status_at_ns)) -
            now_ns();
        if (s->budget.is_late)
            wait_ns = earlier(wait_ns, trim_pause_ns);
        if (!s->job.ended)
            job_wait(&s->job, more ? 0 : wait_ns);
    }
}

static void note_end(struct supervisor *s)
{
    const struct job *job = &s->job;
    const struct timeval *user = &job->usage.ru_utime, *system = &job->usage.ru_stime;

    s->facts.ended_ns = job->ended_ns;
    if (WIFSIGNALED(job->status))
        s->facts.signal = WTERMSIG(job->status);
    else
        s->facts.exit_code = WEXITSTATUS(job->status);
    s->facts.user_ns = (user->tv_sec * INT64_C(1000000) + user->tv_usec) * 1000;
    s->facts.system_ns = (system->tv_sec * INT64_C(1000000) + system->tv_usec) * 1000;
    s->facts.max_rss_bytes = job->usage.ru_maxrss * INT64_C(1024);
}

static void show_progress(struct supervisor *s, const char *progress)
{
    struct buf text = {0};

    if (s->wish->quiet || !isatty(STDERR_FILENO))
        return;
    buf_printf(&text, "\r%s\033[K", progress);
    message_show(&s->job, &text);
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

/* With all files that ended with the command. What was trimmed is read to its end before it may be
 * folded. */
static void keep_last_budget(struct supervisor *s)
{
    const int64_t until_ns = now_ns() + last_trim_ns;

    while (!keep_budget(s) && !s->job.hurry && now_ns() < until_ns)
        job_wait(&s->job, 0);
    if (s->budget.is_over && catch_up(s))
        (void)keep_budget(s);
}

/* Everything has been seen here, also what the cap has taken from the files since. */
static void keep_summary(struct supervisor *s)
{
    const struct style style = {.columns = STYLE_COLUMNS};
    struct buf text = {0};
    struct sink out;

    if (!report_gave_up(&s->analysis))
        return;
    sink_init_buf(&out, &text);
    report_summary(&out, &s->analysis, &style);
    if (sink_flush(&out) == 0)
        (void)small_file_write_at(s->place.home_fd, RUN_SUMMARY_FILE, &text);
    buf_release(&text);
}

/* For lists of runs. A run that recorded nothing is not the latest one any more. */
static void keep_result(struct supervisor *s)
{
    struct run_result result;
    struct buf text = {0};

    analysis_result(&s->analysis, &result);
    run_result_write(&text, &result);
    (void)small_file_write_at(s->place.home_fd, RUN_RESULT_FILE, &text);
    if (run_result_is_empty(&result) && !s->place.is_in_job && run_before_is_good(&s->place))
        run_place_withdraw(&s->place);
    buf_release(&text);
}

/* Of the run, or of the job that it belongs to: then one of its supervisors does. */
static void show_summary(struct supervisor *s)
{
    char *const path = s->facts.path;

    job_part_end(s);
    if (!job_part_gather(s))
        return;
    if (s->view.launch_count > 0) {
        analyse(s, s->snapshot, &s->analysis);
        s->analysis.job = &s->view;
        s->facts.path = s->job_place.shown;
        job_part_keep_result(s);
    }
    print(s, &s->analysis, false);
    s->facts.path = path;
}

static void sum_up(struct supervisor *s)
{
    keeper_complete(s->keeper, true);
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
        message_tell(s->wish, &s->job, "no summary: %s. 'stepscope report %s' prints it.",
                     ss_error_text(s->live.error), s->place.shown);
        return;
    }
    if (!s->live.run) /* how the command ended is known all the same */
        live_open_empty(&s->live);
    keep_last_budget(s);
    if (!s->live.feed.model)
        return;
    model_finish(s->live.feed.model);
    s->snapshot = model_snapshot(s->live.feed.model);
    if (!s->snapshot)
        return;
    analyse(s, s->snapshot, &s->analysis);
    if (!live_goes_on(&s->live))
        keep_result(s);
    keep_summary(s);
    show_summary(s);
}

static bool may_go_on(void *context)
{
    struct supervisor *s = context;

    job_wait(&s->job, 0);
    return !s->job.hurry;
}

/* From the local directory, unless a process goes on; is_kept: its memory is. If that fails, the
 * outcome goes on saying where the files are. */
static void bring_home(struct supervisor *s, bool is_kept)
{
    struct ss_error error = {0};
    char *const local = s->facts.elsewhere;

    if (!local)
        return;
    bool still_written = live_goes_on(&s->live) || is_kept;
    if (copy_back(local, s->place.home, may_go_on, s, &error) != 0) {
        message_tell(s->wish, &s->job, "the run stays in %s, because %s could not be written: %s.",
                     local, s->place.home, error.message);
        return;
    }
    if (still_written) {
        message_tell(s->wish, &s->job,
                     "a process is still recording to %s: what it adds stays there.", local);
        return;
    }
    s->facts.elsewhere = NULL;
    write_outcome(s);
    copy_back_remove(local);
}

static void end_tensorboard(struct supervisor *s)
{
    struct buf problem = {0};

    if (!s->tensorboard)
        return;
    tensorboard_finish(s->tensorboard);
    if (tensorboard_problem(s->tensorboard, &problem))
        message_tell(s->wish, &s->job, "%s.", buf_text(&problem));
    else if (s->job.hurry || s->live.error)
        message_tell(s->wish, &s->job,
                     "TensorBoard got only part of the run. 'stepscope export tensorboard' "
                     "writes all of it.");
    else
        message_tell(s->wish, &s->job, "to see the curves: tensorboard --logdir %s",
                     s->wish->tensorboard);
    tensorboard_tidy(s->tensorboard);
    buf_release(&problem);
}

static void begin_watch(struct supervisor *s)
{
    s->facts = (struct run_facts){.path = s->place.shown,
                                  .elsewhere = s->place.local,
                                  .pid = (uint32_t)s->job.launch.pid,
                                  .started_ns = s->job.launch.fork_ns,
                                  .exit_code = -1};
    s->start_ticks = proc_start_of(s->job.launch.pid); /* the guard has not reaped it */
    keep_own_descriptors(s);
    keeper_raise_limit();
    write_outcome(s);
    note_unhooked(s);
    run_place_publish(&s->place);
    live_init(&s->live, run_place_dir(&s->place), &s->facts, s->tensorboard);
    s->live.seen = s->wish->seen;
    s->live.seen_context = s->wish->context;
    run_budget_init(&s->budget, run_place_fd(&s->place));
    keeper_note_left(s->keeper, s->budget.most_bytes);
    job_part_begin(s);
    s->samples = samples_start(run_place_fd(&s->place), s->job.launch.pid, s->job.launch.fork_ns);
}

/* Whatever killed the supervisor may kill the command next. Its exit code is lost: the run stays as
 * it is. */
static void keep_to_the_end(struct supervisor *s)
{
    samples_end(s->samples, NULL);
    while (keeper_has_any(s->keeper) || !proc_has_died(s->job.launch.pid, s->start_ticks)) {
        s->job.wake_fd = keeper_fd(s->keeper);
        job_wait(&s->job, deserted_pause_ns);
        keeper_complete(s->keeper, false);
    }
    keeper_complete(s->keeper, true);
    keeper_close(s->keeper);
}

static void end_watch(struct supervisor *s)
{
    samples_end(s->samples, &s->job.usage);
    note_end(s);
    write_outcome(s);
    windows_end(&s->windows, run_place_dir(&s->place), s->wish->keep_traces);
    sum_up(s);
    end_tensorboard(s);
    keeper_complete(s->keeper, true);
    const bool is_kept = keeper_has_any(s->keeper);
    keeper_close(s->keeper);
    if (!s->wish->unpacked && !s->job.hurry && !is_kept && !live_goes_on(&s->live))
        pack_up(run_place_dir(&s->place), s->place.local, may_go_on, s);
    bring_home(s, is_kept);
}

void worker_do(void *supervisor)
{
    struct supervisor *const s = supervisor;

    begin_watch(s);
    follow(s);
    if (s->job.ended)
        end_watch(s);
    else
        keep_to_the_end(s);
    if (s->job.ended && s->wish->done && guard_worker_may_end(&s->job))
        s->wish->done(s->wish->context, s->place.shown, s->snapshot ? &s->analysis : NULL);
    snapshot_free(s->snapshot);
    job_view_release(&s->view);
    run_budget_release(&s->budget);
    live_release(&s->live);
}
