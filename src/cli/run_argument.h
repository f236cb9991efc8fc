/* Opens the RUN that a command was given. */
#ifndef CLI_RUN_ARGUMENT_H
#define CLI_RUN_ARGUMENT_H

#include "cli/console.h"
#include "stepscope/reader.h"

/* NULL after a message on stderr that says why and what to do. */
struct ss_run *run_argument_open(const struct console *console, const char *path);

#endif
