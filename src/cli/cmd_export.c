#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/out_file.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/options.h"
#include "cli/run_argument.h"
#include "export/export.h"

/* Said of formats that are not there. */
#ifdef SS_NANOPB
#define NOT_BUILT ""
#else
#define NOT_BUILT " Perfetto and TensorBoard need a stepscope built with nanopb."
#endif

static bool force;

static void complain_about_format(const struct console *console, const char *name)
{
    struct suggestion suggestion = suggest_start(name, strlen(name));
    struct buf list = {0};

    for (const struct export_format *const *f = export_formats; *f; f++) {
        suggest_try(&suggestion, (*f)->name);
        buf_printf(&list, "%s%s", f == export_formats ? "" : ", ", (*f)->name);
    }
    console_error(console, "unknown format '%s'. Available: %s." NOT_BUILT "%s%s%s", name,
                  buf_text(&list), suggestion.best ? " Did you mean '" : "",
                  suggestion.best ? suggestion.best : "", suggestion.best ? "'?" : "");
    buf_release(&list);
}

static int write_file(const struct export_format *format, const struct export_job *job,
                      const char *path, struct ss_error *error)
{
    struct out_file file;
    int failed = out_file_open(&file, path, force, error);

    if (failed)
        return failed;
    failed = format->write(job, &file.sink);
    if (!failed)
        return out_file_finish(&file, error);
    out_file_discard(&file);
    return error_set(error, failed, "cannot export the run: %s.", ss_error_text(failed));
}

static int export_run(const struct export_format *format, const char *path, struct ss_run *run,
                      const struct run_facts *facts, struct buf *missing, struct ss_error *error)
{
    /* Where the rows themselves are shown, a bar would be among them. */
    const bool on_screen = strcmp(path, "-") == 0 && isatty(STDOUT_FILENO);
    struct progress progress;
    const struct export_job job = {.run = run,
                                   .facts = facts,
                                   .force = force,
                                   .missing = missing,
                                   .progress = on_screen ? NULL : progress_show,
                                   .context = &progress};

    progress_begin(&progress, "exporting");
    const int failed = format->write ? write_file(format, &job, path, error)
                                     : format->write_directory(&job, path, error);
    progress_end(&progress);
    return failed;
}

/* A file does not show by itself that there was, or will be, more. */
static void say_what_is_missing(const struct console *console, const struct ss_run *run,
                                const char *path, const struct buf *missing)
{
    if (missing->size > 0)
        console_error(console, "%s.", buf_text(missing));
    if (ss_run_is_live(run))
        console_error(console, "the run is still being recorded: exported what it has so far.");
    run_argument_say_missing(console, run, path);
}

static int export_path(struct console *console, const struct export_format *format,
                       const char *path, const char *to)
{
    struct ss_error error = {0};
    struct buf missing = {0};
    struct run_facts facts;
    int failed = run_facts_load(&facts, path);
    struct ss_run *run = failed ? NULL : run_argument_open_recorded(console, &facts);

    if (failed)
        console_error(console, "cannot read run '%s': %s.", path, ss_error_text(failed));
    if (run) {
        failed = export_run(format, to, run, &facts, &missing, &error);
        if (failed)
            console_error(console, "%s", error.message);
        else
            say_what_is_missing(console, run, path, &missing);
    }
    buf_release(&missing);
    ss_run_close(run);
    run_facts_release(&facts);
    if (failed == SS_E_BUSY)
        return EXIT_USAGE;
    return failed || !run ? EXIT_DATA : EXIT_FINE;
}

static bool is_usable(const struct console *console, const struct export_format *format,
                      const char *to)
{
    const bool to_stdout = strcmp(to, "-") == 0;

    if (to[0] == '\0')
        console_error(console, "OUT is empty: give a file, or - for standard output.");
    else if (to_stdout && format->write_directory)
        console_error(console, "%s writes a directory of files: give its name as OUT.",
                      format->name);
    else if (to_stdout && format->is_binary && isatty(STDOUT_FILENO))
        console_error(console,
                      "refusing to write %s to a terminal: give a file, or pipe it to a program.",
                      format->name);
    else
        return true;
    return false;
}

static int run(struct console *console, int count, char **operands)
{
    const struct export_format *format = export_find(operands[0]);

    (void)count;
    if (!format) {
        complain_about_format(console, operands[0]);
        return EXIT_USAGE;
    }
    if (!is_usable(console, format, operands[2]))
        return EXIT_USAGE;
    char *path = run_argument_find(console, operands[1]);
    const int status = path ? export_path(console, format, path, operands[2]) : EXIT_DATA;
    free(path);
    return status;
}

static void list_formats(struct sink *out)
{
    sink_text(out, "\nFORMAT is one of:\n");
    for (const struct export_format *const *f = export_formats; *f; f++)
        sink_printf(out, "  %-11s  %s\n", (*f)->name, (*f)->summary);
}

static const struct cli_option options[] = {
    {.name = "force", .letter = 'f', .help = "overwrite existing files", .is_given = &force},
    {0},
};

const struct command cmd_export = {
    .name = "export",
    .summary = "convert a run for other tools",
    .operands = "FORMAT RUN OUT",
    .details = "Writes a run in a format that other tools read. RUN is the name of a run or its\n"
               "beginning, latest, latest~1 (the one before), or a directory. OUT is a file,\n"
               "which is written atomically, or - for standard output. Live, killed and damaged\n"
               "runs are exported as far as they can be read.\n",
    .list = list_formats,
    .options = options,
    .fewest = 3,
    .most = 3,
    .run = run,
};
