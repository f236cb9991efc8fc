#include "supervise/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervise/proc_text.h"

static int open_again(const char *path)
{
    int fd;

    do
        fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd;
}

bool proc_error_is_passing(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN ||
           error == EBUSY;
}

bool proc_file_is_passing(const struct proc_file *file)
{
    return proc_error_is_passing(file->error);
}

bool proc_file_read(struct proc_file *file, const char *path, char *out, size_t size)
{
    ssize_t length = -1;

    out[0] = '\0';
    if (file->error && !proc_file_is_passing(file))
        return false;
    file->error = 0;
    if (!file->fd_plus_1)
        file->fd_plus_1 = open_again(path) + 1;
    if (file->fd_plus_1)
        do
            length = pread(file->fd_plus_1 - 1, out, size - 1, 0);
        while (length < 0 && errno == EINTR);
    if (length < 0) {
        const int why = errno;
        proc_file_close(file);
        file->error = why;
        return false;
    }
    out[length] = '\0';
    if ((size_t)length == size - 1) {
        char *end = strrchr(out, '\n');
        *(end ? end + 1 : out) = '\0';
    }
    return true;
}

void proc_file_close(struct proc_file *file)
{
    if (file->fd_plus_1)
        close(file->fd_plus_1 - 1);
    *file = (struct proc_file){0};
}

enum ss_system_state proc_file_state(const struct proc_file *file)
{
    if (proc_file_is_passing(file))
        return SS_SYSTEM_VALUE;
    return file->error == EACCES || file->error == EPERM ? SS_SYSTEM_DENIED : SS_SYSTEM_ABSENT;
}

bool proc_read(const char *path, char *out, size_t size)
{
    struct proc_file file = {0};
    const bool done = proc_file_read(&file, path, out, size);

    proc_file_close(&file);
    return done;
}

uint64_t proc_start_of(pid_t pid)
{
    char path[64], text[1024];
    struct proc_process process;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    return proc_read(path, text, sizeof text) && proc_text_process(text, &process)
               ? process.start_ticks
               : 0;
}

bool proc_has_died(pid_t pid, uint64_t start_ticks)
{
    char path[64], text[1024];
    struct proc_process process;

    if (kill(pid, 0) != 0 && errno == ESRCH)
        return true;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    if (!proc_read(path, text, sizeof text) || !proc_text_process(text, &process))
        return false;
    return (start_ticks && process.start_ticks != start_ticks) ||
           ((process.state == 'Z' || process.state == 'X') && process.threads <= 1);
}
