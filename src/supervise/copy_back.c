#include "supervise/copy_back.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "load/run_facts.h"

enum { CHUNK_BYTES = 1 << 20 };

struct carrier {
    int from, to; /* directories */
    bool (*may_go_on)(void *context);
    void *context;
    char *chunk;
};

/* Copies [at, end) of the file. 0 or errno; ECANCELED: it may not go on. */
static int copy_range(struct carrier *carrier, int in, int out, off_t at, off_t end)
{
    while (at < end) {
        size_t most = end - at < CHUNK_BYTES ? (size_t)(end - at) : CHUNK_BYTES;
        ssize_t got = pread(in, carrier->chunk, most, at);
        if (got == 0 || !carrier->may_go_on(carrier->context))
            return got == 0 ? 0 : ECANCELED;
        for (ssize_t done = 0; done < got;) {
            ssize_t n = pwrite(out, carrier->chunk + done, (size_t)(got - done), at + done);
            if (n < 0 && errno != EINTR)
                return errno;
            done += n > 0 ? n : 0;
        }
        if (got < 0 && errno != EINTR)
            return errno;
        at += got > 0 ? got : 0;
    }
    return 0;
}

/* Holes stay holes: what was allocated ahead and never written is not sent over the network. */
static int copy_content(struct carrier *carrier, int in, int out)
{
    struct stat status;
    int failed = 0;

    if (fstat(in, &status) != 0 || ftruncate(out, status.st_size) != 0)
        return errno;
    for (off_t at = 0; at < status.st_size && !failed;) {
        off_t from = lseek(in, at, SEEK_DATA);
        if (from < 0 && errno == ENXIO)
            return 0;
        off_t to = from < 0 ? -1 : lseek(in, from, SEEK_HOLE);
        from = from < 0 ? at : from;
        at = to > from ? to : status.st_size;
        failed = copy_range(carrier, in, out, from, at);
    }
    return failed;
}

static int copy_file(struct carrier *carrier, const char *name)
{
    char fresh[NAME_MAX + 16];

    snprintf(fresh, sizeof fresh, ".%s.new", name);
    int in = openat(carrier->from, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (in < 0)
        return errno;
    int out =
        openat(carrier->to, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int failed = out < 0 ? errno : copy_content(carrier, in, out);
    close(in);
    if (out >= 0 && close(out) != 0 && !failed) /* a network file system may say so now */
        failed = errno;
    if (!failed && renameat(carrier->to, fresh, carrier->to, name) != 0)
        failed = errno;
    if (failed && out >= 0)
        unlinkat(carrier->to, fresh, 0);
    return failed;
}

static bool is_file(int dir, const char *name)
{
    struct stat status;

    return fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

static int copy_all(struct carrier *carrier, struct ss_error *error)
{
    int fd = fcntl(carrier->from, F_DUPFD_CLOEXEC, 0);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    int failed = dir ? 0 : errno;

    for (struct dirent *entry; dir && !failed && (entry = readdir(dir));) {
        if (!is_file(carrier->from, entry->d_name) || strcmp(entry->d_name, RUN_OUTCOME_FILE) == 0)
            continue;
        failed = copy_file(carrier, entry->d_name);
        if (failed)
            error_set(error, error_code_of_errno(failed), "%s: %s", entry->d_name,
                      strerror(failed));
    }
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return error_code_of_errno(failed);
}

int copy_back(const char *from, const char *to, bool (*may_go_on)(void *context), void *context,
              struct ss_error *error)
{
    struct carrier carrier = {
        .from = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        .to = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        .may_go_on = may_go_on,
        .context = context,
        .chunk = malloc(CHUNK_BYTES),
    };
    int failed = carrier.from < 0 || carrier.to < 0 ? error_code_of_errno(errno) : 0;

    if (!carrier.chunk)
        failed = SS_E_NOMEM;
    if (failed)
        error_set(error, failed, "%s", ss_error_text(failed));
    else
        failed = copy_all(&carrier, error);
    free(carrier.chunk);
    if (carrier.from >= 0)
        close(carrier.from);
    if (carrier.to >= 0)
        close(carrier.to);
    return failed;
}

void copy_back_remove(const char *from)
{
    DIR *dir = opendir(from);

    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (is_file(dirfd(dir), entry->d_name))
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    rmdir(from);
}
