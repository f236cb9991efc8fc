#include "base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

/* 0 or errno. */
static int read_all(int fd, size_t most, struct buf *out)
{
    char *const place = buf_reserve(out, most);

    if (!place)
        return ENOMEM;
    for (size_t size = 0; size < most;) {
        const ssize_t more = read(fd, place + size, most - size);
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            return more < 0 ? errno : 0;
        size += (size_t)more;
        buf_grown(out, (size_t)more);
    }
    return 0;
}

int small_file_read(const char *path, size_t most, struct buf *out)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;
    int failed = 0;

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO ? 0 : errno;
    if (fstat(fd, &status) != 0)
        failed = errno;
    else if (S_ISREG(status.st_mode))
        failed = read_all(fd, most, out);
    close(fd);
    return failed;
}

/* What is left of a writer that was killed is in the way, and so is anything else of that name: it
 * is never opened, since it may be a link, or a FIFO that would make us wait. */
static int open_new(int dir, const char *name)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    int fd = openat(dir, name, flags, 0600);

    if (fd < 0 && errno == EEXIST && unlinkat(dir, name, 0) == 0)
        fd = openat(dir, name, flags, 0600);
    return fd;
}

static int write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t done = write(fd, data, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno;
        data += done;
        size -= (size_t)done;
    }
    return 0;
}

int small_file_write_at(int dir, const char *name, const struct buf *text)
{
    struct buf fresh = {0};
    int failed = ENOMEM;

    buf_printf(&fresh, "%s.new", name);
    if (!fresh.failed && !text->failed) {
        const int fd = open_new(dir, fresh.data);
        failed = fd < 0 ? errno : write_all(fd, text->data, text->size);
        if (fd >= 0 && close(fd) != 0 && !failed)
            failed = errno;
        if (!failed && renameat(dir, fresh.data, dir, name) != 0)
            failed = errno;
        if (failed && fd >= 0)
            unlinkat(dir, fresh.data, 0);
    }
    buf_release(&fresh);
    return failed;
}

int small_file_write(const char *dir, const char *name, const struct buf *text)
{
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return errno;
    const int failed = small_file_write_at(fd, name, text);
    close(fd);
    return failed;
}

enum { DEEPEST = 64, BLOCK_BYTES = 512 };

/* What is done at one level of the tree. */
struct visit {
    bool is_removing;
    unsigned depth;
    uint64_t bytes;
    int failed; /* the first errno */
};

static void note(struct visit *visit, bool done)
{
    if (!done && visit->failed == 0)
        visit->failed = errno;
}

static void visit_directory(struct visit *visit, int parent, const char *name);

static void visit_entry(struct visit *visit, int directory, const char *name)
{
    struct stat status;

    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        note(visit, errno == ENOENT);
        return;
    }
    visit->bytes += (uint64_t)status.st_blocks * BLOCK_BYTES;
    if (S_ISDIR(status.st_mode) && visit->depth < DEEPEST)
        visit_directory(visit, directory, name);
    else if (visit->is_removing)
        note(visit, unlinkat(directory, name, 0) == 0);
}

static void visit_directory(struct visit *visit, int parent, const char *name)
{
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *opened = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    note(visit, opened != NULL);
    if (!opened && fd >= 0)
        close(fd);
    if (!opened)
        return;
    visit->depth++;
    do {
        errno = 0;
        entry = readdir(opened);
        if (!entry)
            note(visit, errno == 0);
        else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            visit_entry(visit, fd, entry->d_name);
    } while (entry);
    visit->depth--;
    closedir(opened);
    if (visit->is_removing)
        note(visit, unlinkat(parent, name, AT_REMOVEDIR) == 0);
}

int file_tree_bytes(const char *path, uint64_t *bytes)
{
    struct visit visit = {0};

    visit_directory(&visit, AT_FDCWD, path);
    *bytes = visit.bytes;
    return visit.failed;
}

int file_tree_remove(const char *path)
{
    struct visit visit = {.is_removing = true};

    visit_directory(&visit, AT_FDCWD, path);
    return visit.failed;
}

enum { NAMES_TRIED = 1000 };

/* 0 or an errno. */
static int make_one(const char *path, bool *is_new)
{
    *is_new = mkdir(path, 0777) == 0;
    return *is_new || errno == EEXIST ? 0 : errno;
}

int make_dir_all(const char *path, bool *is_new)
{
    char *copy = strdup(path);
    size_t size = strlen(path);
    bool made = false;
    struct stat status;
    int failed = !copy ? ENOMEM : size == 0 ? ENOENT : 0;

    while (!failed && size > 1 && copy[size - 1] == '/')
        copy[--size] = '\0';
    for (char *at = copy; !failed && at;) {
        at = strchr(at + 1, '/');
        if (at)
            *at = '\0';
        failed = make_one(copy, &made);
        if (at)
            *at = '/';
    }
    if (!failed && (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)))
        failed = ENOTDIR;
    if (is_new)
        *is_new = !failed && made;
    free(copy);
    return failed;
}

int make_dir_new(struct buf *path, mode_t mode)
{
    const size_t size = path->size;

    for (int i = 1; i <= NAMES_TRIED; i++) {
        if (i > 1) {
            path->size = size;
            buf_printf(path, "-%d", i);
        }
        if (path->failed)
            return ENOMEM;
        if (mkdir(path->data, mode) == 0)
            return 0;
        if (errno != EEXIST)
            return errno;
    }
    return EEXIST;
}

struct match {
    path_visit *visit;
    void *context;
    struct buf path; /* found so far */
    char part[NAME_MAX + 1];
};

static bool match_rest(struct match *match, const char *pattern);

/* With one more part behind the path. */
static bool match_below(struct match *match, const char *name, const char *rest)
{
    const size_t size = match->path.size;

    buf_add_text(&match->path, "/");
    buf_add_text(&match->path, name);
    if (match->path.failed)
        return false;
    const bool goes_on = match_rest(match, rest);
    match->path.size = size;
    match->path.data[size] = '\0';
    return goes_on;
}

static bool match_entries(struct match *match, const char *rest)
{
    struct dirent **entries;
    char part[NAME_MAX + 1];
    bool goes_on = true;

    memcpy(part, match->part, sizeof part);
    const int count = scandir(buf_text(&match->path), &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (goes_on && fnmatch(part, entries[i]->d_name, FNM_PERIOD) == 0)
            goes_on = match_below(match, entries[i]->d_name, rest);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return goes_on;
}

static bool match_rest(struct match *match, const char *pattern)
{
    const size_t size = strcspn(pattern, "/");

    if (size == 0)
        return access(buf_text(&match->path), F_OK) != 0 ||
               match->visit(match->context, buf_text(&match->path));
    if (size > NAME_MAX)
        return true;
    memcpy(match->part, pattern, size);
    match->part[size] = '\0';
    pattern += size;
    pattern += *pattern == '/';
    return strpbrk(match->part, "*?[") ? match_entries(match, pattern)
                                       : match_below(match, match->part, pattern);
}

void path_match(const char *folder, const char *pattern, path_visit *visit, void *context)
{
    struct match match = {.visit = visit, .context = context};

    buf_add_text(&match.path, folder);
    (void)match_rest(&match, pattern);
    buf_release(&match.path);
}

/* Takes the first path that fits. */
static bool take_real(void *out, const char *path)
{
    char real[PATH_MAX];

    if (realpath(path, real))
        buf_add_text(out, real);
    return false;
}

void path_find_beside_us(const char *const *patterns, size_t count, struct buf *out)
{
    char folder[PATH_MAX];
    const ssize_t size = readlink("/proc/self/exe", folder, sizeof folder - 1);

    if (size <= 0)
        return;
    folder[size] = '\0';
    *strrchr(folder, '/') = '\0';
    for (size_t i = 0; i < count && out->size == 0; i++)
        path_match(folder, patterns[i], take_real, out);
}
