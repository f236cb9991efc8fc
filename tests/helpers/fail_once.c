/* Loaded into a program: one of its calls into the C library fails, once.
 *
 *     FAIL_PROGRAM  the program that is meant, by the name of its file; others are left alone
 *     FAIL_CALL     the function: as in FAIL_LOG
 *     FAIL_AT       which call of it, from 1; children that it forks count with it
 *     FAIL_ERROR    the value of errno; 0: no error, but what is read or written is one byte
 *     FAIL_LOG      without FAIL_AT: a file that gets the name of each function that is called, a
 *                   line each
 *
 * All that allocate are one function, "memory". Calls that the C library makes to itself cannot be
 * made to fail, but for those. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static struct {
    const char *call; /* NULL: this program is left alone, or its calls are logged */
    const char *log;  /* NULL: they are not logged */
    long at;
    int error;
    _Atomic long *number; /* of calls so far, in memory that children share */
    long (*system_call)(long number, ...);
} wish;

/* The next definition of a function: that of the C library. */
#define NEXT(name) ((__typeof__(&(name)))(uintptr_t)dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void read_wish(void)
{
    const char *program = getenv("FAIL_PROGRAM"), *at = getenv("FAIL_AT");
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    path[length > 0 ? length : 0] = '\0';
    if (!program || strcmp(strrchr(path, '/') ? strrchr(path, '/') + 1 : path, program) != 0)
        return;
    wish.system_call = NEXT(syscall);
    wish.at = at ? strtol(at, NULL, 10) : 0;
    wish.error = getenv("FAIL_ERROR") ? (int)strtol(getenv("FAIL_ERROR"), NULL, 10) : EIO;
    wish.number =
        mmap(NULL, sizeof *wish.number, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (wish.at > 0)
        wish.call = getenv("FAIL_CALL");
    else
        wish.log = getenv("FAIL_LOG");
}

static void log_call(const char *name)
{
    char line[64];
    const int error = errno;
    const size_t length = strlen(name);
    const long fd = wish.system_call(SYS_openat, AT_FDCWD, wish.log,
                                     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    memcpy(line, name, length);
    line[length] = '\n';
    wish.system_call(SYS_write, fd, line, length + 1);
    wish.system_call(SYS_close, fd);
    errno = error;
}

/* Whether this call of it is the one. */
static bool is_it(const char *name)
{
    if (wish.log)
        log_call(name);
    return wish.call && strcmp(name, wish.call) == 0 &&
           atomic_fetch_add(wish.number, 1) + 1 == wish.at;
}

static bool fails(const char *name)
{
    if (!is_it(name))
        return false;
    errno = wish.error;
    return true;
}

#define FAILING(type, name, parameters, arguments, failure)                                        \
    type name parameters;                                                                          \
    type name parameters                                                                           \
    {                                                                                              \
        return fails(#name) ? (failure) : NEXT(name) arguments;                                    \
    }

/* Those that say what is wrong by what they return. */
#define REFUSING(name, parameters, arguments) FAILING(int, name, parameters, arguments, wish.error)

/* Those that do what they are to do, also if they fail. */
#define DONE_ANYWAY(name, parameters, arguments)                                                   \
    int name parameters;                                                                           \
    int name parameters                                                                            \
    {                                                                                              \
        const bool is_to_fail = is_it(#name);                                                      \
        const int result = NEXT(name) arguments;                                                   \
        if (is_to_fail)                                                                            \
            errno = wish.error;                                                                    \
        return is_to_fail ? -1 : result;                                                           \
    }

/* Those that move bytes. */
#define SHORTENED(type, name, parameters, arguments, size)                                         \
    type name parameters;                                                                          \
    type name parameters                                                                           \
    {                                                                                              \
        if (is_it(#name)) {                                                                        \
            errno = wish.error;                                                                    \
            if (wish.error || (size) == 0)                                                         \
                return -1;                                                                         \
            (size) = 1;                                                                            \
        }                                                                                          \
        return NEXT(name) arguments;                                                               \
    }

/* Memory. */

void *malloc(size_t size)
{
    return fails("memory") ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails("memory") ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails("memory") ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails("memory") ? NULL : __libc_memalign(alignment, size);
}

FAILING(void *, mmap, (void *at, size_t size, int may, int flags, int fd, off_t from),
        (at, size, may, flags, fd, from), MAP_FAILED)
FAILING(void *, mmap64, (void *at, size_t size, int may, int flags, int fd, off64_t from),
        (at, size, may, flags, fd, from), MAP_FAILED)
FAILING(int, madvise, (void *at, size_t size, int advice), (at, size, advice), -1)
FAILING(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)

/* Files. */

static mode_t mode_of(int flags, va_list list)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
}

#define OPENING(name, parameters, arguments)                                                       \
    int name parameters                                                                            \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        const mode_t mode = mode_of(flags, list);                                                  \
        va_end(list);                                                                              \
        return fails(#name) ? -1 : NEXT(name) arguments;                                           \
    }

OPENING(open, (const char *path, int flags, ...), (path, flags, mode))
OPENING(open64, (const char *path, int flags, ...), (path, flags, mode))
OPENING(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
OPENING(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))

FAILING(FILE *, fopen64, (const char *path, const char *mode), (path, mode), NULL)
FAILING(DIR *, opendir, (const char *path), (path), NULL)
FAILING(DIR *, fdopendir, (int fd), (fd), NULL)
FAILING(struct dirent64 *, readdir64, (DIR * folder), (folder), NULL)
FAILING(int, mkstemp64, (char *path), (path), -1)
FAILING(char *, mkdtemp, (char *path), (path), NULL)
DONE_ANYWAY(close, (int fd), (fd))
DONE_ANYWAY(fclose, (FILE * file), (file))

SHORTENED(ssize_t, read, (int fd, void *to, size_t size), (fd, to, size), size)
SHORTENED(ssize_t, write, (int fd, const void *from, size_t size), (fd, from, size), size)
SHORTENED(ssize_t, pread64, (int fd, void *to, size_t size, off64_t at), (fd, to, size, at), size)
SHORTENED(ssize_t, pwrite64, (int fd, const void *from, size_t size, off64_t at),
          (fd, from, size, at), size)
FAILING(off64_t, lseek64, (int fd, off64_t at, int from), (fd, at, from), -1)
FAILING(int, fsync, (int fd), (fd), -1)
FAILING(int, fflush, (FILE * file), (file), EOF)
FAILING(int, ftruncate64, (int fd, off64_t size), (fd, size), -1)
FAILING(int, fallocate64, (int fd, int mode, off64_t at, off64_t size), (fd, mode, at, size), -1)
REFUSING(posix_fallocate64, (int fd, off64_t at, off64_t size), (fd, at, size))
FAILING(int, sync_file_range, (int fd, off64_t at, off64_t size, unsigned flags),
        (fd, at, size, flags), -1)

FAILING(int, stat64, (const char *path, struct stat64 *out), (path, out), -1)
FAILING(int, lstat64, (const char *path, struct stat64 *out), (path, out), -1)
FAILING(int, fstat64, (int fd, struct stat64 *out), (fd, out), -1)
FAILING(int, fstatat64, (int folder, const char *path, struct stat64 *out, int flags),
        (folder, path, out, flags), -1)
FAILING(int, statfs64, (const char *path, struct statfs64 *out), (path, out), -1)
FAILING(int, fstatfs64, (int fd, struct statfs64 *out), (fd, out), -1)
FAILING(int, statvfs64, (const char *path, struct statvfs64 *out), (path, out), -1)
FAILING(int, access, (const char *path, int what), (path, what), -1)
FAILING(int, fchmod, (int fd, mode_t mode), (fd, mode), -1)
FAILING(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
FAILING(int, rmdir, (const char *path), (path), -1)
FAILING(int, unlink, (const char *path), (path), -1)
FAILING(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags), -1)
FAILING(int, rename, (const char *from, const char *to), (from, to), -1)
FAILING(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), -1)
FAILING(int, renameat2, (int a, const char *from, int b, const char *to, unsigned flags),
        (a, from, b, to, flags), -1)
FAILING(int, symlink, (const char *to, const char *path), (to, path), -1)
FAILING(int, symlinkat, (const char *to, int folder, const char *path), (to, folder, path), -1)
FAILING(ssize_t, readlink, (const char *path, char *out, size_t size), (path, out, size), -1)
FAILING(ssize_t, readlinkat, (int folder, const char *path, char *out, size_t size),
        (folder, path, out, size), -1)
FAILING(char *, realpath, (const char *path, char *out), (path, out), NULL)
FAILING(char *, getcwd, (char *out, size_t size), (out, size), NULL)

/* Processes, and what they say to each other. */

FAILING(pid_t, fork, (void), (), -1)
FAILING(int, execvp, (const char *path, char *const words[]), (path, words), -1)
FAILING(pid_t, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags), -1)
FAILING(pid_t, wait4, (pid_t pid, int *status, int flags, struct rusage *used),
        (pid, status, flags, used), -1)
FAILING(int, waitid, (idtype_t kind, id_t id, siginfo_t *out, int flags), (kind, id, out, flags),
        -1)
REFUSING(posix_spawn,
         (pid_t * pid, const char *path, const posix_spawn_file_actions_t *files,
          const posix_spawnattr_t *how, char *const words[], char *const environment[]),
         (pid, path, files, how, words, environment))
REFUSING(pthread_create,
         (pthread_t * thread, const pthread_attr_t *how, void *(*begin)(void *), void *argument),
         (thread, how, begin, argument))
FAILING(int, pipe2, (int fds[2], int flags), (fds, flags), -1)
FAILING(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1)
FAILING(int, socketpair, (int domain, int type, int protocol, int fds[2]),
        (domain, type, protocol, fds), -1)
FAILING(ssize_t, recv, (int fd, void *to, size_t size, int flags), (fd, to, size, flags), -1)
FAILING(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags), -1)
FAILING(ssize_t, send, (int fd, const void *from, size_t size, int flags), (fd, from, size, flags),
        -1)
FAILING(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags),
        -1)
FAILING(int, poll, (struct pollfd * files, nfds_t count, int wait), (files, count, wait), -1)
FAILING(int, signalfd, (int fd, const sigset_t *set, int flags), (fd, set, flags), -1)
FAILING(ssize_t, process_vm_readv,
        (pid_t pid, const struct iovec *to, unsigned long count, const struct iovec *from,
         unsigned long pieces, unsigned long flags),
        (pid, to, count, from, pieces, flags), -1)

/* The machine. */

FAILING(int, sched_getaffinity, (pid_t pid, size_t size, cpu_set_t *set), (pid, size, set), -1)
FAILING(int, getrlimit64, (__rlimit_resource_t what, struct rlimit64 *out), (what, out), -1)
FAILING(int, setrlimit64, (__rlimit_resource_t what, const struct rlimit64 *to), (what, to), -1)
FAILING(int, uname, (struct utsname * out), (out), -1)
FAILING(int, gethostname, (char *out, size_t size), (out, size), -1)
FAILING(ssize_t, getrandom, (void *out, size_t size, unsigned flags), (out, size, flags), -1)
FAILING(int, setenv, (const char *name, const char *value, int replaces), (name, value, replaces),
        -1)

int fcntl64(int fd, int what, ...)
{
    va_list list;
    va_start(list, what);
    void *const argument = va_arg(list, void *);
    va_end(list);
    return fails("fcntl64") ? -1 : NEXT(fcntl64)(fd, what, argument);
}

int ioctl(int fd, unsigned long what, ...)
{
    va_list list;
    va_start(list, what);
    void *const argument = va_arg(list, void *);
    va_end(list);
    return fails("ioctl") ? -1 : NEXT(ioctl)(fd, what, argument);
}

int prctl(int what, ...);
int prctl(int what, ...)
{
    unsigned long a[4];
    va_list list;
    va_start(list, what);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(list, unsigned long);
    va_end(list);
    return fails("prctl") ? -1 : NEXT(prctl)(what, a[0], a[1], a[2], a[3]);
}

long syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    return fails("syscall") ? -1 : NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
