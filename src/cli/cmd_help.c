#include "cli/help.h"

static int run(struct console *console, int count, char **operands)
{
    if (count == 0) {
        help_overview(&console->out);
        return EXIT_FINE;
    }
    const struct command *command = command_find(console, operands[0]);
    if (!command)
        return EXIT_USAGE;
    help_command(&console->out, command);
    return EXIT_FINE;
}

static const struct cli_option options[] = {{0}};

const struct command cmd_help = {
    .name = "help",
    .summary = "this list, or the help of one command",
    .operands = "[COMMAND]",
    .details = "Lists the commands, or explains one of them.\n",
    .options = options,
    .fewest = 0,
    .most = 1,
    .run = run,
};
