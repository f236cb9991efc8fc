/* The table of commands: one is found, its options are parsed, and it runs. */
#include <stdbool.h>
#include <string.h>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/options.h"

const struct command *const commands[] = {
    &cmd_run,  &cmd_report, &cmd_compare, &cmd_try,  &cmd_sweep,  &cmd_list, &cmd_ranks,
    &cmd_join, &cmd_rename, &cmd_remove,  &cmd_pack, &cmd_export, &cmd_info, &cmd_import,
    &cmd_dump, &cmd_doctor, &cmd_explain, &cmd_demo, &cmd_help,   NULL};

const struct command *command_find(const struct console *console, const char *name)
{
    struct suggestion suggestion = suggest_start(name, strlen(name));

    for (const struct command *const *c = commands; *c; c++) {
        if (strcmp((*c)->name, name) == 0)
            return *c;
        suggest_try(&suggestion, (*c)->name);
    }
    if (suggestion.best)
        console_error(console, "unknown command '%s'. Did you mean '%s'?", name, suggestion.best);
    else
        console_error(console, "unknown command '%s'. 'stepscope help' lists all commands.", name);
    return NULL;
}

static bool operands_fit(const struct console *console, const struct command *command, int count,
                         char **operands)
{
    if (count < command->fewest)
        console_error(console, "%s is missing. " HELP_USAGE, command->operands,
                      HELP_USAGE_OF(command));
    else if (count > command->most)
        console_error(console, "unexpected argument '%s'. " HELP_USAGE, operands[command->most],
                      HELP_USAGE_OF(command));
    else
        return true;
    return false;
}

int command_run(struct console *console, const struct command *command, int count, char **words)
{
    struct ss_error error = {0};

    console->command = command->name;
    if (!command->ends_in_command) /* whose command goes on, whatever we cannot do */
        memory_guard();
    int parsed = (command->ends_in_command ? options_parse_leading : options_parse)(
        command->options, &count, words, &error);
    if (parsed == OPTIONS_HELP) {
        help_command(&console->out, command);
        return EXIT_FINE;
    }
    if (parsed < 0) {
        console_error(console, "%s 'stepscope %s --help' lists the options.", error.message,
                      command->name);
        return EXIT_USAGE;
    }
    if (!operands_fit(console, command, count, words))
        return EXIT_USAGE;
    return command->run(console, count, words);
}
