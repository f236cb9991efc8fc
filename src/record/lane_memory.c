#include "lane_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/risky_calls.h"
#include "memory_limit.h"
#include "system.h"

#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_SEAL_SEAL 1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW 4
#endif

enum {
    UNWRITTEN_MOST = 64 << 20, /* what a slow disk may keep in memory */
    UNWRITTEN_LEAST = 2,       /* segments */
    MEMORY_SHARE = 16,
    ADDRESS_SHARE = 16
};

enum keeper { KEEPER_NONE, KEEPER_BUSY, KEEPER_HAS_IT };

/* Through the directory's descriptor: the path may be too long for a socket address. */
static bool keeper_address(struct sockaddr_un *address, int dir_fd)
{
    struct stat status;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/" SS_KEEPER_SOCKET,
             dir_fd);
    return stat(address->sun_path, &status) == 0 && S_ISSOCK(status.st_mode) &&
           status.st_uid == geteuid();
}

static enum keeper send_to(const struct sockaddr_un *address, const char *name, int memory_fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct iovec text = {.iov_base = (void *)(uintptr_t)name, .iov_len = strlen(name)};
    struct msghdr message = {.msg_name = (void *)(uintptr_t)address,
                             .msg_namelen = sizeof *address,
                             .msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &memory_fd, sizeof memory_fd);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE ? KEEPER_BUSY : KEEPER_NONE;
    ssize_t sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    enum keeper keeper = sent >= 0 ? KEEPER_HAS_IT
                         : errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS
                             ? KEEPER_BUSY
                             : KEEPER_NONE;
    close(fd);
    return keeper;
}

static enum keeper offer(const struct store *store)
{
    struct sockaddr_un address;
    if (risky_call_kills(RISKY_SOCKET))
        return KEEPER_NONE;
    int dir_fd = open(store->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return KEEPER_NONE;
    enum keeper keeper = KEEPER_NONE;
    if (keeper_address(&address, dir_fd))
        keeper = send_to(&address, strrchr(store->path, '/') + 1, store->memory_fd);
    close(dir_fd);
    return keeper;
}

static bool fd_is_ours(const struct store *store)
{
    struct stat status;
    return store->memory_fd >= 0 && fstat(store->memory_fd, &status) == 0 &&
           status.st_ino == store->memory_ino && S_ISREG(status.st_mode) && status.st_nlink == 0;
}

void lane_memory_close(struct store *store)
{
    if (fd_is_ours(store))
        close(store->memory_fd);
    store->memory_fd = -1;
}

/* A sealed memory file of that size: it can neither shrink nor grow. */
static int make_fd(size_t bytes, ino_t *ino)
{
    struct stat status;
    if (!system_file_may_have(bytes) || risky_call_kills(RISKY_MEMFD))
        return -1;
    int fd = memfd_create("stepscope", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    fd = store_move_fd_up(fd);
    if (ftruncate(fd, (off_t)bytes) != 0 || fstat(fd, &status) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        close(fd);
        return -1;
    }
    *ino = status.st_ino;
    return fd;
}

/* The mapping is as large as the file may become. Where address space is limited, what it takes
 * would be missing in the program. */
static bool may_take_addresses(size_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           bytes <= limit.rlim_cur / ADDRESS_SHARE;
}

static bool map_memory(struct store *store)
{
    size_t bytes = (size_t)store->cap * SS_SEGMENT_BYTES;
    if (!may_take_addresses(bytes))
        return false;
    store->memory_fd = make_fd(bytes, &store->memory_ino);
    if (store->memory_fd < 0)
        return false;
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, store->memory_fd, 0);
    if (memory == MAP_FAILED) {
        lane_memory_close(store);
        return false;
    }
    (void)system_advise(memory, bytes, MADV_DONTFORK);
    (void)system_advise(memory, bytes, MADV_DONTDUMP);
    store->memory = memory;
    store->memory_bytes = bytes;
    return true;
}

static uint32_t most_unwritten(void)
{
    uint64_t bytes = memory_limit_bytes() / MEMORY_SHARE;
    bytes = bytes < UNWRITTEN_MOST ? bytes : UNWRITTEN_MOST;
    const uint32_t segments = (uint32_t)(bytes / SS_SEGMENT_BYTES);
    return segments > UNWRITTEN_LEAST ? segments : UNWRITTEN_LEAST;
}

/* Where what was copied cannot be given back, memory would grow with the file. */
static bool gives_back(const struct store *store)
{
    return system_advise(store->memory, SS_SEGMENT_BYTES, MADV_REMOVE) == 0;
}

static void limit_cap(struct store *store)
{
    const uint32_t most = UNWRITTEN_MOST / SS_SEGMENT_BYTES;
    if (store->cap > most)
        store->cap = store->own_cap = most;
}

void lane_memory_open(struct store *store)
{
    const bool may_map = store->in_memory || store->is_plain;
    if (!map_memory(store))
        return;
    if (!gives_back(store)) {
        if (may_map) {
            lane_memory_release(store);
            return;
        }
        limit_cap(store);
    }
    enum keeper keeper = offer(store);
    if (keeper == KEEPER_NONE && may_map) {
        lane_memory_release(store);
        return;
    }
    if (keeper != KEEPER_BUSY)
        lane_memory_close(store);
    store->unwritten_max = most_unwritten();
}

void lane_memory_offer(struct store *store)
{
    if (store->memory_fd < 0)
        return;
    if (!fd_is_ours(store) || offer(store) != KEEPER_BUSY)
        lane_memory_close(store);
}

void lane_memory_release(struct store *store)
{
    if (store->memory)
        munmap(store->memory, store->memory_bytes);
    store->memory = NULL;
    lane_memory_close(store);
}
