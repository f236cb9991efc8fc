#include "job/part_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* Reads until `size` bytes are there or the file ends; -1: errno. */
static ssize_t read_all(int fd, uint8_t *out, size_t size)
{
    size_t done = 0;

    while (done < size) {
        const ssize_t got = read(fd, out + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

struct reading {
    const struct part_visit *visit;
    const char *path;
    int fd;
    uint8_t *bytes;
    size_t room;
    uint64_t left; /* of the file: no part is larger */
};

static bool skip(const struct reading *reading, const char *why)
{
    return reading->visit->skip(reading->visit->context, reading->path, why);
}

/* One part. Returns whether there may be more; `*go_on`: whether the visitor wants them. */
static bool read_part(struct reading *reading, bool *go_on)
{
    struct ss_error error = {0};
    uint64_t launch, sequence;
    const ssize_t head = read_all(reading->fd, reading->bytes, PART_HEAD);

    if (head <= 0) {
        if (head < 0)
            *go_on = skip(reading, strerror(errno));
        return false;
    }
    const size_t size = part_head(reading->bytes, (size_t)head, &launch, &sequence, &error);
    if (size == 0 || size > reading->left) {
        *go_on = skip(reading, size == 0 ? error.message : "it is damaged: its end is missing");
        return false;
    }
    if (size > reading->room) {
        uint8_t *more = realloc(reading->bytes, size);
        if (!more) {
            *go_on = skip(reading, ss_error_text(SS_E_NOMEM));
            return false;
        }
        reading->bytes = more;
        reading->room = size;
    }
    const ssize_t got = read_all(reading->fd, reading->bytes + PART_HEAD, size - PART_HEAD);
    if (got != (ssize_t)(size - PART_HEAD)) {
        *go_on = skip(reading, "it is damaged: its end is missing");
        return false;
    }
    reading->left -= size;
    *go_on = reading->visit->take(reading->visit->context, reading->path, reading->bytes, size);
    return *go_on;
}

/* False: stop. */
static bool visit_file(int fd, const char *path, uint64_t size, const struct part_visit *visit)
{
    struct reading reading = {.visit = visit, .path = path, .fd = fd, .room = 65536, .left = size};
    bool go_on = true;

    reading.bytes = malloc(reading.room);
    if (!reading.bytes)
        return skip(&reading, ss_error_text(SS_E_NOMEM));
    if (size == 0)
        go_on = skip(&reading, "it is empty");
    while (read_part(&reading, &go_on))
        ;
    free(reading.bytes);
    return go_on;
}

/* 0, or errno of a file that cannot be opened. */
static int visit_path(const char *path, const struct part_visit *visit, bool *go_on)
{
    struct stat status = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int failed = fd < 0 || fstat(fd, &status) != 0 ? errno : 0;

    if (!failed && !S_ISREG(status.st_mode))
        failed = EINVAL;
    if (!failed)
        *go_on = visit_file(fd, path, (uint64_t)status.st_size, visit);
    if (fd >= 0)
        close(fd);
    return failed;
}

static bool is_part_name(const char *name)
{
    const size_t size = strlen(name), suffix = strlen(PART_SUFFIX);

    return name[0] != '.' && size > suffix && strcmp(name + size - suffix, PART_SUFFIX) == 0;
}

static int any_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* A file of parts below `folder`, or that of a run; links to runs are other names of them. */
static char *part_path(const char *folder, const char *name)
{
    char *path = NULL, *inner = NULL;
    struct stat status;

    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return NULL;
    if (is_part_name(name))
        return path;
    if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
        asprintf(&inner, "%s/" PART_FILE, path) >= 0 && access(inner, F_OK) != 0) {
        free(inner);
        inner = NULL;
    }
    free(path);
    return inner;
}

static int visit_directory(const char *path, const struct part_visit *visit)
{
    struct dirent **names;
    const int count = scandir(path, &names, any_name, alphasort);
    bool go_on = true;

    if (count < 0)
        return errno;
    for (int i = 0; i < count; i++) {
        char *part = go_on ? part_path(path, names[i]->d_name) : NULL;
        const int failed = part ? visit_path(part, visit, &go_on) : 0;
        if (failed && failed != ENOENT)
            go_on = visit->skip(visit->context, part, strerror(failed));
        free(part);
        free(names[i]);
    }
    free(names);
    return 0;
}

int part_files_visit(const char *path, const struct part_visit *visit)
{
    struct stat status;
    bool go_on;

    if (stat(path, &status) != 0)
        return errno;
    return S_ISDIR(status.st_mode) ? visit_directory(path, visit) : visit_path(path, visit, &go_on);
}

bool part_files_has(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    bool found = false;

    while (folder && !found && (entry = readdir(folder))) {
        char *part = entry->d_name[0] != '.' ? part_path(path, entry->d_name) : NULL;
        found = part != NULL;
        free(part);
    }
    if (folder)
        closedir(folder);
    return found;
}

struct loading {
    struct job_view *view;
    int failed;
};

static bool load_skip(void *context, const char *path, const char *why)
{
    struct loading *loading = context;

    loading->failed = job_view_skip(loading->view, path, why);
    return loading->failed == 0;
}

static bool load_part(void *context, const char *path, const uint8_t *bytes, size_t size)
{
    struct loading *loading = context;
    struct ss_error error = {0};
    struct job_part part;

    if (part_read(&part, bytes, size, &error) == 0)
        loading->failed = job_view_add(loading->view, &part);
    else
        (void)load_skip(loading, path, error.message);
    part_release(&part);
    return loading->failed == 0;
}

int job_view_load(struct job_view *view, const char *path, struct ss_error *error)
{
    struct loading loading = {.view = view};
    const struct part_visit visit = {&loading, load_part, load_skip};
    const int os_error = part_files_visit(path, &visit);

    if (os_error)
        return error_set(error, error_code_of_errno(os_error), "cannot read '%s': %s", path,
                         strerror(os_error));
    return loading.failed ? error_set(error, loading.failed, "%s", ss_error_text(loading.failed))
                          : 0;
}

void part_set_release(struct part_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->items[i].bytes);
    free(set->items);
    *set = (struct part_set){0};
}

int part_set_add(struct part_set *set, const uint8_t *bytes, size_t size, struct ss_error *error)
{
    struct job_part part;
    struct part_bytes item = {.size = size};
    const int failed = part_read(&part, bytes, size, error);

    item.launch = part.launch;
    item.sequence = part.sequence;
    part_release(&part);
    if (failed)
        return failed;
    item.bytes = malloc(size);
    if (item.bytes && set->count == set->room) {
        const size_t room = set->room ? 2 * set->room : 16;
        struct part_bytes *more = realloc(set->items, room * sizeof *more);
        if (!more) {
            free(item.bytes);
            item.bytes = NULL;
        } else {
            set->items = more;
            set->room = room;
        }
    }
    if (!item.bytes)
        return error_set(error, SS_E_NOMEM, "out of memory");
    memcpy(item.bytes, bytes, size);
    set->items[set->count++] = item;
    return 0;
}

/* The one that counts comes first; two of one launch and sequence are in the order of their bytes,
 * so that any order of adding gives the same. */
static int by_launch(const void *a, const void *b)
{
    const struct part_bytes *x = a, *y = b;

    if (x->launch != y->launch)
        return (x->launch > y->launch) - (x->launch < y->launch);
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? 1 : -1;
    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return memcmp(x->bytes, y->bytes, x->size);
}

void part_set_write(struct part_set *set, struct buf *out)
{
    size_t kept = 0;

    if (set->count > 1)
        qsort(set->items, set->count, sizeof *set->items, by_launch);
    for (size_t i = 0; i < set->count; i++)
        if (kept > 0 && set->items[kept - 1].launch == set->items[i].launch)
            free(set->items[i].bytes);
        else
            set->items[kept++] = set->items[i];
    set->count = kept;
    for (size_t i = 0; i < set->count; i++)
        buf_add(out, set->items[i].bytes, set->items[i].size);
}
