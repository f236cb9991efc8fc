#include "load/run_list.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/run_text.h"
#include "read/manifest.h"

enum { FILE_MOST = 65536 };

const char *run_list_folder(void)
{
    const char *dir = getenv("STEPSCOPE_DIR");

    return dir && *dir ? dir : "stepscope-runs";
}

static bool is_file_of_run(const char *name)
{
    const size_t size = strlen(name), suffix = strlen(SS_FILE_SUFFIX);

    return strcmp(name, "manifest") == 0 ||
           (size > suffix && strcmp(name + size - suffix, SS_FILE_SUFFIX) == 0);
}

/* 0, or an errno; whether it is a run is then not known. */
static int look_for_files(const char *path, bool *found)
{
    DIR *folder = opendir(path);
    const struct dirent *entry = NULL;
    int failed = folder ? 0 : errno;

    *found = false;
    do {
        errno = 0;
        entry = folder ? readdir(folder) : NULL;
        if (entry)
            *found = is_file_of_run(entry->d_name);
        else if (!failed)
            failed = errno;
    } while (entry && !*found);
    if (folder)
        closedir(folder);
    return failed;
}

bool run_list_is_run(const char *path)
{
    bool found;

    return look_for_files(path, &found) == 0 && found;
}

static char *copy_of(struct ss_text text, const char *otherwise)
{
    return text.size > 0 ? strndup(text.data, text.size) : strdup(otherwise);
}

/* "2026-11-15T18:35:12Z"; -1 if it is anything else. */
static int64_t seconds_of(struct ss_text text)
{
    char copy[32];
    struct tm parts = {0};

    if (text.size == 0 || text.size >= sizeof copy)
        return -1;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    const char *end = strptime(copy, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return end && *end == '\0' ? (int64_t)timegm(&parts) : -1;
}

static int64_t changed_ns(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0)
        return 0;
    return (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
}

static int take_manifest(struct run_entry *entry, const char *run)
{
    struct buf path = {0}, text = {0};
    struct manifest facts = {0};
    struct text_store store = {0};

    buf_printf(&path, "%s/manifest", run);
    int failed = path.failed ? SS_E_NOMEM
                             : error_code_of_errno(small_file_read(path.data, FILE_MOST, &text));
    if (!failed)
        failed = manifest_add_lines(&facts, &store, (struct ss_text){buf_text(&text), text.size});
    if (!failed) {
        entry->name =
            copy_of(manifest_find(&facts, "name"), run_name_of_directory(entry->directory));
        entry->command = copy_of(manifest_find(&facts, "command"), "");
        entry->created_s = seconds_of(manifest_find(&facts, "created"));
        entry->changed_ns = changed_ns(text.size > 0 ? buf_text(&path) : run);
        if (entry->created_s < 0)
            entry->created_s = entry->changed_ns / 1000000000;
        failed = entry->name && entry->command ? 0 : SS_E_NOMEM;
    }
    manifest_release(&facts);
    text_store_release(&store);
    buf_release(&text);
    buf_release(&path);
    return failed;
}

static int take_entry(struct run_list *list, const char *directory, char *path)
{
    struct run_entry *more = realloc(list->entry, (list->count + 1) * sizeof *more);

    if (!more)
        return SS_E_NOMEM;
    list->entry = more;
    struct run_entry *entry = &list->entry[list->count++];
    *entry = (struct run_entry){.directory = strdup(directory)};
    int failed = entry->directory ? take_manifest(entry, path) : SS_E_NOMEM;
    const int facts = run_facts_load(&entry->facts, path);
    entry->has_result = run_result_load(&entry->result, path);
    return failed ? failed : facts;
}

static int newest_first(const void *a, const void *b)
{
    const struct run_entry *one = a, *other = b;

    if (one->created_s != other->created_s)
        return one->created_s < other->created_s ? 1 : -1;
    if (one->changed_ns != other->changed_ns)
        return one->changed_ns < other->changed_ns ? 1 : -1;
    return strcmp(other->directory, one->directory);
}

/* Links, files, and folders of others are none. 0 or an SS_E code. */
static int look_for_run(const char *path, bool *found)
{
    struct stat status;
    int failed = lstat(path, &status) == 0 ? 0 : errno;

    *found = false;
    if (!failed && S_ISDIR(status.st_mode))
        failed = look_for_files(path, found);
    return failed == ENOENT || failed == EACCES ? 0 : error_code_of_errno(failed);
}

static int take_if_run(struct run_list *list, const char *name)
{
    char *path;
    bool is_run;

    if (asprintf(&path, "%s/%s", list->folder, name) < 0)
        return SS_E_NOMEM;
    int failed = look_for_run(path, &is_run);
    if (is_run)
        failed = take_entry(list, name, path);
    free(path);
    return failed;
}

int run_list_load(struct run_list *list, const char *folder)
{
    DIR *opened = opendir(folder);
    const bool is_there = opened || (errno != ENOENT && errno != ENOTDIR);
    int failed = opened || !is_there ? 0 : error_code_of_errno(errno);
    const struct dirent *found = NULL;

    *list = (struct run_list){.folder = strdup(folder)};
    if (!list->folder)
        failed = SS_E_NOMEM;
    while (opened && !failed) {
        errno = 0;
        found = readdir(opened);
        if (!found) {
            failed = error_code_of_errno(errno);
            break;
        }
        if (found->d_name[0] != '.')
            failed = take_if_run(list, found->d_name);
    }
    if (opened)
        closedir(opened);
    if (!failed && list->count > 1)
        qsort(list->entry, list->count, sizeof *list->entry, newest_first);
    return failed;
}

void run_list_release(struct run_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->entry[i].directory);
        free(list->entry[i].name);
        free(list->entry[i].command);
        run_facts_release(&list->entry[i].facts);
    }
    free(list->entry);
    free(list->folder);
    *list = (struct run_list){0};
}

static bool is_empty(const struct run_entry *entry)
{
    return entry->has_result && run_result_is_empty(&entry->result);
}

/* The run that the link beside the runs names. */
static size_t linked(const struct run_list *list)
{
    char *path, target[NAME_MAX + 1];

    if (asprintf(&path, "%s/" RUN_LATEST, list->folder) < 0)
        return SIZE_MAX;
    const ssize_t size = readlink(path, target, sizeof target);
    free(path);
    for (size_t i = 0; i < list->count && size > 0; i++)
        if (strlen(list->entry[i].directory) == (size_t)size &&
            memcmp(list->entry[i].directory, target, (size_t)size) == 0)
            return i;
    return SIZE_MAX;
}

size_t run_list_latest(const struct run_list *list)
{
    size_t found = linked(list);

    for (size_t i = 0; i < list->count && found == SIZE_MAX; i++)
        if (!is_empty(&list->entry[i]))
            found = i;
    return found == SIZE_MAX && list->count > 0 ? 0 : found;
}

bool run_entry_begins_with(const struct run_entry *entry, const char *word, size_t size)
{
    return strncmp(entry->name, word, size) == 0 || strncmp(entry->directory, word, size) == 0;
}

static bool has_name(const struct run_entry *entry, const char *word, size_t size)
{
    return strlen(entry->name) == size && memcmp(entry->name, word, size) == 0;
}

/* The run `back` before the one at `from`, of those with this name (size 0: any). Runs that
 * recorded nothing do not count, unless there is no other. */
static struct run_match_result go_back(const struct run_list *list, size_t from, const char *word,
                                       size_t size, unsigned long back)
{
    for (int with_empty = 0; with_empty <= 1; with_empty++) {
        unsigned long left = back;
        for (size_t i = from; i < list->count; i++) {
            const struct run_entry *entry = &list->entry[i];
            const bool counts = with_empty || !is_empty(entry);
            if (counts && (size == 0 || has_name(entry, word, size)) && left-- == 0)
                return (struct run_match_result){RUN_MATCH_ONE, i, 0};
        }
    }
    return (struct run_match_result){RUN_MATCH_NONE, 0, 0};
}

/* Several runs that begin so are one, if they all have one name and it is the name that was
 * shortened. */
static struct run_match_result find_prefix(const struct run_list *list, const char *word,
                                           size_t size, unsigned long back)
{
    const struct run_entry *first = NULL;
    size_t found = 0, index = 0;
    bool is_one_name = true;

    for (size_t i = 0; i < list->count; i++) {
        const struct run_entry *entry = &list->entry[i];
        if (!run_entry_begins_with(entry, word, size))
            continue;
        index = found++ == 0 ? i : index;
        first = first ? first : entry;
        is_one_name = is_one_name && strcmp(entry->name, first->name) == 0 &&
                      strncmp(entry->name, word, size) == 0;
    }
    if (found == 1 && back == 0)
        return (struct run_match_result){RUN_MATCH_ONE, index, 0};
    if (found > 0 && is_one_name)
        return go_back(list, 0, first->name, strlen(first->name), back);
    return (struct run_match_result){found > 1 ? RUN_MATCH_SEVERAL : RUN_MATCH_NONE, 0, size};
}

/* Bytes of the word before "~N"; all of it if there is no such end. */
static size_t without_steps_back(const char *word, unsigned long *back)
{
    const char *tilde = strrchr(word, '~');
    char *end;

    *back = 0;
    if (!tilde || tilde[1] < '0' || tilde[1] > '9')
        return strlen(word);
    *back = strtoul(tilde + 1, &end, 10);
    if (*end == '\0')
        return (size_t)(tilde - word);
    *back = 0;
    return strlen(word);
}

struct run_match_result run_list_find(const struct run_list *list, const char *word)
{
    const struct run_match_result none = {RUN_MATCH_NONE, 0, 0};
    unsigned long back;
    const size_t size = without_steps_back(word, &back);

    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->entry[i].directory, word) == 0)
            return (struct run_match_result){RUN_MATCH_ONE, i, 0};
    if (size == 0)
        return none;
    if (size == strlen(RUN_LATEST) && memcmp(word, RUN_LATEST, size) == 0) {
        const size_t latest = run_list_latest(list);
        if (latest == SIZE_MAX || back == 0)
            return latest == SIZE_MAX ? none : (struct run_match_result){RUN_MATCH_ONE, latest, 0};
        return go_back(list, latest, NULL, 0, back);
    }
    for (size_t i = 0; i < list->count; i++)
        if (has_name(&list->entry[i], word, size))
            return go_back(list, 0, word, size, back);
    return find_prefix(list, word, size, back);
}
