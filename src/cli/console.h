/* The two ends of a command: what it prints (stdout), and what it says when something is wrong or
 * takes long (stderr). Only the supervisor prints too. */
#ifndef CLI_CONSOLE_H
#define CLI_CONSOLE_H

#include <stdbool.h>
#include <stdint.h>

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
void console_error(const struct console *console, const char *format, ...) ATTR_PRINTF(2, 3);

/* Writes what is left and returns the exit code: `status`, or EXIT_DATA with a message if the
 * output could not be written. A reader that has seen enough (| head) is no error. */
int console_finish(struct console *console, int status);

/* How far long work has come, in one line on stderr that is written over and taken away at the end.
 * Only on a terminal, and only for what takes longer than a moment; Ctrl-C takes it away too. */
struct progress {
    const char *what; /* "exporting" */
    bool is_terminal;
    bool shown;
    int64_t start_ns, last_ns;
};

/* `what` must outlive it. */
void progress_begin(struct progress *progress, const char *what);

/* `done`: 0 to 1. `progress` is a struct progress, for those who call it through a pointer. */
void progress_show(void *progress, double done);
void progress_end(struct progress *progress);

/* No result is printed or written once memory has run out.
 *
 * Hundreds of places allocate, and many have something sensible to do without: a column narrower, a
 * table less. That is right for a training, but a report that lacks a part and does not say so is
 * wrong. So a command that is guarded writes nothing more after the first allocation that failed,
 * wherever it was, says that memory ran out, and ends with EXIT_DATA.
 *
 * From now on, for the whole process. */
void memory_guard(void);

#endif
