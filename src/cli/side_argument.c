#include "cli/side_argument.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/run_argument.h"

void run_paths_release(struct run_paths *paths)
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

static bool is_file_of_run(const char *name)
{
    const size_t size = strlen(name), suffix = strlen(SS_FILE_SUFFIX);

    return strcmp(name, "manifest") == 0 ||
           (size > suffix && strcmp(name + size - suffix, SS_FILE_SUFFIX) == 0);
}

static bool is_run(const char *path)
{
    DIR *folder = opendir(path);
    bool found = false;

    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry && !found;
         entry = readdir(folder))
        found = is_file_of_run(entry->d_name);
    if (folder)
        closedir(folder);
    return found;
}

static bool is_folder(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The runs in a directory, by name. EXIT_FINE, also if there is none. */
static int add_folder(const struct console *console, const char *folder,
                      struct run_paths *paths)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, NULL, alphasort);
    bool fits = true;

    for (int i = 0; i < count; i++) {
        char *path = NULL;
        if (fits && entries[i]->d_name[0] != '.') {
            fits = asprintf(&path, "%s/%s", folder, entries[i]->d_name) >= 0;
            if (fits && is_folder(path) && is_run(path))
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

static int add_word(const struct console *console, const char *word,
                    struct run_paths *paths)
{
    const size_t before = paths->count;
    char *path = run_argument_find(console, word);

    if (!path)
        return EXIT_DATA;
    if (is_folder(path) && !is_run(path)) {
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

int side_argument_find(const struct console *console, const char *word,
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
            console_error(console, "%s",
                          part ? "a run is missing beside a comma. Runs of "
                                 "a side are given as RUN,RUN,RUN."
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
