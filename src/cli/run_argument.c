#include "cli/run_argument.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/run_text.h"
#include "cli/job_argument.h"
#include "cli/options.h"
#include "load/run_list.h"
#include "read/run.h"
#include "report/report_parts.h"

enum { SHOWN_MOST = 10 };

static bool exists(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0;
}

static char *path_of(const char *folder, const char *name)
{
    char *path;

    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static void complain_about_several(const struct console *console, const struct run_list *list,
                                   const char *word, size_t size)
{
    struct buf names = {0};
    size_t found = 0;

    for (size_t i = 0; i < list->count; i++)
        if (run_entry_begins_with(&list->entry[i], word, size) && ++found <= SHOWN_MOST)
            buf_printf(&names, "%s%s", found > 1 ? ", " : "", list->entry[i].directory);
    console_error(console, "'%s' matches %zu runs: %s%s.", word, found, buf_text(&names),
                  found > SHOWN_MOST ? ", and more that 'stepscope list' shows" : "");
    buf_release(&names);
}

static void complain_about_none(const struct console *console, const struct run_list *list,
                                const char *word)
{
    struct suggestion suggestion = suggest_start(word, strlen(word));

    if (list->count == 0 && (strncmp(word, RUN_LATEST, strlen(RUN_LATEST)) == 0)) {
        console_error(
            console,
            "there is no run in '%s' yet. 'stepscope run -- COMMAND' records one; or give the directory of a run.",
            list->folder);
        return;
    }
    for (size_t i = 0; i < list->count; i++)
        suggest_try(&suggestion, list->entry[i].name);
    if (suggestion.best)
        console_error(console, "there is no run '%s', neither here nor in '%s'. Did you mean '%s'?",
                      word, list->folder, suggestion.best);
    else
        console_error(
            console,
            "there is no run '%s', neither here nor in '%s'. 'stepscope list' shows all runs.",
            word, list->folder);
}

/* The path of the run that the word stands for among those of the folder. */
static char *find_in(const struct console *console, const struct run_list *list, const char *word)
{
    const struct run_match_result match = run_list_find(list, word);

    if (match.kind == RUN_MATCH_SEVERAL) {
        complain_about_several(console, list, word, match.prefix);
        return NULL;
    }
    char *path = path_of(list->folder,
                         match.kind == RUN_MATCH_ONE ? list->entry[match.index].directory : word);
    if (!path)
        console_error(console, "out of memory.");
    else if (match.kind == RUN_MATCH_ONE || exists(path))
        return path;
    else if (exists(word)) {
        free(path);
        return strdup(word);
    } else
        complain_about_none(console, list, word);
    free(path);
    return NULL;
}

char *run_argument_find_job(const struct console *console, const char *word)
{
    struct run_list list;
    char *path = NULL;

    if (word && !*word) {
        console_error(console, "the RUN is empty. 'stepscope list' shows all runs.");
        return NULL;
    }
    if (word && exists(word) && (strchr(word, '/') || run_list_is_run(word)))
        return strdup(word);
    if (run_list_load(&list, run_list_folder()) != 0)
        console_error(console, "out of memory.");
    else
        path = find_in(console, &list, word ? word : RUN_LATEST);
    run_list_release(&list);
    return path;
}

char *run_argument_find(const struct console *console, const char *word)
{
    char *path = run_argument_find_job(console, word);
    struct job_view view = {0};

    if (!path || !job_argument_is_job(path))
        return path;
    char *run = job_argument_load(console, path, &view) ? job_argument_run(&view, path, -1) : NULL;
    if (run)
        console_error(console, "'%s' is a job: this is its run '%s'.", path, run);
    else if (view.launch_count > 0)
        console_error(
            console,
            "'%s' is a job, and no records of its ranks are here. 'stepscope report' and 'stepscope ranks' read it.",
            path);
    job_view_release(&view);
    free(path);
    return run;
}

static bool is_file(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text);

    return size >= strlen(end) && strcmp(text + size - strlen(end), end) == 0;
}

/* A file where a directory is wanted: most likely someone's finger slipped on one of its files. */
static void complain_about_file(const struct console *console, const char *path)
{
    const char *slash = strrchr(path, '/');
    int directory = slash ? (int)(slash - path) : 1;

    if (ends_with(path, SS_FILE_SUFFIX))
        console_error(console, "'%s' is one file of a run. Give the directory: '%.*s'.", path,
                      directory > 0 ? directory : 1, slash ? path : ".");
    else
        console_error(console,
                      "'%s' is a file. A run is a directory with *" SS_FILE_SUFFIX " files.", path);
}

static const char *advice(int code)
{
    switch (code) {
    case SS_E_NOTFOUND:
        return "'stepscope list' shows all runs.";
    case SS_E_NOTRUN:
        return "Was anything recorded into it?";
    case SS_E_ACCESS:
        return "A run belongs to the user who recorded it: try as that user.";
    case SS_E_VERSION:
        return "Read it with the stepscope that wrote it, or a newer one.";
    case SS_E_DAMAGED:
        return "None of it can be read.";
    case SS_E_LIMIT:
        return "'ulimit -n' says how many files may be open.";
    case SS_E_NOMEM:
        return "Try on a machine with more memory.";
    default:
        return "Is the device or the file system all right?";
    }
}

struct ss_run *run_argument_open(const struct console *console, const char *path)
{
    struct ss_error error = {0};

    if (is_file(path)) {
        complain_about_file(console, path);
        return NULL;
    }
    struct ss_run *run = ss_run_open(path, &error);
    if (!run)
        console_error(console, "cannot open %s. %s", error.message, advice(error.code));
    return run;
}

/* On a network file system the processes record elsewhere, and their files are brought home at
 * the end; until then, or if the supervisor was killed, they are still there. */
struct ss_run *run_argument_open_recorded(const struct console *console,
                                          const struct run_facts *facts)
{
    struct ss_run *run = NULL;

    if (!facts->elsewhere) {
        /* a supervisor was there: it is a run, even if nothing was recorded into it */
        run = facts->pid > 0 ? run_open_empty(facts->path, NULL) : NULL;
        return run ? run : run_argument_open(console, facts->path);
    }
    run = run_open_empty(facts->elsewhere, NULL);
    if (run)
        return run;
    run = ss_run_open(facts->path, NULL);
    console_error(console, "%s files of this run are in '%s' of the host that recorded it.",
                  run ? "newer" : "the", facts->elsewhere);
    return run;
}

struct ss_run *run_argument_open_quietly(const struct run_facts *facts, const char *path)
{
    const char *place = facts->elsewhere ? facts->elsewhere : path;
    struct ss_run *run = ss_run_open(place, NULL);

    return run || facts->pid == 0 ? run : run_open_empty(place, NULL);
}

void run_argument_say_missing(const struct console *console, const struct ss_run *run,
                              const char *path)
{
    const struct report_losses losses = report_losses(run);

    if (!report_is_whole(&losses))
        console_error(console, "part of the run is missing: 'stepscope info %s' shows which.",
                      path);
}
