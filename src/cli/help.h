/* Help texts, made from the tables of the commands. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "base/sink.h"
#include "cli/command.h"

/* A format, and what it takes of a command. */
#define HELP_USAGE "Usage: stepscope %s [OPTIONS]%s%s"
#define HELP_USAGE_OF(command)                                                           \
    (command)->name, *(command)->operands ? " " : "", (command)->operands

void help_overview(struct sink *out);
void help_command(struct sink *out, const struct command *command);

#endif
