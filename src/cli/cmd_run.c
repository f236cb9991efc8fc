#include <limits.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/duration.h"
#include "cli/command.h"
#include "supervise/signals.h"
#include "supervise/supervise.h"

enum {
    SIGNAL_EXIT = 128
}; /* as a shell says it, for the case that we cannot die ourselves */

static const char *dir, *name, *every, *deadline;
static bool quiet, strict;

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

static int run(struct console *console, int count, char **words)
{
    struct sink err;
    struct supervision wish = {
        .place = {.parent = dir, .name = name, .command = words},
        .quiet = quiet,
        .strict = strict,
        .err = &err,
        .say = say,
        .context = console,
    };
    struct supervision_end end;

    if (!parse_time(console, "every", every, &wish.every_ns) ||
        !parse_time(console, "deadline", deadline, &wish.deadline_ns) ||
        !is_filled(console, "dir", dir) || !is_filled(console, "name", name))
        return EXIT_USAGE;
    words[count] = NULL;
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
