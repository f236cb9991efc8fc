#include <stdbool.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/run_argument.h"
#include "report/dump.h"

static bool as_json;

static void dump_all(struct dump *dump, struct ss_cursor *cursor)
{
    struct ss_record record;

    if (!as_json)
        dump_text_heading(dump);
    while (!dump->out->error && ss_cursor_next(cursor, &record))
        if (as_json)
            dump_json(dump, &record);
        else
            dump_text(dump, &record);
}

static int dump(struct console *console, const char *path)
{
    struct ss_run *run = run_argument_open(console, path);
    int status = EXIT_DATA;

    if (!run)
        return EXIT_DATA;
    struct ss_cursor *cursor = ss_cursor_new(run, SS_ALL_LANES);
    if (cursor) {
        struct dump dump;
        dump_init(&dump, run, &console->out);
        dump_all(&dump, cursor);
        dump_release(&dump);
        status = EXIT_FINE;
    } else {
        console_error(console, "cannot read run '%s': %s.", path, ss_error_text(SS_E_NOMEM));
    }
    if (ss_run_losses(run) > 0)
        console_error(console, "part of the run could not be read: 'stepscope info' shows which.");
    ss_cursor_free(cursor);
    ss_run_close(run);
    return status;
}

static int run(struct console *console, int count, char **operands)
{
    char *path = run_argument_find(console, count > 0 ? operands[0] : NULL);
    const int status = path ? dump(console, path) : EXIT_DATA;

    free(path);
    return status;
}

static const struct cli_option options[] = {
    {.name = "json",
     .help = "one JSON object per line, times in nanoseconds",
     .is_given = &as_json},
    {0},
};

const struct command cmd_dump = {
    .name = "dump",
    .summary = "print all records of a run in time order",
    .operands = "[RUN]",
    .details = "Prints every record of all processes and threads of a run, one per line, in\n"
               "time order. Times count from the start of the run; a span is printed where it\n"
               "ended, indented under the spans that were open around it.\n"
               "A live run is printed up to 0.1 s ago.\n" RUN_ARGUMENT_HELP,
    .options = options,
    .fewest = 0,
    .most = 1,
    .run = run,
};
