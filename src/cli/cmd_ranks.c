#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/job_argument.h"
#include "cli/run_argument.h"
#include "diagnose/finding.h"
#include "job/part_of_run.h"
#include "report/report_job.h"
#include "summary/snapshot_run.h"

static bool as_json, as_csv;
static const char *by;

static bool parse_order(const struct console *console, struct job_table *table)
{
    if (!by || strcmp(by, "blame") == 0)
        return true;
    if (strcmp(by, "host") == 0) {
        table->order = JOB_BY_HOST;
        return true;
    }
    for (unsigned i = 0; i < SS_STAGE_COUNT; i++)
        if (strcmp(by, ss_stage_text(i)) == 0) {
            table->order = JOB_BY_STAGE;
            table->stage = i;
            return true;
        }
    console_error(console, "--by takes blame, host or a stage such as forward, not '%s'.", by);
    return false;
}

/* A run that has all ranks in itself, as if it were a job of one launch. */
static bool load_run(const struct console *console, const char *path, struct job_view *view)
{
    static struct diagnosis none;
    struct run_facts facts;
    struct feed feed = {0};
    struct snapshot *snapshot = NULL;
    struct job_part part = {.clock_error_ns = -1};
    int failed = run_facts_load(&facts, path);
    struct ss_run *run = failed ? NULL : run_argument_open_recorded(console, &facts);

    failed = run ? snapshot_run(&feed, run, &facts, &snapshot) : SS_E_NOTRUN;
    if (!failed) {
        const struct ss_text host = ss_run_info(run, 0, "host");
        (void)strncat(part.host, host.size > 0 ? host.data : "",
                      host.size < sizeof part.host ? host.size : sizeof part.host - 1);
        (void)strncat(part.job, run_facts_name(&facts), sizeof part.job - 1);
        failed = part_of_run(&part, snapshot, run, &none);
    }
    if (!failed)
        failed = job_view_add(view, &part);
    if (!failed)
        failed = job_view_finish(view, NULL);
    if (failed && failed != SS_E_NOTRUN)
        console_error(console, "cannot read run '%s': %s.", path, ss_error_text(failed));
    part_release(&part);
    snapshot_free(snapshot);
    feed_release(&feed);
    ss_run_close(run);
    run_facts_release(&facts);
    return !failed;
}

static int print(struct console *console, const struct job_table *table)
{
    const struct style style = style_for(STDOUT_FILENO);

    if (table->job->rank_count == 0) {
        console_error(console,
                      "no process here is a rank: a launcher sets RANK, or the like, for each.");
        return EXIT_DATA;
    }
    if (as_json)
        report_job_json(&console->out, table);
    else if (as_csv)
        report_job_csv(&console->out, table);
    else
        report_job_table(&console->out, table, &style);
    return EXIT_FINE;
}

static int run(struct console *console, int count, char **operands)
{
    struct job_view view = {0};
    struct job_table table = {.job = &view};

    if (as_json && as_csv) {
        console_error(console, "--json and --csv are separate outputs: give one of them.");
        return EXIT_USAGE;
    }
    if (!parse_order(console, &table))
        return EXIT_USAGE;
    char *path = run_argument_find_job(console, count > 0 ? operands[0] : NULL);
    if (!path)
        return EXIT_DATA;
    const bool is_known = job_argument_is_job(path) ? job_argument_load(console, path, &view)
                                                    : load_run(console, path, &view);
    const int status = is_known ? print(console, &table) : EXIT_DATA;
    job_view_release(&view);
    free(path);
    return status;
}

static const struct cli_option options[] = {
    {.name = "by",
     .argument = "WHAT",
     .help = "order by blame (default) or a stage; host: a row per host",
     .value = &by},
    {.name = "json", .help = "all rows as one JSON object", .is_given = &as_json},
    {.name = "csv", .help = "all rows as CSV", .is_given = &as_csv},
    {0},
};

const struct command cmd_ranks = {
    .name = "ranks",
    .summary = "compare the ranks or hosts of a job",
    .operands = "[JOB]",
    .details = "Shows for each rank its own work per step (without communication), how long it\n"
               "waits for the last one, and how long the others wait for it.\n"
               "JOB is a job, a run with several ranks, or a file of parts (*.ssj).\n",
    .options = options,
    .fewest = 0,
    .most = 1,
    .run = run,
};
