#include <stdbool.h>

#include "cli/command.h"
#include "cli/dump.h"
#include "cli/run_argument.h"

static bool as_json;

static void dump_all(struct dump *dump, struct ss_cursor *cursor)
{
    struct ss_record record;

    if (!as_json)
        dump_text_heading(dump);
    while (!dump->out->error && ss_cursor_next(cursor, &record)) {
        if (as_json)
            dump_json(dump, &record);
        else
            dump_text(dump, &record);
    }
}

static int run(struct console *console, int count, char **operands)
{
    (void)count;
    struct ss_run *opened = run_argument_open(console, operands[0]);
    if (!opened)
        return EXIT_DATA;

    int status = EXIT_DATA;
    struct ss_cursor *cursor = ss_cursor_new(opened, SS_ALL_LANES);
    if (cursor) {
        struct dump dump;
        dump_init(&dump, opened, &console->out);
        dump_all(&dump, cursor);
        dump_release(&dump);
        status = EXIT_FINE;
    } else {
        console_error(console, "cannot read run '%s': %s.", operands[0],
                      ss_error_text(SS_E_NOMEM));
    }
    if (ss_run_losses(opened) > 0)
        console_error(console,
                      "some of the run could not be read: 'stepscope info' says what.");
    ss_cursor_free(cursor);
    ss_run_close(opened);
    return status;
}

static const struct cli_option options[] = {
    {.name = "json",
     .help = "one JSON object a line, times in nanoseconds",
     .is_given = &as_json},
    {0},
};

const struct command cmd_dump = {
    .name = "dump",
    .summary = "all records of a run, in time order",
    .operands = "RUN",
    .details =
        "Prints every record of all processes and threads of a run, one a line, in the\n"
        "order of time. Times count from the start of the run; a span stands where it\n"
        "ended, and is indented by the spans that were open around it.\n"
        "What is still being recorded is printed up to 0.1 s ago.\n",
    .options = options,
    .fewest = 1,
    .most = 1,
    .run = run,
};
