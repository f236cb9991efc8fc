#include <string.h>

#include "cli/command.h"

void help_overview(struct sink *out)
{
    sink_text(out, "Stepscope tells you why a training run is slow.\n"
                   "\n"
                   "Usage: stepscope COMMAND [OPTIONS] ...\n"
                   "\n"
                   "Commands:\n");
    for (const struct command *const *c = commands; *c; c++)
        sink_printf(out, "  %-10s %s\n", (*c)->name, (*c)->summary);
    sink_text(out, "\n"
                   "'stepscope COMMAND --help' shows details, 'stepscope --version' the version.\n"
                   "Exit codes: 0 success, 1 a check failed, 2 wrong usage, 3 data that cannot be\n"
                   "read or written.\n");
}

enum { NARROWEST = 18 }; /* column of the options */

/* Of "-q, --quiet" or "    --dir DIR". */
static int width_of(const struct cli_option *option)
{
    const size_t argument = option->argument ? 1 + strlen(option->argument) : 0;

    return (int)(6 + strlen(option->name) + argument);
}

static void option_line(struct sink *out, const struct cli_option *option, int width)
{
    struct buf left = {0};

    if (option->letter)
        buf_printf(&left, "-%c, ", option->letter);
    else
        buf_add_text(&left, "    ");
    buf_printf(&left, "--%s", option->name);
    if (option->argument)
        buf_printf(&left, " %s", option->argument);
    sink_printf(out, "  %-*s  %s\n", width, buf_text(&left), option->help);
    buf_release(&left);
}

void help_command(struct sink *out, const struct command *command)
{
    static const struct cli_option help = {
        .name = "help", .letter = 'h', .help = "print this text"};

    int width = NARROWEST;

    sink_printf(out, HELP_USAGE "\n\n", HELP_USAGE_OF(command));
    sink_text(out, command->details);
    if (command->list)
        command->list(out);
    sink_text(out, "\nOptions:\n");
    for (const struct cli_option *o = command->options; o->name; o++)
        width = width_of(o) > width ? width_of(o) : width;
    for (const struct cli_option *o = command->options; o->name; o++)
        option_line(out, o, width);
    option_line(out, &help, width);
}

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
    .summary = "list the commands, or explain one",
    .operands = "[COMMAND]",
    .details = "Lists the commands, or explains one of them.\n",
    .options = options,
    .fewest = 0,
    .most = 1,
    .run = run,
};
