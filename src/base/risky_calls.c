#include "base/risky_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define VARIABLE "STEPSCOPE_AVOID"

static const char *const names[RISKY_CALLS] = {
    [RISKY_OWN_MEMORY] = "process_vm_readv",
    [RISKY_FALLOCATE] = "fallocate",
    [RISKY_MEMFD] = "memfd_create",
    [RISKY_MADVISE] = "madvise",
    [RISKY_SOCKET] = "socket",
    [RISKY_SOCKET_PAIR] = "socketpair",
    [RISKY_WRITEBACK] = "sync_file_range",
};

enum { KNOWN = 1 << RISKY_CALLS };
static atomic_uint killers; /* a bit for each; KNOWN: the environment was read */

const char *risky_call_name(enum risky_call call)
{
    return names[call];
}

/* A filter looks at numbers before anything else does: the arguments need make no sense. */
static void make_call(enum risky_call call)
{
    int there = 0, here = 0;
    struct iovec from = {&there, sizeof there}, to = {&here, sizeof here};
    int fd, ends[2];

    switch (call) {
    case RISKY_OWN_MEMORY:
        (void)!process_vm_readv(getpid(), &to, 1, &from, 1, 0);
        (void)!process_vm_writev(getpid(), &from, 1, &to, 1, 0);
        break;
    case RISKY_FALLOCATE:
        (void)!fallocate(-1, 0, 0, 1);
        break;
    case RISKY_MEMFD:
        fd = memfd_create("stepscope", MFD_CLOEXEC);
        if (fd >= 0)
            close(fd);
        break;
    case RISKY_MADVISE:
        (void)madvise(NULL, 0, MADV_NORMAL);
        break;
    case RISKY_SOCKET:
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd >= 0)
            close(fd);
        break;
    case RISKY_SOCKET_PAIR:
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
            close(ends[0]);
            close(ends[1]);
        }
        break;
    case RISKY_WRITEBACK:
        (void)sync_file_range(-1, 0, 1, SYNC_FILE_RANGE_WRITE);
        (void)posix_fadvise(-1, 0, 1, POSIX_FADV_DONTNEED);
        break;
    case RISKY_CALLS:
        break;
    }
}

/* Makes the calls that are left, and says which one is next before each. */
static _Noreturn void try_from(enum risky_call call, int tell_fd)
{
    const struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_CORE, &none);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    for (; call < RISKY_CALLS; call++) {
        const unsigned char next = (unsigned char)call;
        if (write(tell_fd, &next, 1) != 1)
            break;
        make_call(call);
    }
    _exit(0);
}

/* Returns the call that ended a child which began with `call`; RISKY_CALLS: none. */
static enum risky_call find_killer(enum risky_call call)
{
    int ends[2], status = 0;
    unsigned char last = RISKY_CALLS, next;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return RISKY_CALLS;
    const pid_t child = fork();
    if (child == 0)
        try_from(call, ends[1]);
    close(ends[1]);
    while (child > 0 && read(ends[0], &next, 1) == 1)
        last = next;
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFSIGNALED(status) && last < RISKY_CALLS ? last : RISKY_CALLS;
}

void risky_calls_try(void)
{
    const struct sigaction standard = {.sa_handler =
                                           SIG_DFL}; /* ignored ones cannot be waited for */
    struct sigaction before;
    char text[128] = "";
    unsigned found = 0;

    (void)sigaction(SIGCHLD, &standard, &before);
    for (enum risky_call call = 0; call < RISKY_CALLS; call++) {
        call = find_killer(call);
        if (call == RISKY_CALLS)
            break;
        found |= 1u << call;
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s,", names[call]);
    }
    (void)sigaction(SIGCHLD, &before, NULL);
    atomic_store(&killers, found | KNOWN);
    if (found)
        (void)setenv(VARIABLE, text, 1);
    else
        (void)unsetenv(VARIABLE);
}

static unsigned read_environment(void)
{
    const char *text = secure_getenv(VARIABLE);
    unsigned found = 0;

    for (size_t size; text && (size = strcspn(text, ",")) > 0; text += size + (text[size] == ','))
        for (unsigned call = 0; call < RISKY_CALLS; call++)
            if (strlen(names[call]) == size && memcmp(text, names[call], size) == 0)
                found |= 1u << call;
    return found;
}

bool risky_call_kills(enum risky_call call)
{
    unsigned known = atomic_load_explicit(&killers, memory_order_relaxed);

    if (!(known & KNOWN)) {
        known = read_environment() | KNOWN;
        atomic_store_explicit(&killers, known, memory_order_relaxed);
    }
    return known >> call & 1;
}
