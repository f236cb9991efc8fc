/* stepscope: options of the tool itself, or a command. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/options.h"
#include "supervise/gpus.h"
#include "supervise/watcher.h"

/* Options of the tool itself, in place of a command. */
static int run_tool(struct console *console, int count, char **words)
{
    bool version = false;
    const struct cli_option options[] = {{.name = "version", .letter = 'V', .is_given = &version},
                                         {0}};
    struct ss_error error;
    int first = 1;
    int parsed = options_parse(options, &first, words, &error);

    if (parsed == OPTIONS_HELP)
        return command_run(console, &cmd_help, count - 1, words + 1);
    if (parsed == 0 && version) {
        sink_text(&console->out, "stepscope " SS_VERSION "\n");
        return EXIT_FINE;
    }
    console_error(console, "%s Options of a command follow its name; 'stepscope help' lists all.",
                  parsed < 0 ? error.message : "the command is missing.");
    return EXIT_USAGE;
}

static int explain_usage(void)
{
    struct sink err;

    sink_init_fd(&err, STDERR_FILENO);
    help_overview(&err);
    sink_flush(&err);
    return EXIT_USAGE;
}

/* For our own package (supervise/watcher.h), so that no list has it. */
static int watch(int count, char **words)
{
    const long pid = count == 2 ? strtol(words[1], NULL, 10) : 0;

    if (pid <= 0)
        return EXIT_USAGE;
    return watcher_start(words[0], (pid_t)pid) == 0 ? EXIT_FINE : EXIT_DATA;
}

static int dispatch(struct console *console, int count, char **words)
{
    if (count <= 0)
        return explain_usage();
    if (words[0][0] == '-')
        return run_tool(console, count, words);
    if (strcmp(words[0], WATCHER_COMMAND) == 0)
        return watch(count - 1, words + 1);
    const struct command *command = command_find(console, words[0]);
    return command ? command_run(console, command, count - 1, words + 1) : EXIT_USAGE;
}

int main(int argc, char **argv)
{
    struct console console;

    console_init(&console);
    const int code = console_finish(&console, dispatch(&console, argc - 1, argv + 1));
    if (gpus_left_behind()) { /* exit() would run into what hangs */
        (void)fflush(NULL);
        _exit(code);
    }
    return code;
}
