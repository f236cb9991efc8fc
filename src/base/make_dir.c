#include "base/make_dir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
