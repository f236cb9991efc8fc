#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/html_file.h"
#include "supervise/signals.h"
#include "supervise/supervise.h"

enum {
    SIGNAL_EXIT = 128
}; /* as a shell says it, for the case that we cannot die ourselves */

static const char *dir, *name, *every, *deadline, *tensorboard;
static bool quiet, strict, force, device_events;
static const char *html;
static int64_t deadline_ns;

static void say(void *console, const char *message)
{
    console_error(console, "%s", message);
}

static bool parse_time(const struct console *console, const char *option,
                       const char *text, int64_t *ns)
{
    if (!text || duration_parse(text, ns))
        return true;
    console_error(console, "--%s takes a time such as " DURATION_EXAMPLES ", not '%s'.",
                  option, text);
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

/* The page, and the last line of the summary that says where it is. */
static void write_page(void *console, const char *run_path)
{
    const struct html_file file = {.path = html, .force = force};
    struct buf line = {0};
    struct sink err;

    if (html_file_write_run(console, &file, run_path, deadline_ns) != EXIT_FINE || quiet)
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
    console_error(console, "--html takes a file: standard output is the command's own.");
    return false;
}

static int run(struct console *console, int count, char **words)
{
    struct sink err;
    struct supervision wish = {
        .place = {.parent = dir, .name = name, .command = words},
        .quiet = quiet,
        .strict = strict,
        .tensorboard = tensorboard,
        .err = &err,
        .say = say,
        .done = html ? write_page : NULL,
        .context = console,
    };
    struct supervision_end end;

    if (!parse_time(console, "every", every, &wish.every_ns) ||
        !parse_time(console, "deadline", deadline, &wish.deadline_ns) ||
        !is_filled(console, "dir", dir) || !is_filled(console, "name", name) ||
        !is_filled(console, "tensorboard", tensorboard) ||
        !is_filled(console, "html", html) || (html && !page_can_be_written(console)))
        return EXIT_USAGE;
    deadline_ns = wish.deadline_ns;
    words[count] = NULL;
    if (device_events)
        (void)setenv("STEPSCOPE_DEVICE_EVENTS", "1", 1);
    sink_init_fd(&err, STDERR_FILENO);
    supervise(&wish, &end);
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
     .help = "where runs are kept, instead of stepscope-runs",
     .value = &dir},
    {.name = "name",
     .argument = "NAME",
     .help = "what the run is called, instead of the command",
     .value = &name},
    {.name = "quiet", .letter = 'q', .help = "print nothing at all", .is_given = &quiet},
    {.name = "every",
     .argument = "T",
     .help = "print a status line each " DURATION_EXAMPLES,
     .value = &every},
    {.name = "deadline",
     .argument = "T",
     .help = "say whether the whole run will end in time",
     .value = &deadline},
    {.name = "tensorboard",
     .argument = "DIR",
     .help = "write curves for TensorBoard into DIR while it runs",
     .value = &tensorboard},
    {.name = "html",
     .argument = "FILE",
     .help = "write the report as an HTML page when it has ended",
     .value = &html},
    {.name = "force",
     .letter = 'f',
     .help = "replace FILE if it is there already",
     .is_given = &force},
    {.name = "device-events",
     .help = "time what a GPU does with CUDA events (PyTorch)",
     .is_given = &device_events},
    {.name = "strict", .help = "do not run what cannot be recorded", .is_given = &strict},
    {0},
};

const struct command cmd_run = {
    .name = "run",
    .summary = "run a command, record it and sum it up",
    .operands = "[--] COMMAND ...",
    .details =
        "Runs the command and records where its time goes. Input, output, signals and\n"
        "exit code are the command's own. The summary goes to stderr when it has ended;\n"
        "the run is kept in stepscope-runs/DATE-TIME-NAME, the newest one also as\n"
        "stepscope-runs/latest. STEPSCOPE_DIR names another place, as --dir does.\n",
    .options = options,
    .fewest = 1,
    .most = INT_MAX,
    .ends_in_command = true,
    .run = run,
};
