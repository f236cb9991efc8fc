/* Loaded into a program that writes a file: sends it the signal END_AT_FSYNC when it is done with writing,
 * and has not put the file in its place yet. With END_AT_FSYNC_PARENT its parent gets it, and must see to
 * it that the program ends. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int fsync(int fd)
{
    const char *number = getenv("END_AT_FSYNC");

    (void)fd;
    if (number && getenv("END_AT_FSYNC_PARENT")) {
        kill(getppid(), (int)strtol(number, NULL, 10));
        alarm(10); /* nobody waits for ever, if it does not */
        pause();
    } else if (number) {
        raise((int)strtol(number, NULL, 10));
    }
    return 0;
}
