#include "frames_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NO_FILE = -1 };

static bool has_readv;
static int memory_file = NO_FILE;
static pid_t process; /* asking for it would be a second system call */

static bool gather_by_call(const struct memory_piece *pieces, size_t count)
{
    struct iovec local[MEMORY_PIECES_MAX], remote[MEMORY_PIECES_MAX];
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        local[i] = (struct iovec){pieces[i].copy, pieces[i].bytes};
        remote[i] = (struct iovec){(void *)pieces[i].address, pieces[i].bytes};
        total += pieces[i].bytes;
    }
    const ssize_t got = process_vm_readv(process, local, count, remote, count, 0);
    return got >= 0 && (size_t)got == total;
}

static bool gather_by_file(const struct memory_piece *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const ssize_t got =
            pread(memory_file, pieces[i].copy, pieces[i].bytes, (off_t)pieces[i].address);
        if (got < 0 || (size_t)got != pieces[i].bytes) {
            return false;
        }
    }
    return true;
}

bool memory_gather(const struct memory_piece *pieces, size_t count)
{
    if (count > MEMORY_PIECES_MAX) {
        return false;
    }
    return has_readv ? gather_by_call(pieces, count)
                     : memory_file != NO_FILE && gather_by_file(pieces, count);
}

bool memory_read(uintptr_t address, void *copy, size_t bytes)
{
    const struct memory_piece piece = {address, copy, bytes};
    return memory_gather(&piece, 1);
}

void memory_close(void)
{
    has_readv = false;
    if (memory_file != NO_FILE) {
        close(memory_file);
        memory_file = NO_FILE;
    }
}

/* A file that is open from before a fork shows the memory of the parent: it is opened again. */
const char *memory_open(void)
{
    const int error_number = errno;
    const int known = NO_FILE;
    int copy = 0;
    memory_close();
    process = getpid();
    has_readv = true;
    if (!memory_read((uintptr_t)&known, &copy, sizeof copy) || copy != known) {
        has_readv = false;
        memory_file = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
        if (!memory_read((uintptr_t)&known, &copy, sizeof copy) || copy != known) {
            memory_close();
        }
    }
    errno = error_number;
    return has_readv || memory_file != NO_FILE
               ? NULL
               : "neither process_vm_readv() nor /proc/self/mem may be used here";
}
