#include "system.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/risky_calls.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t system_coarse_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC_COARSE);
}

int64_t system_thread_cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void system_random(void *out, size_t bytes)
{
    if (getrandom(out, bytes, GRND_NONBLOCK) == (ssize_t)bytes)
        return;
    uint64_t state = (uint64_t)clock_ns(CLOCK_REALTIME) ^ (uint64_t)getpid() << 40;
    for (size_t i = 0; i < bytes; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        ((uint8_t *)out)[i] = (uint8_t)(state >> 56);
    }
}

uint32_t system_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

int system_thread_exists(uint32_t tid)
{
    return syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) == 0 || errno != ESRCH;
}

size_t system_read_file(const char *path, char *out, size_t size)
{
    size_t used = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n;
        while (used < size - 1 && (n = read(fd, out + used, size - 1 - used)) > 0)
            used += (size_t)n;
        close(fd);
    }
    out[used] = '\0';
    return used;
}

uint64_t system_process_start(void)
{
    char text[1024];
    system_read_file("/proc/self/stat", text, sizeof text);
    char *p = strrchr(text, ')'); /* the name before it may hold spaces and brackets */
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    return p ? strtoull(p + 1, NULL, 10) : 0;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void system_boot_id(uint8_t out[16])
{
    char text[64];
    memset(out, 0, 16);
    system_read_file("/proc/sys/kernel/random/boot_id", text, sizeof text);
    int nibble = 0;
    for (const char *p = text; *p && nibble < 32; p++) {
        int digit = hex_digit(*p);
        if (digit >= 0) {
            out[nibble / 2] = (uint8_t)(out[nibble / 2] << 4 | digit);
            nibble++;
        }
    }
}

void *system_map_private(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

int system_advise(void *p, size_t bytes, int advice)
{
    if (risky_call_kills(RISKY_MADVISE)) {
        errno = EPERM;
        return -1;
    }
    return madvise(p, bytes, advice);
}

void system_wipe_on_fork(void *page, size_t bytes)
{
    (void)system_advise(page, bytes, MADV_WIPEONFORK);
}

void system_unmap(void *memory, size_t bytes)
{
    munmap(memory, bytes);
}

void system_stay_resident(void)
{
    Dl_info info;
    struct link_map *map = NULL;
    void *here = (void *)(uintptr_t)system_stay_resident;
    if (dladdr1(here, &info, (void **)&map, RTLD_DL_LINKMAP) && map &&
        map->l_name[0]) /* the program itself has no name, and stays anyway */
        (void)dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

bool system_wait(_Atomic uint32_t *word, uint32_t value, int microseconds)
{
    const struct timespec wait = {microseconds / 1000000, microseconds % 1000000 * 1000L};
    if (atomic_load(word) == value)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &wait, NULL, 0);
    return atomic_load(word) == value;
}

void system_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void system_enter(struct system_visit *visit)
{
    visit->error_number = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &visit->cancel_state);
}

void system_leave(const struct system_visit *visit)
{
    pthread_setcancelstate(visit->cancel_state, NULL);
    errno = visit->error_number;
}

bool system_file_may_have(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           bytes <= limit.rlim_cur;
}

/* Asked every second, so without a descriptor: a thread that has ended has no program any more. */
static bool main_thread_has_ended(void)
{
    char path[64], target[8];
    snprintf(path, sizeof path, "/proc/self/task/%ld/exe", (long)getpid());
    return readlink(path, target, sizeof target) < 0 && errno == ENOENT;
}

/* Also true of a thread that has just ended. */
static bool is_thread_called(const char *tid, const char *name)
{
    char path[300], text[32];
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", tid);
    size_t n = system_read_file(path, text, sizeof text);
    return n == 0 || (n == strlen(name) + 1 && strncmp(text, name, n - 1) == 0);
}

bool system_only_threads_called(const char *name)
{
    DIR *threads = main_thread_has_ended() ? opendir("/proc/self/task") : NULL;
    bool only = threads != NULL;
    for (struct dirent *entry; only && (entry = readdir(threads));) {
        only = entry->d_name[0] == '.' || strtol(entry->d_name, NULL, 10) == getpid() ||
               is_thread_called(entry->d_name, name);
    }
    if (threads)
        closedir(threads);
    return only;
}
