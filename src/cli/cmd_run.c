#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "base/redact_pattern.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/html_file.h"
#include "supervise/mpi_preload.h"
#include "supervise/signals.h"
#include "supervise/supervise.h"

enum { SIGNAL_EXIT = 128 }; /* as a shell says it, for the case that we cannot die ourselves */

static const char *dir, *name, *job, *every, *deadline, *tensorboard, *redact;
static bool quiet, strict, force, device_events, no_layers, unpacked, ops, no_ops, keep_traces, mpi,
    no_mpi;
static const char *html;
static int64_t deadline_ns;
static struct step_courses courses; /* of all steps, for the page */

static void say(void *console, const char *message)
{
    console_error(console, "%s", message);
}

static bool parse_time(const struct console *console, const char *option, const char *text,
                       int64_t *ns)
{
    if (!text || duration_parse(text, ns))
        return true;
    console_error(console, "--%s takes a time such as " DURATION_EXAMPLES ", not '%s'.", option,
                  text);
    return false;
}

/* Names are made safe; one that says nothing is most likely a variable that was not set. */
static bool is_filled(const struct console *console, const char *option, const char *text)
{
    if (!text || *text)
        return true;
    console_error(console, "--%s is empty.", option);
    return false;
}

/* All processes of the command read it from their environment. */
static bool set_redact(const struct console *console)
{
    const char *pattern = redact ? redact : getenv(REDACT_VARIABLE);
    struct ss_error error = {0};

    if (pattern && redact_pattern_check(pattern, &error) != 0) {
        console_error(console, "%s: %s", redact ? "--redact" : REDACT_VARIABLE, error.message);
        return false;
    }
    if (redact)
        (void)setenv(REDACT_VARIABLE, redact, 1);
    return true;
}

static void take_step(void *console, const struct model_step *step)
{
    (void)console;
    step_courses_add(&courses, step);
}

/* The page, and the last line of the summary that says where it is. */
static void write_page(void *console, const char *run_path, const struct analysis *analysis)
{
    const struct html_file file = {.path = html, .force = force};
    struct buf line = {0};
    struct sink err;

    if ((analysis ? html_file_write(console, &file, analysis, &courses)
                  : html_file_write_run(console, &file, run_path, deadline_ns)) != EXIT_FINE ||
        quiet)
        return;
    sink_init_fd(&err, STDERR_FILENO);
    buf_add_text(&line, "page    ");
    text_safe(&line, html, strlen(html));
    sink_printf(&err, "%s\n", buf_text(&line));
    (void)sink_flush(&err);
    buf_release(&line);
}

static bool page_can_be_written(const struct console *console)
{
    const struct html_file file = {.path = html, .force = force};

    if (strcmp(html, "-") != 0)
        return html_file_check(console, &file) == EXIT_FINE;
    console_error(console, "--html needs a file: standard output belongs to the command.");
    return false;
}

/* Whether the command's processes record calls of MPI; false: not as it is asked for. */
static bool choose_mpi(const struct console *console)
{
    struct buf path = {0};

    if (mpi && no_mpi) {
        console_error(console, "--mpi and --no-mpi exclude each other.");
        return false;
    }
    if (mpi)
        mpi_preload_find(&path);
    const bool is_missing = mpi && path.size == 0;
    buf_release(&path);
    if (is_missing)
        console_error(console,
                      "--mpi needs libstepscope-mpi.so, which `make install` installs; this "
                      "stepscope does not have it.");
    else if (mpi || no_mpi)
        (void)setenv("STEPSCOPE_MPI", mpi ? "1" : "0", 1);
    return !is_missing;
}

static int run(struct console *console, int count, char **words)
{
    struct supervision wish = {
        .place = {.parent = dir, .name = name, .command = words},
        .job = job,
        .quiet = quiet,
        .strict = strict,
        .unpacked = unpacked,
        .keep_traces = keep_traces,
        .tensorboard = tensorboard,
        .say = say,
        .done = html ? write_page : NULL,
        .seen = html ? take_step : NULL,
        .context = console,
    };
    struct supervision_end end;

    if (!parse_time(console, "every", every, &wish.every_ns) ||
        !parse_time(console, "deadline", deadline, &wish.deadline_ns) ||
        !is_filled(console, "dir", dir) || !is_filled(console, "name", name) ||
        !is_filled(console, "job", job) || !is_filled(console, "tensorboard", tensorboard) ||
        !is_filled(console, "html", html) || !is_filled(console, "redact", redact) ||
        !set_redact(console) || (html && !page_can_be_written(console)) || !choose_mpi(console))
        return EXIT_USAGE;
    if (ops && no_ops) {
        console_error(console, "--ops and --no-ops exclude each other.");
        return EXIT_USAGE;
    }
    deadline_ns = wish.deadline_ns;
    words[count] = NULL;
    if (ops || no_ops)
        (void)setenv("STEPSCOPE_OPS", ops ? "now" : "never", 1);
    if (device_events)
        (void)setenv("STEPSCOPE_DEVICE_EVENTS", "1", 1);
    if (no_layers)
        (void)setenv("STEPSCOPE_LAYERS", "0", 1);
    supervise(&wish, &end);
    step_courses_release(&courses);
    if (end.refused)
        return EXIT_DATA;
    if (end.signal == 0)
        return end.exit_code;
    signals_die_by(end.signal);
    return SIGNAL_EXIT + end.signal;
}

static const struct cli_option options[] = {
    {.name = "dir",
     .argument = "DIR",
     .help = "keep runs in DIR (default: stepscope-runs)",
     .value = &dir},
    {.name = "name",
     .argument = "NAME",
     .help = "name of the run (default: from the command)",
     .value = &name},
    {.name = "job",
     .argument = "ID",
     .help = "job of this launch (default: from the launcher)",
     .value = &job},
    {.name = "quiet", .letter = 'q', .help = "print nothing", .is_given = &quiet},
    {.name = "every",
     .argument = "T",
     .help = "print a status line every " DURATION_EXAMPLES,
     .value = &every},
    {.name = "deadline",
     .argument = "T",
     .help = "check whether the whole run will end in time",
     .value = &deadline},
    {.name = "tensorboard",
     .argument = "DIR",
     .help = "write TensorBoard curves to DIR during the run",
     .value = &tensorboard},
    {.name = "html",
     .argument = "FILE",
     .help = "write the report as an HTML page at the end",
     .value = &html},
    {.name = "force", .letter = 'f', .help = "overwrite FILE if it exists", .is_given = &force},
    {.name = "device-events",
     .help = "time GPU work with CUDA events (PyTorch)",
     .is_given = &device_events},
    {.name = "redact",
     .argument = "REGEX",
     .help = "hide what matches in arguments, names and marks",
     .value = &redact},
    {.name = "ops", .help = "profile a few steps by operation (PyTorch)", .is_given = &ops},
    {.name = "no-ops", .help = "never profile operations", .is_given = &no_ops},
    {.name = "keep-traces",
     .help = "keep the trace files of that profiling",
     .is_given = &keep_traces},
    {.name = "no-layers", .help = "do not sample the layers of the model", .is_given = &no_layers},
    {.name = "mpi",
     .help = "record calls of MPI (default: below mpirun and mpiexec)",
     .is_given = &mpi},
    {.name = "no-mpi", .help = "do not record calls of MPI", .is_given = &no_mpi},
    {.name = "no-pack",
     .help = "do not compress the run (older versions read it)",
     .is_given = &unpacked},
    {.name = "strict",
     .help = "do not run the command if it cannot be recorded",
     .is_given = &strict},
    {0},
};

const struct command cmd_run = {
    .name = "run",
    .summary = "run a command, record it and summarise it",
    .operands = "[--] COMMAND ...",
    .details = "Runs the command and records where its time goes. Input, output, signals and\n"
               "exit code are the command's own. A summary goes to stderr at the end;\n"
               "the run is kept in stepscope-runs/DATE-TIME-NAME, the newest one also as\n"
               "stepscope-runs/latest. STEPSCOPE_DIR names another place, as --dir does.\n",
    .options = options,
    .fewest = 1,
    .most = INT_MAX,
    .ends_in_command = true,
    .run = run,
};
