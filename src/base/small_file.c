#include "base/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

void small_file_read(const char *path, size_t most, struct buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char *place = fd >= 0 ? buf_reserve(out, most) : NULL;
    for (size_t size = 0; place && size < most;) {
        ssize_t more = read(fd, place + size, most - size);
        if (more <= 0 && !(more < 0 && errno == EINTR))
            break;
        size_t bytes = more > 0 ? (size_t)more : 0;
        size += bytes;
        buf_grown(out, bytes);
    }
    if (fd >= 0)
        close(fd);
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

int small_file_write(const char *dir, const char *name, const struct buf *text)
{
    struct buf path = {0}, fresh = {0};
    int failed = ENOMEM;

    buf_printf(&path, "%s/%s", dir, name);
    buf_printf(&fresh, "%s/%s.new", dir, name);
    if (!path.failed && !fresh.failed && !text->failed) {
        int fd =
            open(fresh.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
        failed = fd < 0 ? errno : write_all(fd, text->data, text->size);
        if (fd >= 0 && close(fd) != 0 && !failed)
            failed = errno;
        if (!failed && rename(fresh.data, path.data) != 0)
            failed = errno;
        if (failed && fd >= 0)
            unlink(fresh.data);
    }
    buf_release(&path);
    buf_release(&fresh);
    return failed;
}
