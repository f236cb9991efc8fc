#include <stdbool.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/run_argument.h"
#include "report/info.h"
#include "summary/snapshot_run.h"

static bool as_json, hooks;

static void print(struct console *console, const struct tally *tally,
                  const struct analysis *analysis)
{
    if (as_json)
        info_json(&console->out, tally, analysis);
    else
        info_text(&console->out, tally, analysis, hooks);
}

static int info(struct console *console, struct ss_run *run, const struct run_facts *facts)
{
    struct feed feed;
    struct snapshot *snapshot;
    struct tally tally;
    int failed = snapshot_run(&feed, run, facts, &snapshot);

    if (!failed) {
        struct analysis analysis;
        analysis_make(&analysis, snapshot, run, facts, &feed.hooks);
        failed = tally_gather(&tally, run, facts->path);
        if (!failed)
            print(console, &tally, &analysis);
        tally_release(&tally);
    }
    snapshot_free(snapshot);
    feed_release(&feed);
    return failed;
}

static int info_path(struct console *console, const char *path)
{
    struct ss_run *run = run_argument_open(console, path);
    struct run_facts facts;

    if (!run)
        return EXIT_DATA;
    int failed = run_facts_load(&facts, path);
    if (!failed)
        failed = info(console, run, &facts);
    if (failed)
        console_error(console, "cannot read run '%s': %s.", path, ss_error_text(failed));
    ss_run_close(run);
    run_facts_release(&facts);
    return failed ? EXIT_DATA : EXIT_FINE;
}

static int run(struct console *console, int count, char **operands)
{
    char *path = run_argument_find(console, count > 0 ? operands[0] : NULL);
    const int status = path ? info_path(console, path) : EXIT_DATA;

    free(path);
    return status;
}

static const struct cli_option options[] = {
    {.name = "json", .help = "one JSON object, with every process and lane", .is_given = &as_json},
    {.name = "hooks", .help = "the name of each installed hook", .is_given = &hooks},
    {0},
};

const struct command cmd_info = {
    .name = "info",
    .summary = "show what is in a run and whether it is complete",
    .operands = "[RUN]",
    .details = "Shows what a run holds: how long it took and how it ended, whether anything was\n"
               "lost, steps and spans by stage, processes, the clock, the recording cost, and\n"
               "which spans are open in a run that hangs or was killed.\n" RUN_ARGUMENT_HELP,
    .options = options,
    .fewest = 0,
    .most = 1,
    .run = run,
};
