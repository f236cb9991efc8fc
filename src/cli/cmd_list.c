#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "cli/command.h"
#include "cli/run_argument.h"
#include "load/run_list.h"
#include "report/list_runs.h"

static bool as_json;

/* Of a run that goes on, or of which no supervisor saw the end: from its records. */
static void read_records(struct list_row *row, const char *path)
{
    const struct run_facts *facts = &row->entry->facts;
    struct ss_run *run = run_argument_open_quietly(facts, path);
    struct snapshot *snapshot = NULL;
    struct analysis analysis;
    struct feed feed = {0};

    if (run && snapshot_run(&feed, run, facts, &snapshot) == 0) {
        analysis_make(&analysis, snapshot, run, facts, &feed.hooks);
        analysis_result(&analysis, &row->result);
        row->state = report_state(&analysis);
    }
    snapshot_free(snapshot);
    feed_release(&feed);
    ss_run_close(run);
}

static int fill(const struct console *console, struct list_row *row, const char *folder,
                const struct run_entry *entry)
{
    struct buf path = {0};

    *row = (struct list_row){.entry = entry, .result = entry->result, .state = REPORT_ENDED};
    buf_printf(&path, "%s/%s", folder, entry->directory);
    if (!path.failed) {
        const int unseen = file_tree_bytes(path.data, &row->bytes);
        if (unseen)
            console_error(console, "'%s' is larger than it says: %s.", path.data, strerror(unseen));
        if (!entry->has_result || entry->facts.ended_ns == 0) {
            row->state = REPORT_UNKNOWN;
            read_records(row, path.data);
        }
    }
    const int failed = path.failed ? SS_E_NOMEM : 0;
    buf_release(&path);
    return failed;
}

static int list_runs(struct console *console, const struct run_list *list)
{
    const struct style style = style_for(STDOUT_FILENO);
    struct list_row *rows = calloc(list->count > 0 ? list->count : 1, sizeof *rows);
    int failed = rows ? 0 : SS_E_NOMEM;

    for (size_t i = 0; i < list->count && !failed; i++)
        failed = fill(console, &rows[i], list->folder, &list->entry[i]);
    if (!failed && as_json)
        list_runs_json(&console->out, list->folder, rows, list->count);
    else if (!failed && list->count > 0)
        list_runs_text(&console->out, rows, list->count, &style);
    free(rows);
    return failed;
}

static int run(struct console *console, int count, char **operands)
{
    const char *folder = count > 0 ? operands[0] : run_list_folder();
    struct run_list list;
    int failed = run_list_load(&list, folder);

    if (!failed && list.count == 0 && !as_json)
        console_error(console,
                      "there is no run in '%s' yet. 'stepscope run -- COMMAND' records one.",
                      folder);
    if (!failed)
        failed = list_runs(console, &list);
    if (failed)
        console_error(console, "%s.", ss_error_text(failed));
    run_list_release(&list);
    return failed ? EXIT_DATA : EXIT_FINE;
}

static const struct cli_option options[] = {
    {.name = "json", .help = "an array of objects, newest run first", .is_given = &as_json},
    {0},
};

const struct command cmd_list = {
    .name = "list",
    .summary = "list the recorded runs, newest first",
    .operands = "[DIR]",
    .details = "Lists the runs in stepscope-runs (or STEPSCOPE_DIR, or DIR): when each began,\n"
               "its name and command, steps, median step, samples per second, verdict, size\n"
               "on disk and how it ended. Columns that do not fit the terminal are left out.\n",
    .options = options,
    .fewest = 0,
    .most = 1,
    .run = run,
};
