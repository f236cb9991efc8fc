#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/run_argument.h"
#include "load/run_list.h"
#include "report/compare_report.h"

/* Where the runs of a side are; {0} is empty. */
struct run_paths {
    char **path;
    size_t count;
};

static void run_paths_release(struct run_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->path[i]);
    free(paths->path);
    *paths = (struct run_paths){0};
}

/* Takes the path over; false if memory is short. */
static bool add(struct run_paths *paths, char *path)
{
    char **more = path ? realloc(paths->path, (paths->count + 1) * sizeof *more) : NULL;

    if (!more) {
        free(path);
        return false;
    }
    paths->path = more;
    paths->path[paths->count++] = path;
    return true;
}

static bool is_folder(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The runs in a directory, by name. EXIT_FINE, also if there is none. */
static int add_folder(const struct console *console, const char *folder, struct run_paths *paths)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, NULL, alphasort);
    bool fits = true;

    for (int i = 0; i < count; i++) {
        char *path = NULL;
        if (fits && entries[i]->d_name[0] != '.') {
            fits = asprintf(&path, "%s/%s", folder, entries[i]->d_name) >= 0;
            if (fits && is_folder(path) && run_list_is_run(path))
                fits = add(paths, path);
            else if (fits)
                free(path);
        }
        free(entries[i]);
    }
    free(entries);
    if (!fits)
        console_error(console, "out of memory.");
    return fits ? EXIT_FINE : EXIT_DATA;
}

static int add_word(const struct console *console, const char *word, struct run_paths *paths)
{
    const size_t before = paths->count;
    char *path = run_argument_find(console, word);

    if (!path)
        return EXIT_DATA;
    if (is_folder(path) && !run_list_is_run(path)) {
        const int failed = add_folder(console, path, paths);
        if (failed || paths->count > before) {
            free(path);
            return failed;
        }
    }
    if (add(paths, path))
        return EXIT_FINE;
    console_error(console, "out of memory.");
    return EXIT_DATA;
}

/* Adds the runs that `word` stands for: one run, several with commas between them, or
 * a directory of runs (not the links in it). The newest one is "latest". EXIT_FINE, or
 * another after a message on stderr. */
static int side_argument_find(const struct console *console, const char *word,
                              struct run_paths *paths)
{
    struct stat status;
    int failed = EXIT_FINE;

    if (stat(word, &status) == 0)
        return add_word(console, word, paths);
    while (!failed) {
        const size_t size = strcspn(word, ",");
        char *part = strndup(word, size);
        if (size == 0 || !part) {
            console_error(
                console, "%s",
                part ? "a run is missing next to a comma. Give the runs of a side as RUN,RUN,RUN."
                     : "out of memory.");
            free(part);
            return part ? EXIT_USAGE : EXIT_DATA;
        }
        failed = add_word(console, part, paths);
        free(part);
        if (word[size] == '\0')
            break;
        word += size + 1;
    }
    return failed;
}

static bool as_json, as_markdown;
static double fail_if_slower = NAN;

static int take_limit(const char *text, struct ss_error *error)
{
    char *end;

    fail_if_slower = strtod(text, &end) / 100;
    if (end != text && strcmp(end, "%") == 0 && fail_if_slower >= 0 && fail_if_slower < 10)
        return 0;
    return error_set(error, SS_E_INVALID, "--fail-if-slower takes a share such as 3%%, not '%s'.",
                     text);
}

static int complain(const struct console *console, const char *path, const struct compare_run *run)
{
    if (run->steps == 0)
        console_error(
            console, "run '%s' has no steps to compare. 'stepscope report %s' shows what is in it.",
            path, path);
    else
        console_error(
            console,
            "run '%s' has too few steps to compare: %lld, of which %lld are steady; %lld more needed.",
            path, (long long)run->steps, (long long)run->steady_steps, (long long)run->missing);
    return EXIT_DATA;
}

/* Feeds the run and keeps of it what is compared. 0 or SS_E_NOMEM. */
static int take_run(struct compare_report *report, struct ss_run *run,
                    const struct run_facts *facts)
{
    const size_t place = report->run_count++;
    struct snapshot *snapshot;
    struct feed feed;
    int failed = snapshot_run(&feed, run, facts, &snapshot);

    report->names[place] = strdup(run_facts_name(facts));
    if (!failed)
        compare_take(&report->runs[place], snapshot, run);
    snapshot_free(snapshot);
    feed_release(&feed);
    if (!failed)
        failed = compare_facts_take(&report->facts[place], run);
    return failed || !report->names[place] ? SS_E_NOMEM : 0;
}

static int load_run(struct console *console, struct compare_report *report, const char *path)
{
    struct run_facts facts;
    struct ss_run *run = NULL;
    int failed = run_facts_load(&facts, path);

    if (!failed) {
        run = run_argument_open(console, facts.elsewhere ? facts.elsewhere : path);
        failed = run ? take_run(report, run, &facts) : SS_E_NOTRUN;
    }
    if (failed && failed != SS_E_NOTRUN)
        console_error(console, "cannot read run '%s': %s.", path, ss_error_text(failed));
    else if (run && ss_run_losses(run) > 0)
        console_error(console, "run '%s' is damaged: 'stepscope info %s' says where.", path, path);
    ss_run_close(run);
    run_facts_release(&facts);
    if (failed)
        return EXIT_DATA;
    const struct compare_run *taken = &report->runs[report->run_count - 1];
    return taken->steps == 0 || taken->class == WARMUP_TOO_FEW ? complain(console, path, taken)
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
                console_error(console,
                              "run '%s' is given twice. Record the command again for a second run.",
                              paths->path[i]);
                return true;
            }
        }
    return false;
}

static int find_sides(const struct console *console, struct compare_report *report, int count,
                      char **operands, struct run_paths *paths)
{
    for (int i = 0; i < count; i++) {
        struct compare_group *side = &report->side[report->side_count++];
        *side = (struct compare_group){.label = operands[i], .first = paths->count};
        const int failed = side_argument_find(console, operands[i], paths);
        if (failed)
            return failed;
        side->count = paths->count - side->first;
        if (side->count > COMPARE_MOST_RUNS) {
            console_error(console, "'%s' holds %zu runs. A side takes at most %d.", operands[i],
                          side->count, COMPARE_MOST_RUNS);
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
        compare_layers_release(&report->runs[i].layers);
        free(report->names[i]);
    }
    free(report->runs);
    free(report->facts);
    free(report->names);
}

static int print(struct console *console, struct compare_report *report)
{
    const struct style style = style_for(STDOUT_FILENO);

    compare_report_fill(report);
    if (as_json)
        compare_json(&console->out, report);
    else if (as_markdown)
        compare_markdown(&console->out, report);
    else
        compare_text(&console->out, report, &style);
    return compare_report_gate(report) == COMPARE_GATE_FAILED ? EXIT_CHECK_FAILED : EXIT_FINE;
}

static int run(struct console *console, int count, char **operands)
{
    struct compare_report report = {.gate = fail_if_slower};
    struct run_paths paths = {0};
    if (as_json && as_markdown) {
        console_error(console, "--json and --markdown are two forms of the answer: give one.");
        return EXIT_USAGE;
    }
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
    {.name = "json", .help = "one JSON object; see docs/compare.md", .is_given = &as_json},
    {.name = "markdown",
     .help = "for a pull request: the answer and small tables",
     .is_given = &as_markdown},
    {.name = "fail-if-slower",
     .argument = "P%",
     .help = "exit with status 1 if a side is more than P % slower",
     .take = take_limit},
    {0},
};

const struct command cmd_compare = {
    .name = "compare",
    .summary = "test whether a change made the training faster",
    .operands = "A B [C...]",
    .details = "Compares the steady steps of B, C, ... with those of A: first what differs\n"
               "between the runs and what disturbed them, then the step and each of its stages.\n"
               "Each of A, B, C is a side: a run by its name or directory, several runs of the\n"
               "same thing with commas between them (base~2,base~1,base), or a directory of\n"
               "such runs. Three runs per side make a test. Fewer give an indication, which\n"
               "never fails the gate.\n"
               "The answer is faster, slower, same (within 2 %) or inconclusive, with the\n"
               "number of runs that would decide it. Different batch sizes are compared per\n"
               "sample.\n",
    .options = options,
    .fewest = 2,
    .most = COMPARE_MOST_SIDES,
    .run = run,
};
