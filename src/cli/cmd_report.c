#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "cli/command.h"
#include "cli/html_file.h"
#include "cli/job_argument.h"
#include "cli/run_argument.h"
#include "diagnose/finding.h"
#include "report/report.h"
#include "report/report_job.h"
#include "report/report_parts.h"

static bool as_json, as_markdown, epochs, hot, steps, force;
static const char *deadline, *fail_on, *html;
static enum finding_id fail_id;
static double fail_share;
static bool has_failed;
static const char *rank_text;
static int page_status = EXIT_FINE;

/* "10%", "0.1". */
static bool parse_fail_share(const struct console *console, const char *text)
{
    char *end;

    fail_share = strtod(text, &end);
    if (end != text && *end == '%') {
        fail_share /= 100;
        end++;
    }
    if (end != text && *end == '\0' && fail_share >= 0 && fail_share <= 1)
        return true;
    console_error(console, "--fail-on takes a share such as 10%% or 0.1 after the colon, not '%s'.",
                  text);
    return false;
}

/* ID[:SHARE]: fails if there is such a finding with at least this share. */
static bool parse_fail_on(const struct console *console)
{
    const char *colon = strchr(fail_on, ':');
    const size_t length = colon ? (size_t)(colon - fail_on) : strlen(fail_on);

    fail_id = finding_by_name(fail_on, length);
    if (fail_id == FINDING_NONE) {
        console_error(console, "--fail-on takes a finding listed by 'stepscope explain', not '%s'.",
                      fail_on);
        return false;
    }
    return !colon || parse_fail_share(console, colon + 1);
}

/* What is no part of the time has no share that could be too small. What cannot be seen here
 * passes, but not without a word. */
static void look_for_failure(const struct console *console, const struct analysis *analysis)
{
    const struct diagnosis *diagnosis = &analysis->diagnosis;

    for (size_t i = 0; i < diagnosis->count; i++) {
        const struct finding *finding = &diagnosis->finding[i];
        if (finding->id == fail_id &&
            (!isfinite(finding->share.mid) || finding->share.mid >= fail_share))
            has_failed = true;
    }
    for (size_t i = 0; i < diagnosis->unobservable_count; i++) {
        const struct unobservable *cause = &diagnosis->unobservable[i];
        if (cause->id == fail_id)
            console_error(console, "--fail-on %s: not measurable in this run: %s.",
                          finding_name(cause->id), cause->reason);
    }
}

static int print(struct console *console, const struct analysis *analysis)
{
    const struct style style = style_for(STDOUT_FILENO);

    if (steps)
        return report_step_table(&console->out, analysis, &style, as_json);
    if (as_json)
        report_json(&console->out, analysis);
    else if (as_markdown)
        report_markdown(&console->out, analysis);
    else if (hot)
        report_hot_table(&console->out, analysis, &style);
    else if (epochs)
        report_epoch_table(&console->out, analysis, &style);
    else
        report_text(&console->out, analysis, &style);
    return 0;
}

/* What is read: a run, which may be a launch of a job. */
struct wanted {
    const struct job_view *job; /* NULL: the run is all */
    int rank;                   /* whose loop comes first; -1: as usual */
    int64_t deadline_ns;
};

static int report(struct console *console, struct ss_run *run, const struct run_facts *facts,
                  const struct wanted *wanted)
{
    struct step_courses courses = {0};
    struct feed feed;
    struct snapshot *snapshot;
    int failed = snapshot_run_of_rank(&feed, run, facts, wanted->rank,
                                      html ? step_courses_add : NULL, &courses, &snapshot);

    if (!failed) {
        struct analysis analysis;
        if (wanted->job)
            snapshot_take_job(snapshot, &wanted->job->compared);
        analysis_make(&analysis, snapshot, run, facts, &feed.hooks);
        analysis.job = wanted->job;
        analysis.deadline_ns = wanted->deadline_ns;
        const struct html_file file = {.path = html, .force = force};
        if (html)
            page_status = html_file_write(console, &file, &analysis, &courses);
        else
            failed = print(console, &analysis);
        if (fail_on)
            look_for_failure(console, &analysis);
    }
    snapshot_free(snapshot);
    feed_release(&feed);
    step_courses_release(&courses);
    return failed;
}

static int report_path(struct console *console, const char *path, const struct wanted *wanted)
{
    struct run_facts facts;
    struct ss_run *run = NULL;
    int failed = run_facts_load(&facts, path);

    if (!failed) {
        run = run_argument_open_recorded(console, &facts);
        failed = run ? report(console, run, &facts, wanted) : SS_E_NOTRUN;
    }
    if (!failed && (epochs || hot || steps))
        run_argument_say_missing(console, run, path);
    if (failed && failed != SS_E_NOTRUN)
        console_error(console, "cannot read run '%s': %s.", path, ss_error_text(failed));
    ss_run_close(run);
    run_facts_release(&facts);
    if (failed || page_status != EXIT_FINE)
        return failed ? EXIT_DATA : page_status;
    return has_failed ? EXIT_CHECK_FAILED : EXIT_FINE;
}

/* What is known from parts alone. */
static int report_alone(struct console *console, const struct job_view *view, const char *path)
{
    const struct style style = style_for(STDOUT_FILENO);
    struct snapshot snapshot = {0};
    const struct run_facts facts = {.path = (char *)(uintptr_t)path, .exit_code = -1};
    static struct analysis analysis;

    if (epochs || hot || steps || as_markdown || html) {
        console_error(
            console,
            "'%s' is a job, and no records of its ranks are here: only the text and --json are known.",
            path);
        return EXIT_DATA;
    }
    snapshot_take_job(&snapshot, &view->compared);
    analysis.snapshot = &snapshot;
    analysis.facts = &facts;
    analysis.job = view;
    diagnose_job(&analysis.diagnosis, &snapshot);
    if (as_json)
        report_json_job_alone(&console->out, &analysis);
    else
        report_job_alone(&console->out, &analysis, &style);
    if (fail_on)
        look_for_failure(console, &analysis);
    return has_failed ? EXIT_CHECK_FAILED : EXIT_FINE;
}

static bool says_where(const struct console *console, const struct job_view *view, int rank)
{
    const struct job_rank *row = job_view_rank(view, rank);

    if (!row)
        console_error(console, "the job has no rank %d. 'stepscope ranks' lists those it has.",
                      rank);
    else
        console_error(console, "the records of rank %d are not here, but in '%s' on %s.", rank,
                      view->launches[row->launch].path, view->launches[row->launch].host);
    return false;
}

static int report_job_path(struct console *console, const char *path, const struct wanted *wanted)
{
    struct job_view view = {0};
    int status = EXIT_DATA;

    if (job_argument_load(console, path, &view)) {
        char *run = job_argument_run(&view, path, wanted->rank);
        struct wanted launch = *wanted;
        launch.job = wanted->rank < 0 ? &view : NULL;
        if (run)
            status = report_path(console, run, &launch);
        else if (wanted->rank < 0)
            status = report_alone(console, &view, path);
        else
            (void)says_where(console, &view, wanted->rank);
        free(run);
    }
    job_view_release(&view);
    return status;
}

static bool parse_rank(const struct console *console, int *rank)
{
    char *end;

    *rank = -1;
    if (!rank_text)
        return true;
    const long value = strtol(rank_text, &end, 10);
    if (end != rank_text && *end == '\0' && value >= 0 && value <= INT_MAX) {
        *rank = (int)value;
        return true;
    }
    console_error(console, "--rank takes the number of a rank, not '%s'.", rank_text);
    return false;
}

static bool is_usable(const struct console *console, int count, char **operands)
{
    if (epochs + hot + steps > 1)
        console_error(console,
                      "--epochs, --hot and --steps are separate tables: give one of them.");
    else if (epochs && as_json)
        console_error(console, "--epochs is a text table: --json alone includes the epochs.");
    else if (as_markdown && (epochs || hot || steps || as_json || html))
        console_error(console, "--markdown is a report of its own: give it alone.");
    else if (html && (epochs || hot || steps || as_json))
        console_error(console, "--html cannot be combined with other outputs.");
    else if (html && html[0] == '\0')
        console_error(console, "--html is empty: give a file, or - for standard output.");
    else if (count > 0 && operands[0][0] == '\0')
        console_error(console, "the RUN is empty. Without it, the newest run is reported.");
    else
        return true;
    return false;
}

static int run(struct console *console, int count, char **operands)
{
    struct wanted wanted = {0};

    if (!is_usable(console, count, operands) || !parse_rank(console, &wanted.rank))
        return EXIT_USAGE;
    if (deadline && !duration_parse(deadline, &wanted.deadline_ns)) {
        console_error(console, "--deadline takes a time such as " DURATION_EXAMPLES ", not '%s'.",
                      deadline);
        return EXIT_USAGE;
    }
    if (fail_on && !parse_fail_on(console))
        return EXIT_USAGE;
    char *path = run_argument_find_job(console, count > 0 ? operands[0] : NULL);
    if (!path)
        return EXIT_DATA;
    const int status = (job_argument_is_job(path) ? report_job_path(console, path, &wanted)
                                                  : report_path(console, path, &wanted));
    free(path);
    return status;
}

static const struct cli_option options[] = {
    {.name = "json", .help = "one JSON object; see docs/report.md", .is_given = &as_json},
    {.name = "markdown",
     .help = "for a pull request: the answer and small tables",
     .is_given = &as_markdown},
    {.name = "epochs", .help = "a table of all epochs", .is_given = &epochs},
    {.name = "hot", .help = "the Python lines where each stage spent its time", .is_given = &hot},
    {.name = "steps",
     .help = "a table of all steps; with --json one object per line",
     .is_given = &steps},
    {.name = "rank",
     .argument = "K",
     .help = "the report of rank K of a job, or of a run with several",
     .value = &rank_text},
    {.name = "html",
     .argument = "FILE",
     .help = "one self-contained HTML page with charts",
     .value = &html},
    {.name = "force", .letter = 'f', .help = "overwrite FILE if it exists", .is_given = &force},
    {.name = "deadline",
     .argument = "T",
     .help = "check whether the whole run ends within " DURATION_EXAMPLES,
     .value = &deadline},
    {.name = "fail-on",
     .argument = "ID",
     .help = "exit with status 1 on finding ID (ID:10%: at 10 % or more)",
     .value = &fail_on},
    {0},
};

const struct command cmd_report = {
    .name = "report",
    .summary = "show where the time of a run went",
    .operands = "[RUN]",
    .details = "Shows the findings with evidence and advice, which stage of a training step\n"
               "takes most of the time and how certain that is, where step and run time goes,\n"
               "callbacks, trends and the slowest steps. Live, killed and damaged runs are\n"
               "reported as far as they can be read. Of a job of several launches all ranks come\n"
               "first, then the lowest rank that has its records here.\n" RUN_ARGUMENT_HELP,
    .options = options,
    .fewest = 0,
    .most = 1,
    .run = run,
};
