#include "cli/run_argument.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read/run.h"

static const char latest[] = "latest";

static const char *runs_dir(void)
{
    const char *dir = getenv("STEPSCOPE_DIR");

    return dir && *dir ? dir : "stepscope-runs";
}

static bool exists(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0;
}

/* PARENT/NAME; if that is a link to a run beside it, the name of that run. */
static char *path_of(const char *parent, const char *name)
{
    char target[NAME_MAX + 1];
    char *path;

    if (asprintf(&path, "%s/%s", parent, name) < 0)
        return NULL;
    ssize_t size = readlink(path, target, sizeof target);
    if (size <= 0 || size >= (ssize_t)sizeof target || memchr(target, '/', (size_t)size))
        return path;
    free(path);
    return asprintf(&path, "%s/%.*s", parent, (int)size, target) < 0 ? NULL : path;
}

char *run_argument_find(const struct console *console, const char *word)
{
    char *path;

    if (word && (exists(word) || strchr(word, '/')))
        path = strdup(word);
    else
        path = path_of(runs_dir(), word ? word : latest);
    if (path && exists(path))
        return path;
    if (!path)
        console_error(console, "out of memory.");
    else if (word && strcmp(word, latest) != 0)
        console_error(
            console,
            "there is no run '%s', neither here nor in '%s'. A run is the "
            "directory that 'stepscope run', STEPSCOPE_RUN or ss_start() named.",
            word, runs_dir());
    else
        console_error(console,
                      "there is no run in '%s' yet. 'stepscope run -- COMMAND' records "
                      "one; or give the directory of a run.",
                      runs_dir());
    free(path);
    return NULL;
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
        console_error(console, "'%s' is one file of a run. Give the directory: '%.*s'.",
                      path, directory > 0 ? directory : 1, slash ? path : ".");
    else
        console_error(
            console,
            "'%s' is a file. A run is a directory with *" SS_FILE_SUFFIX " files.", path);
}

static const char *advice(int code)
{
    switch (code) {
    case SS_E_NOTFOUND:
        return "A run is the directory that STEPSCOPE_RUN or ss_start() named.";
    case SS_E_NOTRUN:
        return "Was anything recorded into it?";
    case SS_E_ACCESS:
        return "A run belongs to the user who recorded it: try as that user.";
    case SS_E_VERSION:
        return "Read it with the stepscope that wrote it, or a newer one.";
    case SS_E_DAMAGED:
        return "Nothing of it can be read.";
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
 * the end; until then, or if nobody was left to do it, they are still there. */
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
    console_error(console,
                  "%s files of this run are in '%s' of the host that recorded it.",
                  run ? "newer" : "the", facts->elsewhere);
    return run;
}
