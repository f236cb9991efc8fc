/* Loaded into a program that writes files: sends it the signal END_WITH when it calls the function
 * END_AT for the first time, before that does anything. With END_PARENT its parent gets the signal,
 * and must see to it that the program ends. fsync() is where a file is written and not yet in its
 * place; it does nothing here. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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
