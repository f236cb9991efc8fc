/* Help texts, made from the tables of the commands. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "base/sink.h"
#include "cli/command.h"

/* With the name of a command and its operands. */
#define HELP_USAGE "Usage: stepscope %s [OPTIONS] %s"

void help_overview(struct sink *out);
void help_command(struct sink *out, const struct command *command);

#endif
