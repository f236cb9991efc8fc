/* Loaded into a program that writes files: sends it the signal END_WITH when it calls the function
 * END_AT for the first time, before that does anything. With END_PARENT its parent gets the signal,
 * and must see to it that the program ends. fsync() is where a file is written and not yet in its
 * place; it does nothing here. "cleared" is behind the write that empties a segment of a run. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void look(const char *function)
{
    static bool is_sent;
    const char *at = getenv("END_AT"), *number = getenv("END_WITH");

    if (is_sent || !at || !number || strcmp(at, function) != 0)
        return;
    is_sent = true;
    if (!getenv("END_PARENT")) {
        raise((int)strtol(number, NULL, 10));
        return;
    }
    kill(getppid(), (int)strtol(number, NULL, 10));
    alarm(10); /* so that no test waits for ever if it does not */
    pause();
}

int fsync(int fd)
{
    (void)fd;
    look("fsync");
    return 0;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    look("pwrite");
    return syscall(SYS_pwrite64, fd, data, size, offset);
}

static long real_syscall(long number, const long *words)
{
    static long (*next)(long number, ...);

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/* The recorder writes its file in this way, 64 KiB of zeros when it gives up a segment. */
long syscall(long number, ...)
{
    static const char zeros[4096];
    long words[6];
    va_list arguments;

    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(arguments, long);
    va_end(arguments);
    const long result = real_syscall(number, words);
    const struct iovec *parts =
        (const struct iovec *)words[1]; /* NOLINT(performance-no-int-to-ptr) */
    if (number == SYS_pwritev && words[2] == 16 && result == 65536 &&
        memcmp(parts[0].iov_base, zeros, sizeof zeros) == 0)
        look("cleared");
    return result;
}

int rename(const char *from, const char *to)
{
    look("rename");
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlink(const char *path)
{
    look("unlink");
    return unlinkat(AT_FDCWD, path, 0);
}
