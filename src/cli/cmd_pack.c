#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/run_argument.h"
#include "cli/run_change.h"
#include "load/run_facts.h"
#include "load/run_list.h"
#include "load/run_pack.h"
#include "render/units.h"

static bool unpack;

static void say(struct console *console, const char *path, const struct run_pack *pack)
{
    char before[UNITS_SIZE], after[UNITS_SIZE];
    struct buf shown = {0};

    text_safe(&shown, path, strlen(path));
    sink_printf(&console->out, "%s  ", buf_text(&shown));
    if (pack->changed > 0)
        sink_printf(&console->out, "%s, was %s\n", units_bytes(after, pack->after),
                    units_bytes(before, pack->before));
    else if (pack->was_so > 0)
        sink_printf(&console->out, "%s already\n", unpack ? "unpacked" : "packed");
    else
        sink_printf(&console->out, "holds nothing to %s\n", unpack ? "unpack" : "pack");
    if (pack->written > 0)
        console_error(console, "%u file%s of '%s' %s still being written; skipped.",
                      (unsigned)pack->written, pack->written == 1 ? "" : "s", buf_text(&shown),
                      pack->written == 1 ? "is" : "are");
    buf_release(&shown);
}

static int change(struct console *console, const char *path)
{
    struct run_facts facts;
    struct ss_error error = {0};
    int status = EXIT_DATA;

    if (!run_list_is_run(path)) {
        console_error(console, "'%s' is not a run.", path);
        return EXIT_DATA;
    }
    if (run_change_is_live(path)) {
        console_error(console, "'%s' is still being recorded. Pack it when it has ended.", path);
        return EXIT_DATA;
    }
    if (run_facts_load(&facts, path) != 0) {
        console_error(console, "cannot read run '%s'.", path);
    } else {
        struct run_pack pack = {.path = facts.elsewhere ? facts.elsewhere : path, .undo = unpack};
        if (run_pack(&pack, &error) != 0) {
            console_error(console, "%s.", error.message);
        } else {
            say(console, path, &pack);
            status = EXIT_FINE;
        }
    }
    run_facts_release(&facts);
    return status;
}

static int run(struct console *console, int count, char **operands)
{
    int status = EXIT_FINE;

    for (int i = 0; i < count; i++) {
        char *path = run_argument_find(console, operands[i]);
        if (!path || change(console, path) != EXIT_FINE)
            status = EXIT_DATA;
        free(path);
    }
    return status;
}

static const struct cli_option options[] = {
    {.name = "unpack", .letter = 'u', .help = "undo it", .is_given = &unpack},
    {0},
};

const struct command cmd_pack = {
    .name = "pack",
    .summary = "compress runs on disk, with nothing lost",
    .operands = "RUN...",
    .details = "Compresses the files of runs that have ended and prints their size before and\n"
               "after. 'stepscope run' packs each run when it ends; use this for older ones.\n"
               "Nothing is lost: a packed run reads the same, and --unpack restores the same\n"
               "bytes, which older versions of stepscope need. RUN is the name of a run or its\n"
               "beginning, latest, latest~1 or a directory.\n",
    .options = options,
    .fewest = 1,
    .most = INT_MAX,
    .run = run,
};
