#include "base/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ending_signals.h"
#include "base/error.h"

enum { MOST_PARTS = 100 }; /* left by killed processes that had our number */

static const char *volatile unfinished; /* what a signal has to remove */
static struct ending_signals signals;

static void remove_and_end(int number)
{
    if (unfinished)
        unlink(unfinished);
    ending_signals_end(number);
}

static const char *advice(int os_error)
{
    switch (os_error) {
    case ENOENT:
    case ENOTDIR:
        return "Create its directory first, or give another name.";
    case EACCES:
    case EPERM:
    case EROFS:
        return "Choose a place where you have write permission.";
    case ENOSPC:
    case EDQUOT:
        return "Free some space, or choose another disk.";
    case EFBIG:
        return "'ulimit -f' says how large a file may be.";
    case EMFILE:
    case ENFILE:
        return "'ulimit -n' says how many files may be open.";
    case EISDIR:
        return "Give the name of a file in it.";
    case ENAMETOOLONG:
    case ELOOP:
        return "Give another name.";
    default:
        return "Is the device or the file system all right?";
    }
}

int out_file_error(struct ss_error *error, const char *path, int os_error)
{
    return error_set(error, error_code_of_errno(os_error), "cannot write '%.300s': %s. %s", path,
                     strerror(os_error), advice(os_error));
}

static int is_there(const struct out_file *file, struct ss_error *error)
{
    return error_set(error, SS_E_BUSY,
                     "'%.300s' already exists. Use --force to overwrite it, or give another name.",
                     file->name);
}

/* A signal comes before the file is there, or when it is known that it is. 0 or errno. */
static int make_part(struct out_file *file)
{
    sigset_t mask;

    ending_signals_hold(&mask);
    const int fd = open(file->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const int failed = fd < 0 ? errno : 0;
    if (!failed) {
        sink_init_fd(&file->sink, fd);
        unfinished = file->part;
    }
    ending_signals_release(&mask);
    return failed;
}

/* 0 or errno. */
static int open_part(struct out_file *file)
{
    int failed = EEXIST;

    for (int i = 0; i < MOST_PARTS && failed == EEXIST; i++) {
        char number[32] = "";
        if (i > 0)
            snprintf(number, sizeof number, "-%d", i);
        if (asprintf(&file->part, "%s.%ld%s.part", file->path, (long)getpid(), number) < 0) {
            file->part = NULL;
            return ENOMEM;
        }
        failed = make_part(file);
        if (failed) {
            free(file->part);
            file->part = NULL;
        }
    }
    return failed;
}

/* A pipe, a terminal or a device. 0 or errno. */
static int open_as_it_is(struct out_file *file, const char *path)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return errno;
    sink_init_fd(&file->sink, fd);
    return 0;
}

static void forget(struct out_file *file)
{
    if (file->part)
        unlink(file->part); /* after it got its name, there is none */
    unfinished = NULL;
    ending_signals_restore(&signals);
    free(file->path);
    free(file->part);
    file->path = file->part = NULL;
}

/* 0 or errno; EEXIST: there is such a file, or a link that leads nowhere. */
static int open_any(struct out_file *file, const char *path)
{
    struct stat status;

    if (strcmp(path, "-") == 0)
        return 0;
    const bool exists = stat(path, &status) == 0;
    if (!file->force && (exists ? S_ISREG(status.st_mode) : lstat(path, &status) == 0))
        return EEXIST;
    if (exists && S_ISDIR(status.st_mode))
        return EISDIR;
    if (exists && !S_ISREG(status.st_mode))
        return open_as_it_is(file, path);
    /* a link stays, what it leads to is replaced */
    file->path = exists ? realpath(path, NULL) : strdup(path);
    if (!file->path)
        return errno;
    file->replaces = exists;
    const int failed = open_part(file);
    if (!failed && exists) /* those who could read it still can, and no others */
        (void)fchmod(file->sink.fd, status.st_mode & 0777);
    return failed;
}

void out_file_restrict(struct out_file *file, mode_t mode)
{
    struct stat status;

    if (file->part && !file->replaces && fstat(file->sink.fd, &status) == 0)
        (void)fchmod(file->sink.fd, status.st_mode & mode & 0777);
}

int out_file_open(struct out_file *file, const char *path, bool force, struct ss_error *error)
{
    file->name = path;
    file->path = file->part = NULL;
    file->force = force;
    file->replaces = false;
    sink_init_fd(&file->sink, STDOUT_FILENO);
    ending_signals_watch(&signals, remove_and_end);
    const int failed = open_any(file, path);
    if (!failed)
        return 0;
    forget(file);
    return failed == EEXIST ? is_there(file, error) : out_file_error(error, path, failed);
}

/* 0 or errno. Another program may have made such a file in the meantime; not all file systems
 * report it. */
static int put_in_place(const struct out_file *file)
{
    if (!file->force) {
        if (renameat2(AT_FDCWD, file->part, AT_FDCWD, file->path, RENAME_NOREPLACE) == 0)
            return 0;
        if (errno != EINVAL && errno != ENOSYS)
            return errno;
        if (access(file->path, F_OK) == 0)
            return EEXIST;
    }
    return rename(file->part, file->path) == 0 ? 0 : errno;
}

/* 0 or errno: some file systems say only now that it was too much. */
static int close_file(struct out_file *file)
{
    const int fd = file->sink.fd;
    int failed = 0;

    if (fd == STDOUT_FILENO || fd < 0)
        return 0;
    if (file->part && !file->sink.error && fsync(fd) != 0 && errno != EINVAL)
        failed = errno; /* EINVAL: this file system has nothing to say */
    if (close(fd) != 0 && errno != EINTR && !failed)
        failed = errno;
    file->sink.fd = -1;
    return failed;
}

void out_file_discard(struct out_file *file)
{
    sink_fail(&file->sink, SS_E_IO, EIO); /* no more is written */
    close_file(file);
    forget(file);
}

int out_file_finish(struct out_file *file, struct ss_error *error)
{
    sink_flush(&file->sink);
    const int closing = close_file(file);
    int failed = closing;

    if (file->sink.error)
        failed = file->sink.os_error              ? file->sink.os_error
                 : file->sink.error == SS_E_NOMEM ? ENOMEM
                                                  : EIO;
    if (!failed && file->part)
        failed = put_in_place(file);
    if (failed == EPIPE && !file->part)
        failed = 0;
    const int code = failed == EEXIST ? is_there(file, error)
                     : failed         ? out_file_error(error, file->name, failed)
                                      : 0;
    forget(file);
    return code;
}
