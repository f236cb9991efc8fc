/* The two ends of a command: what it prints (stdout) and what it says when something is wrong
 * (stderr). Nothing else in the project prints. */
#ifndef CLI_CONSOLE_H
#define CLI_CONSOLE_H

#include "base/compiler.h"
#include "base/sink.h"

/* What the tool returns to the shell. */
enum exit_code { EXIT_FINE = 0, EXIT_CHECK_FAILED = 1, EXIT_USAGE = 2, EXIT_DATA = 3 };

struct console {
    const char *command; /* "info"; NULL: the tool itself */
    struct sink out;
};

void console_init(struct console *console);

/* One line on stderr: "stepscope info: ...", made safe for a terminal. Messages say what is wrong,
 * where, and what to do next. */
void console_error(const struct console *console, const char *format, ...)
    ATTR_PRINTF(2, 3);

/* Writes what is left and returns the exit code: `status`, or EXIT_DATA with a message if the
 * output could not be written. A reader that has seen enough (| head) is no error. */
int console_finish(struct console *console, int status);

#endif
