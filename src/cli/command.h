/* What a command is: one const in cmd_NAME.c and a line in the table of commands.c. Its help text,
 * the list of commands and the parsing of its options come from here; there is no second place. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "base/sink.h"
#include "cli/console.h"
#include "cli/options.h"

struct command {
    const char *name;
    const char *summary;            /* for the list: one line, no full stop */
    const char *operands;           /* for the usage line: "RUN"; "": none */
    const char *details;            /* for --help: whole lines of at most 80 columns */
    void (*list)(struct sink *out); /* more such lines, from a table; NULL: none */
    const struct cli_option *options;
    int fewest, most;     /* operands */
    bool ends_in_command; /* the operands are a command with options of its own */
    int (*run)(struct console *console, int count, char **operands); /* enum exit_code */
};

extern const struct command *const commands[]; /* ends with NULL */

extern const struct command cmd_compare;
extern const struct command cmd_demo;
extern const struct command cmd_doctor;
extern const struct command cmd_dump;
extern const struct command cmd_explain;
extern const struct command cmd_export;
extern const struct command cmd_help;
extern const struct command cmd_import;
extern const struct command cmd_info;
extern const struct command cmd_join;
extern const struct command cmd_list;
extern const struct command cmd_pack;
extern const struct command cmd_ranks;
extern const struct command cmd_remove;
extern const struct command cmd_rename;
extern const struct command cmd_report;
extern const struct command cmd_run;
extern const struct command cmd_sweep;
extern const struct command cmd_try;

/* The command of this name, or NULL after a message on stderr. */
const struct command *command_find(const struct console *console, const char *name);

/* Parses its options and operands, and runs it. enum exit_code. */
int command_run(struct console *console, const struct command *command, int count, char **words);

/* Help texts are made from these tables (cmd_help.c). The usage: a format, and what it takes of a
 * command. */
#define HELP_USAGE "Usage: stepscope %s [OPTIONS]%s%s"
#define HELP_USAGE_OF(command) (command)->name, *(command)->operands ? " " : "", (command)->operands

void help_overview(struct sink *out);
void help_command(struct sink *out, const struct command *command);

#endif
