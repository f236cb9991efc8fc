#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "cli/command.h"
#include "cli/html_file.h"
#include "cli/run_argument.h"
#include "diagnose/explain.h"
#include "diagnose/finding.h"
#include "output/report.h"
#include "output/report_hot.h"
#include "output/report_tables.h"

static bool as_json, epochs, hot, steps, force;
static const char *deadline, *fail_on, *html;
static double fail_share;
static bool has_failed;
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
    console_error(
        console, "--fail-on takes a share such as 10%% or 0.1 after the colon, not '%s'.",
        text);
    return false;
}

/* ID[:SHARE]: fails if there is such a finding with at least this share. */
static bool parse_fail_on(const struct console *console)
{
    const char *colon = strchr(fail_on, ':');
    char id[64];
    const size_t length = colon ? (size_t)(colon - fail_on) : strlen(fail_on);

    if (length < sizeof id) {
        memcpy(id, fail_on, length);
        id[length] = '\0';
    }
    if (length >= sizeof id || !explain_find(id)) {
        console_error(console,
                      "--fail-on takes a finding that 'stepscope explain' lists, "
                      "not '%s'.",
                      fail_on);
        return false;
    }
    return !colon || parse_fail_share(console, colon + 1);
}

static bool is_watched(const char *id)
{
    const size_t length = strcspn(fail_on, ":");

    return strlen(id) == length && strncmp(id, fail_on, length) == 0;
}

/* What is no part of the time has no share that could be too small. What cannot be seen here passes, but not without a
 * word. */
static void look_for_failure(const struct console *console,
                             const struct report_input *input)
{
    struct diagnosis diagnosis;

    diagnose(&diagnosis, input->snapshot, input->run);
    for (size_t i = 0; i < diagnosis.count; i++) {
        const struct finding *finding = &diagnosis.finding[i];
        if (is_watched(finding->id) &&
            (!isfinite(finding->share.mid) || finding->share.mid >= fail_share))
            has_failed = true;
    }
    for (size_t i = 0; i < diagnosis.unobservable_count; i++) {
        const struct unobservable *cause = &diagnosis.unobservable[i];
        if (is_watched(cause->id))
            console_error(console, "--fail-on %s: not observable in this run: %s.",
                          cause->id, cause->reason);
    }
}

static int print(struct console *console, const struct report_input *input)
{
    const struct report_style style = report_style_for(STDOUT_FILENO);

    if (steps)
        return report_step_table(&console->out, input, &style, as_json);
    if (as_json)
        report_json(&console->out, input);
    else if (hot)
        report_hot_table(&console->out, input, &style);
    else if (epochs)
        report_epoch_table(&console->out, input, &style);
    else
        report_text(&console->out, input, &style);
    return 0;
}

static int report(struct console *console, struct ss_run *run,
                  const struct run_facts *facts, int64_t deadline_ns)
{
    struct step_courses courses = {0};
    struct feed feed;
    struct snapshot *snapshot;
    int failed = feed_observed(&feed, run, facts, html ? step_courses_add : NULL,
                               &courses, &snapshot);

    if (!failed) {
        const struct report_input input = {.snapshot = snapshot,
                                           .run = run,
                                           .facts = facts,
                                           .hooks = &feed.hooks,
                                           .deadline_ns = deadline_ns};
        const struct html_file file = {.path = html, .force = force};
        if (html)
            page_status = html_file_write(console, &file, &input, &courses);
        else
            failed = print(console, &input);
        if (fail_on)
            look_for_failure(console, &input);
    }
    snapshot_free(snapshot);
    feed_release(&feed);
    step_courses_release(&courses);
    return failed;
}

static int report_path(struct console *console, const char *path, int64_t deadline_ns)
{
    struct run_facts facts;
    struct ss_run *run = NULL;
    int failed = run_facts_load(&facts, path);

    if (!failed) {
        run = run_argument_open_recorded(console, &facts);
        failed = run ? report(console, run, &facts, deadline_ns) : SS_E_NOTRUN;
    }
    if (failed && (run || failed == SS_E_NOMEM))
        console_error(console, "cannot read run '%s': %s.", path, ss_error_text(failed));
    ss_run_close(run);
    run_facts_release(&facts);
    if (failed || page_status != EXIT_FINE)
        return failed ? EXIT_DATA : page_status;
    return has_failed ? EXIT_CHECK_FAILED : EXIT_FINE;
}

static bool is_usable(const struct console *console, int count, char **operands)
{
    if (epochs + hot + steps > 1)
        console_error(console,
                      "--epochs, --hot and --steps are tables of their own: give one.");
    else if (epochs && as_json)
        console_error(console, "--epochs is a table: --json alone has the epochs too.");
    else if (html && (epochs || hot || steps || as_json))
        console_error(console, "--html is a report of its own: give it alone.");
    else if (html && html[0] == '\0')
        console_error(console, "--html is empty: give a file, or - for standard output.");
    else if (count > 0 && operands[0][0] == '\0')
        console_error(console, "the RUN is empty. Without it, the newest run is "
                               "reported.");
    else
        return true;
    return false;
}

static int run(struct console *console, int count, char **operands)
{
    int64_t deadline_ns = 0;

    if (!is_usable(console, count, operands))
        return EXIT_USAGE;
    if (deadline && !duration_parse(deadline, &deadline_ns)) {
        console_error(console,
                      "--deadline takes a time such as " DURATION_EXAMPLES ", not '%s'.",
                      deadline);
        return EXIT_USAGE;
    }
    if (fail_on && !parse_fail_on(console))
        return EXIT_USAGE;
    char *path = run_argument_find(console, count > 0 ? operands[0] : NULL);
    if (!path)
        return EXIT_DATA;
    const int status = report_path(console, path, deadline_ns);
    free(path);
    return status;
}

static const struct cli_option options[] = {
    {.name = "json",
     .help = "one JSON object; docs/report.md says what is in it",
     .is_given = &as_json},
    {.name = "epochs", .help = "a table of all epochs", .is_given = &epochs},
    {.name = "hot",
     .help = "the lines of Python where each stage spent its time",
     .is_given = &hot},
    {.name = "steps",
     .help = "a table of all steps; with --json one object a line",
     .is_given = &steps},
    {.name = "html",
     .argument = "FILE",
     .help = "one HTML page with charts, which needs nothing else",
     .value = &html},
    {.name = "force",
     .letter = 'f',
     .help = "replace FILE if it is there already",
     .is_given = &force},
    {.name = "deadline",
     .argument = "T",
     .help = "say whether the whole run ends in " DURATION_EXAMPLES,
     .value = &deadline},
    {.name = "fail-on",
     .argument = "ID",
     .help = "exit code 1 if there is this finding; ID:10% from there on",
     .value = &fail_on},
    {0},
};

const struct command cmd_report = {
    .name = "report",
    .summary = "where the time of a run went",
    .operands = "[RUN]",
    .details =
        "Says which stage of a training step takes most of the time and how sure that\n"
        "is; then the step by stage, the run by segment, callbacks and spans by name,\n"
        "what changed over time and the slowest steps. RUN is a directory or the name\n"
        "of a run in stepscope-runs (or STEPSCOPE_DIR); without it, the newest one.\n"
        "Runs that go on, were killed or are damaged are reported as far as they go.\n",
    .options = options,
    .fewest = 0,
    .most = 1,
    .run = run,
};
