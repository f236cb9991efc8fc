#include "supervise/descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

void descriptors_keep_only(const int *kept, size_t count)
{
    unsigned next = 0;

    for (size_t i = 0; i < count; i++) {
        if ((unsigned)kept[i] > next)
            (void)close_range(next, (unsigned)kept[i] - 1, 0);
        next = (unsigned)kept[i] + 1;
    }
    (void)close_range(next, UINT_MAX, 0);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH | O_CLOEXEC) < 0)
            return;
}
