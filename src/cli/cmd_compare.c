#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/run_argument.h"
#include "cli/side_argument.h"
#include "output/compare_report.h"

static bool as_json;
static double fail_if_slower = NAN;

static int take_limit(const char *text, struct ss_error *error)
{
    char *end;

    fail_if_slower = strtod(text, &end) / 100;
    if (end != text && strcmp(end, "%") == 0 && fail_if_slower >= 0 &&
        fail_if_slower < 10)
        return 0;
    return error_set(error, SS_E_INVALID,
                     "--fail-if-slower takes a part such as 3%%, not '%s'.", text);
}

static int complain(const struct console *console, const char *path,
                    const struct compare_run *run)
{
    if (run->steps == 0)
        console_error(console,
                      "run '%s' has no steps to compare. 'stepscope report %s' says what "
                      "is in it.",
                      path, path);
    else
        console_error(console,
                      "run '%s' has too few steps to compare: %lld, of which %lld are "
                      "steady; %lld more are needed.",
                      path, (long long)run->steps, (long long)run->steady_steps,
                      (long long)run->missing);
    return EXIT_DATA;
}

/* Feeds the run and keeps of it what is compared. 0 or SS_E_NOMEM. */
static int take_run(struct compare_report *report, struct ss_run *run,
                    const struct run_facts *facts)
{
    const size_t place = report->run_count++;
    struct snapshot *snapshot;
    struct feed feed;
    int failed = feed_snapshot(&feed, run, facts, &snapshot);

    report->names[place] = strdup(run_facts_name(facts));
    if (!failed)
        compare_take(&report->runs[place], snapshot, run);
    snapshot_free(snapshot);
    feed_release(&feed);
    if (!failed)
        failed = compare_facts_take(&report->facts[place], run);
    return failed || !report->names[place] ? SS_E_NOMEM : 0;
}

static int load_run(struct console *console, struct compare_report *report,
                    const char *path)
{
    struct run_facts facts;
    struct ss_run *run = NULL;
    int failed = run_facts_load(&facts, path);

    if (!failed) {
        run = run_argument_open(console, facts.elsewhere ? facts.elsewhere : path);
        failed = run ? take_run(report, run, &facts) : SS_E_NOTRUN;
    }
    if (failed == SS_E_NOMEM)
        console_error(console, "cannot read run '%s': %s.", path, ss_error_text(failed));
    ss_run_close(run);
    run_facts_release(&facts);
    if (failed)
        return EXIT_DATA;
    const struct compare_run *taken = &report->runs[report->run_count - 1];
    return taken->steps == 0 || taken->class == WARMUP_TOO_FEW
               ? complain(console, path, taken)
               : EXIT_FINE;
}

/* A run that is given twice would vary less than two runs do. */
static bool is_twice(const struct console *console, const struct run_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        for (size_t k = 0; k < i; k++) {
            struct stat one, other;
            if (stat(paths->path[i], &one) == 0 && stat(paths->path[k], &other) == 0 &&
                one.st_dev == other.st_dev && one.st_ino == other.st_ino) {
                console_error(console, "run '%s' is given twice. Record it once more.",
                              paths->path[i]);
                return true;
            }
        }
    return false;
}

static int find_sides(const struct console *console, struct compare_report *report,
                      int count, char **operands, struct run_paths *paths)
{
    for (int i = 0; i < count; i++) {
        struct compare_group *side = &report->side[report->side_count++];
        *side = (struct compare_group){.label = operands[i], .first = paths->count};
        const int failed = side_argument_find(console, operands[i], paths);
        if (failed)
            return failed;
        side->count = paths->count - side->first;
        if (side->count > COMPARE_MOST_RUNS) {
            console_error(console, "'%s' are %zu runs. A side has %d at most.",
                          operands[i], side->count, COMPARE_MOST_RUNS);
            return EXIT_USAGE;
        }
    }
    return is_twice(console, paths) ? EXIT_USAGE : EXIT_FINE;
}

static int load_sides(struct console *console, struct compare_report *report,
                      const struct run_paths *paths)
{
    const size_t count = paths->count > 0 ? paths->count : 1;
    int failed = EXIT_FINE;

    report->runs = calloc(count, sizeof *report->runs);
    report->facts = calloc(count, sizeof *report->facts);
    report->names = calloc(count, sizeof *report->names);
    if (!report->runs || !report->facts || !report->names) {
        console_error(console, "out of memory.");
        return EXIT_DATA;
    }
    for (size_t i = 0; i < paths->count && !failed; i++)
        failed = load_run(console, report, paths->path[i]);
    return failed;
}

static void release(struct compare_report *report)
{
    for (size_t i = 0; i < report->run_count; i++) {
        compare_facts_release(&report->facts[i]);
        free(report->names[i]);
    }
    free(report->runs);
    free(report->facts);
    free(report->names);
}

static int print(struct console *console, struct compare_report *report)
{
    const struct report_style style = report_style_for(STDOUT_FILENO);

    compare_report_fill(report);
    if (as_json)
        compare_json(&console->out, report);
    else
        compare_text(&console->out, report, &style);
    return compare_report_gate(report) == COMPARE_GATE_FAILED ? EXIT_CHECK_FAILED
                                                              : EXIT_FINE;
}

static int run(struct console *console, int count, char **operands)
{
    struct compare_report report = {.gate = fail_if_slower};
    struct run_paths paths = {0};
    int status = find_sides(console, &report, count, operands, &paths);

    if (status == EXIT_FINE)
        status = load_sides(console, &report, &paths);
    if (status == EXIT_FINE)
        status = print(console, &report);
    release(&report);
    run_paths_release(&paths);
    return status;
}

static const struct cli_option options[] = {
    {.name = "json",
     .help = "one JSON object; docs/compare.md says what is in it",
     .is_given = &as_json},
    {.name = "fail-if-slower",
     .argument = "P%",
     .help = "exit with 1 if a side is slower by more than P %",
     .take = take_limit},
    {0},
};

const struct command cmd_compare = {
    .name = "compare",
    .summary = "whether a change made the training faster or slower",
    .operands = "A B [C...]",
    .details =
        "Compares the steady steps of B, C, ... with those of A: first what differs\n"
        "around the runs and what disturbed them, then the step and each of its stages.\n"
        "Each of A, B, C is a side: a run, several runs of the same thing with commas\n"
        "between them (base1,base2,base3), or a directory of such runs. Three runs a\n"
        "side are a test. With fewer there is an indication, which fails no gate.\n"
        "The answer is faster, slower, same (by less than 2 %) or inconclusive, with\n"
        "the number of runs that would tell. Different batch sizes are compared per\n"
        "sample.\n",
    .options = options,
    .fewest = 2,
    .most = COMPARE_MOST_SIDES,
    .run = run,
};
