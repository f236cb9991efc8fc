#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/run_argument.h"
#include "cli/run_change.h"
#include "load/run_list.h"

static int rename_run(struct console *console, const char *path, const char *name)
{
    struct buf renamed = {0}, line = {0};
    struct ss_error error = {0};
    int failed;

    if (!run_list_is_run(path)) {
        console_error(console, "'%s' is not a run.", path);
        return EXIT_DATA;
    }
    if (run_change_is_live(path)) {
        console_error(console, "'%s' is still being recorded. Rename it when it has ended.", path);
        return EXIT_DATA;
    }
    failed = run_change_name(path, name, &renamed, &error);
    if (failed) {
        console_error(console, "%s.", error.message);
    } else {
        run_change_mend_latest(path, buf_text(&renamed));
        text_safe(&line, buf_text(&renamed), renamed.size);
        sink_printf(&console->out, "%s\n", buf_text(&line));
    }
    buf_release(&renamed);
    buf_release(&line);
    return failed ? EXIT_DATA : EXIT_FINE;
}

static int run(struct console *console, int count, char **operands)
{
    (void)count;
    if (operands[1][0] == '\0' || strchr(operands[1], '/')) {
        console_error(console, "NAME is %s.", operands[1][0] ? "a name, not a path" : "empty");
        return EXIT_USAGE;
    }
    char *path = run_argument_find_job(console, operands[0]);
    const int status = path ? rename_run(console, path, operands[1]) : EXIT_DATA;
    free(path);
    return status;
}

static const struct cli_option options[] = {{0}};

const struct command cmd_rename = {
    .name = "rename",
    .summary = "give a run another name",
    .operands = "RUN NAME",
    .details = "Renames a run and its directory, which keeps its date and time, and prints\n"
               "where it is now. RUN is the name of a run or its beginning, latest, latest~1\n"
               "or a directory.\n",
    .options = options,
    .fewest = 2,
    .most = 2,
    .run = run,
};
