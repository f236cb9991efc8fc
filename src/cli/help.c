#include "cli/help.h"

#include <string.h>

void help_overview(struct sink *out)
{
    sink_text(out, "Stepscope tells where the time of a training run goes.\n"
                   "\n"
                   "Usage: stepscope COMMAND [OPTIONS] ...\n"
                   "\n"
                   "Commands:\n");
    for (const struct command *const *c = commands; *c; c++)
        sink_printf(out, "  %-10s %s\n", (*c)->name, (*c)->summary);
    sink_text(
        out,
        "\n"
        "'stepscope COMMAND --help' says more; 'stepscope --version' which this is.\n"
        "Exit codes: 0 fine, 1 a check failed, 2 wrong usage, 3 data that can not be\n"
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
