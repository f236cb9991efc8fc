#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/run_argument.h"
#include "cli/run_change.h"
#include "load/run_list.h"
#include "render/units.h"

enum { MANY = 1000000000 };

static bool yes;
static int64_t older_ns;
static long keep = -1;

static int take_older(const char *text, struct ss_error *error)
{
    if (duration_parse(text, &older_ns))
        return 0;
    return error_set(error, SS_E_INVALID, "--older takes a time such as 30d or 12h, not '%s'.",
                     text);
}

static int take_keep(const char *text, struct ss_error *error)
{
    char *end;

    keep = strtol(text, &end, 10);
    if (isdigit((unsigned char)text[0]) && *end == '\0' && keep < MANY)
        return 0;
    return error_set(error, SS_E_INVALID, "--keep takes a number of runs, not '%s'.", text);
}

struct doomed {
    char **path;
    size_t count;
    uint64_t bytes;
};

/* Takes the path over. A run that goes on stays. */
static bool add(const struct console *console, struct doomed *doomed, char *path)
{
    char **more = path ? realloc(doomed->path, (doomed->count + 1) * sizeof *more) : NULL;

    if (!more) {
        free(path);
        console_error(console, "out of memory.");
        return false;
    }
    doomed->path = more;
    for (size_t i = 0; i < doomed->count; i++)
        if (strcmp(doomed->path[i], path) == 0) {
            free(path);
            return true;
        }
    if (run_change_is_live(path)) {
        console_error(console, "'%s' is still being recorded and stays.", path);
        free(path);
        return true;
    }
    uint64_t bytes = 0;
    const int unseen = file_tree_bytes(path, &bytes);
    if (unseen)
        console_error(console, "'%s' is larger than it says: %s.", path, strerror(unseen));
    doomed->bytes += bytes;
    doomed->path[doomed->count++] = path;
    return true;
}

static int add_named(const struct console *console, struct doomed *doomed, int count, char **words)
{
    for (int i = 0; i < count; i++) {
        char *path = run_argument_find_job(console, words[i]);
        if (path && !run_list_is_run(path)) {
            console_error(console, "'%s' is not a run, and nothing was removed.", path);
            free(path);
            return EXIT_DATA;
        }
        if (!path || !add(console, doomed, path))
            return EXIT_DATA;
    }
    return EXIT_FINE;
}

/* Those that are old enough, without the newest ones that are kept. */
static int add_old(const struct console *console, struct doomed *doomed)
{
    const int64_t before_s = (int64_t)time(NULL) - older_ns / 1000000000;
    struct run_list list;
    bool fits = run_list_load(&list, run_list_folder()) == 0;

    for (size_t i = keep > 0 ? (size_t)keep : 0; fits && i < list.count; i++) {
        char *path = NULL;
        if (older_ns > 0 && list.entry[i].created_s > before_s)
            continue;
        if (asprintf(&path, "%s/%s", list.folder, list.entry[i].directory) < 0)
            path = NULL;
        fits = add(console, doomed, path);
    }
    run_list_release(&list);
    return fits ? EXIT_FINE : EXIT_DATA;
}

/* Shows what goes and waits for an answer. */
static bool is_wanted(struct console *console, const struct doomed *doomed)
{
    char size[UNITS_SIZE], answer[16] = "";
    struct buf line = {0};

    for (size_t i = 0; i < doomed->count; i++) {
        buf_reset(&line);
        text_safe(&line, doomed->path[i], strlen(doomed->path[i]));
        sink_printf(&console->out, "  %s\n", buf_text(&line));
    }
    buf_release(&line);
    if (doomed->count == 1)
        sink_printf(&console->out, "Remove this run, %s? [y/N] ", units_bytes(size, doomed->bytes));
    else
        sink_printf(&console->out, "Remove these %zu runs, %s? [y/N] ", doomed->count,
                    units_bytes(size, doomed->bytes));
    (void)sink_flush(&console->out);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static int remove_all(struct console *console, const struct doomed *doomed)
{
    char size[UNITS_SIZE];
    size_t removed = 0;

    for (size_t i = 0; i < doomed->count; i++) {
        const int failed = file_tree_remove(doomed->path[i]);
        if (failed)
            console_error(console, "cannot remove '%s': %s.", doomed->path[i], strerror(failed));
        removed += failed == 0;
        run_change_mend_latest(doomed->path[i], NULL);
    }
    sink_printf(&console->out, "removed %zu %s, %s\n", removed, removed == 1 ? "run" : "runs",
                units_bytes(size, doomed->bytes));
    return removed == doomed->count ? EXIT_FINE : EXIT_DATA;
}

static int remove_wanted(struct console *console, const struct doomed *doomed)
{
    if (doomed->count == 0) {
        sink_text(&console->out, "no run to remove\n");
        return EXIT_FINE;
    }
    if (yes)
        return remove_all(console, doomed);
    if (!isatty(STDIN_FILENO)) {
        console_error(console,
                      "standard input is not a terminal: --yes removes %zu %s without asking.",
                      doomed->count, doomed->count == 1 ? "run" : "runs");
        return EXIT_USAGE;
    }
    if (is_wanted(console, doomed))
        return remove_all(console, doomed);
    sink_text(&console->out, "nothing was removed\n");
    return EXIT_FINE;
}

static int run(struct console *console, int count, char **operands)
{
    const bool by_age = older_ns > 0 || keep >= 0;
    struct doomed doomed = {0};

    if (count == 0 && !by_age) {
        console_error(console, "which runs? Name them, or give --older 30d or --keep 20.");
        return EXIT_USAGE;
    }
    if (count > 0 && by_age) {
        console_error(console, "--older and --keep select runs themselves: give no RUN with them.");
        return EXIT_USAGE;
    }
    int status = by_age ? add_old(console, &doomed) : add_named(console, &doomed, count, operands);
    if (status == EXIT_FINE)
        status = remove_wanted(console, &doomed);
    for (size_t i = 0; i < doomed.count; i++)
        free(doomed.path[i]);
    free(doomed.path);
    return status;
}

static const struct cli_option options[] = {
    {.name = "older",
     .argument = "T",
     .help = "all runs older than T, such as 30d",
     .take = take_older},
    {.name = "keep",
     .argument = "N",
     .help = "all but the newest N runs, however old",
     .take = take_keep},
    {.name = "yes", .letter = 'y', .help = "do not ask", .is_given = &yes},
    {0},
};

const struct command cmd_remove = {
    .name = "remove",
    .summary = "remove runs from disk",
    .operands = "[RUN...]",
    .details = "Removes the directories of runs, after asking. RUN is the name of a run or its\n"
               "beginning, latest, latest~1 or a directory; if several runs share a name, the\n"
               "newest. A run that is still being recorded is never removed.\n",
    .options = options,
    .fewest = 0,
    .most = MANY,
    .run = run,
};
