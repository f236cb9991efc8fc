#include "supervise/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One by one, as a kernel before 5.9 has it. Closing what has been listed disturbs no list of
 * /proc. */
static void close_listed(unsigned first, unsigned last)
{
    DIR *list = opendir("/proc/self/fd");
    const struct dirent *entry;

    if (!list)
        return;
    while ((entry = readdir(list))) {
        const unsigned long fd = strtoul(entry->d_name, NULL, 10);
        if (entry->d_name[0] != '.' && fd >= first && fd <= last && fd != (unsigned)dirfd(list))
            close((int)fd);
    }
    closedir(list);
}

/* By its number: glibc has a function for it from 2.34 on only. */
static void close_from_to(unsigned first, unsigned last)
{
    if (syscall(SYS_close_range, first, last, 0) != 0)
        close_listed(first, last);
}

void descriptors_keep_only(const int *kept, size_t count)
{
    unsigned next = 0;

    for (size_t i = 0; i < count; i++) {
        if ((unsigned)kept[i] > next)
            close_from_to(next, (unsigned)kept[i] - 1);
        next = (unsigned)kept[i] + 1;
    }
    close_from_to(next, UINT_MAX);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH | O_CLOEXEC) < 0)
            return;
}
