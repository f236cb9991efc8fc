#include <stdbool.h>

#include "cli/command.h"
#include "cli/info.h"
#include "cli/run_argument.h"

static bool as_json;

static int run(struct console *console, int count, char **operands)
{
    (void)count;
    struct ss_run *opened = run_argument_open(console, operands[0]);
    if (!opened)
        return EXIT_DATA;

    struct tally tally;
    int failed = tally_gather(&tally, opened, operands[0]);
    if (failed)
        console_error(console, "cannot read run '%s': %s.", operands[0],
                      ss_error_text(failed));
    else if (as_json)
        info_json(&console->out, &tally);
    else
        info_text(&console->out, &tally);
    tally_release(&tally);
    ss_run_close(opened);
    return failed ? EXIT_DATA : EXIT_FINE;
}

static const struct cli_option options[] = {
    {.name = "json",
     .help = "one JSON object, with every process and lane",
     .is_given = &as_json},
    {0},
};

const struct command cmd_info = {
    .name = "info",
    .summary = "what is in a run: how long, how much, is it whole",
    .operands = "RUN",
    .details =
        "Says what a run holds: how long it took and how it ended, whether anything was\n"
        "lost, steps and spans by stage, processes, the clock, what recording cost, and\n"
        "which spans are open in a run that hangs or was killed.\n",
    .options = options,
    .fewest = 1,
    .most = 1,
    .run = run,
};
