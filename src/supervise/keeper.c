#include "supervise/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/risky_calls.h"
#include "stepscope/format.h"
#include "supervise/now.h"
#include "supervise/proc_file.h"

enum {
    NAME_SIZE = 128,
    SPARE_FDS = 16, /* that the supervisor needs for all else */
    PAUSES = 20,    /* of the time that a look takes, while few processes end */
    FEW_DEAD = 16,  /* else what they leave would pile up */
    CROWD = 32,
    FIRST_SHARE = 16 /* of what is left of the budget: until the next look at the run */
};
static const int64_t silence_ns = 5000000000;   /* after it, a memory is of no process any more */
static const int64_t pause_ns = 1000000000;     /* between looks for processes that have died */
static const int64_t short_pause_ns = 50000000; /* the same, when one has begun: others may end */

struct kept {
    int fd;
    pid_t pid;
    uint64_t start_ticks; /* 0: not known */
    char name[NAME_SIZE]; /* of its file */
    struct kept *next;
};

struct keeper {
    int fd, dir;
    bool is_full; /* no descriptor is left: what is sent waits in the socket */
    struct kept *first;
    size_t dead, crowd_dead; /* so far; when a crowd was last seen */
    int64_t crowd_at_ns;
    int64_t next_look_ns, next_early_ns;
    uint64_t left_bytes;
    unsigned char segment[SS_SEGMENT_BYTES];
};

static bool bind_in(int fd, int dir)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" SS_KEEPER_SOCKET, dir);
    return bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
}

struct keeper *keeper_open(int dir)
{
    struct keeper *keeper = risky_call_kills(RISKY_SOCKET) ? NULL : calloc(1, sizeof *keeper);
    const int on = 1;

    if (!keeper)
        return NULL;
    keeper->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    keeper->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (keeper->dir >= 0 && keeper->fd >= 0 &&
        setsockopt(keeper->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
        bind_in(keeper->fd, keeper->dir))
        return keeper;
    if (keeper->fd >= 0)
        close(keeper->fd);
    if (keeper->dir >= 0)
        close(keeper->dir);
    free(keeper);
    return NULL;
}

int keeper_fd(const struct keeper *keeper)
{
    return keeper && !keeper->is_full ? keeper->fd : -1;
}

void keeper_raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

size_t keeper_fds(const struct keeper *keeper, int out[KEEPER_FDS])
{
    if (!keeper)
        return 0;
    out[0] = keeper->fd;
    out[1] = keeper->dir;
    return KEEPER_FDS;
}

/* p-....ssp, and no path. */
static bool is_file_name(const char *name)
{
    const size_t length = strlen(name), suffix = sizeof SS_FILE_SUFFIX - 1;

    return length > suffix && strncmp(name, "p-", 2) == 0 && !strchr(name, '/') &&
           strcmp(name + length - suffix, SS_FILE_SUFFIX) == 0;
}

/* A memory file that cannot shrink while it is read. */
static bool is_sealed(int fd)
{
    const int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

static void grant(const struct kept *kept, uint64_t bytes)
{
    const uint64_t granted = bytes > 0 ? bytes : 1;

    (void)!pwrite(kept->fd, &granted, sizeof granted,
                  offsetof(struct ss_file_header, granted_bytes));
}

static void keep(struct keeper *keeper, const char *name, int fd, const struct ucred *sender)
{
    struct kept *kept = NULL;

    if (is_file_name(name) && (sender->uid == geteuid() || sender->uid == 0) && is_sealed(fd))
        kept = calloc(1, sizeof *kept);
    if (!kept) {
        close(fd);
        return;
    }
    kept->fd = fd;
    kept->pid = sender->pid;
    kept->start_ticks = proc_start_of(sender->pid);
    memcpy(kept->name, name, strlen(name) + 1);
    kept->next = keeper->first;
    keeper->first = kept;
    if (keeper->left_bytes)
        grant(kept, keeper->left_bytes / FIRST_SHARE);
}

void keeper_note_left(struct keeper *keeper, uint64_t bytes)
{
    if (keeper)
        keeper->left_bytes = bytes > 0 ? bytes : 1;
}

void keeper_grant(struct keeper *keeper, const char *name, uint64_t bytes)
{
    for (struct kept *kept = keeper ? keeper->first : NULL; kept; kept = kept->next)
        if (strcmp(kept->name, name) == 0)
            grant(kept, bytes);
}

union control {
    char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
    struct cmsghdr align;
};

/* Whether a message may be taken: the kernel drops a descriptor that there is no number for. The
 * next free number tells how many are in use. */
static bool has_room(const struct keeper *keeper)
{
    struct rlimit limit;
    const int next = fcntl(keeper->fd, F_DUPFD_CLOEXEC, 0);

    if (next < 0)
        return false;
    close(next);
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)next + SPARE_FDS < limit.rlim_cur;
}

/* One message; false: there is none, or no room for what it holds. */
static bool take_one(struct keeper *keeper)
{
    char name[NAME_SIZE];
    union control control = {.bytes = {0}};
    struct iovec text = {.iov_base = name, .iov_len = sizeof name - 1};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct ucred sender = {.uid = (uid_t)-1};
    int fd = -1;

    keeper->is_full = !has_room(keeper);
    if (keeper->is_full)
        return false;
    const ssize_t size = recvmsg(keeper->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0)
        return errno == EINTR;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            memcpy(&fd, CMSG_DATA(c), sizeof fd);
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
            memcpy(&sender, CMSG_DATA(c), sizeof sender);
    }
    name[size] = '\0';
    if (fd >= 0)
        keep(keeper, name, fd, &sender);
    return true;
}

static bool write_all(int fd, const unsigned char *bytes, size_t size, off_t at)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = pwrite(fd, bytes + done, size - done, at + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static bool read_segment(struct keeper *keeper, int fd, off_t at)
{
    return pread(fd, keeper->segment, SS_SEGMENT_BYTES, at) == SS_SEGMENT_BYTES;
}

/* What has no lease has not been used since it was copied. */
static bool is_in_use(const unsigned char *segment)
{
    struct ss_segment_header header;

    memcpy(&header, segment, sizeof header);
    return header.magic == SS_SEGMENT_MAGIC && header.lease != 0;
}

/* All segments but the first that are in the memory: the others have been copied. */
static bool copy_segments(struct keeper *keeper, int memory, int file)
{
    off_t at = SS_SEGMENT_BYTES;

    while ((at = lseek(memory, at, SEEK_DATA)) >= 0) {
        at -= at % SS_SEGMENT_BYTES;
        if (!read_segment(keeper, memory, at) ||
            (is_in_use(keeper->segment) && !write_all(file, keeper->segment, SS_SEGMENT_BYTES, at)))
            return false;
        at += SS_SEGMENT_BYTES;
    }
    return errno == ENXIO;
}

/* The header goes last: once it says that the file is complete, it is. */
static bool copy_rest(struct keeper *keeper, const struct kept *kept, int file)
{
    const uint64_t complete = SS_COPY_COMPLETE;
    struct ss_file_header *const header = (void *)keeper->segment;

    if (!copy_segments(keeper, kept->fd, file) || !read_segment(keeper, kept->fd, 0))
        return false;
    if (memcmp(header->magic, SS_FILE_MAGIC, sizeof header->magic) != 0)
        return true; /* it died while it made its file */
    header->copy = SS_COPY_BEHIND;
    if (!write_all(file, keeper->segment, SS_SEGMENT_BYTES, 0))
        return false;
    return write_all(file, (const unsigned char *)&complete, sizeof complete,
                     offsetof(struct ss_file_header, copy));
}

/* It had not come to that: its disk was frozen, say. A file that was removed stays so. */
static bool made_no_file(const struct kept *kept)
{
    struct ss_file_header header;

    return pread(kept->fd, &header, sizeof header, 0) == sizeof header &&
           memcmp(header.magic, SS_FILE_MAGIC, sizeof header.magic) == 0 && header.copy == 0;
}

static void complete(struct keeper *keeper, const struct kept *kept)
{
    struct stat status;
    const int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int file = openat(keeper->dir, kept->name, flags);

    if (file < 0 && errno == ENOENT && made_no_file(kept))
        file = openat(keeper->dir, kept->name, flags | O_CREAT | O_EXCL, 0600);

    if (file < 0)
        return;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode))
        (void)copy_rest(keeper, kept, file);
    close(file);
}

/* A process that became another program by exec goes on, but its beat does not. */
static bool is_silent(const struct kept *kept)
{
    struct ss_file_header header;

    if (pread(kept->fd, &header, sizeof header, 0) != sizeof header || header.paused)
        return false;
    const int64_t beat_ns =
        header.beats ? header.beat[header.beats & 1].raw_ns : header.start_raw_ns;
    return now_raw_ns() - beat_ns >= silence_ns;
}

static bool has_died(const struct kept *kept)
{
    if (kept->pid <= 0) /* in a namespace that we cannot see */
        return is_silent(kept);
    return proc_has_died(kept->pid, kept->start_ticks);
}

void keeper_follow(struct keeper *keeper)
{
    bool is_new = false;

    while (keeper && take_one(keeper))
        is_new = true;
    if (keeper && now_ns() >= (is_new ? keeper->next_early_ns : keeper->next_look_ns))
        keeper_complete(keeper, false);
}

/* Returns how many there were. */
static size_t complete_dead(struct keeper *keeper, bool at_end)
{
    size_t dead = 0;

    for (struct kept **link = &keeper->first; *link;) {
        struct kept *const kept = *link;
        if (!has_died(kept) && !(at_end && (kept->pid <= 0 || is_silent(kept)))) {
            link = &kept->next;
            continue;
        }
        complete(keeper, kept);
        *link = kept->next;
        close(kept->fd);
        free(kept);
        dead++;
    }
    return dead;
}

void keeper_complete(struct keeper *keeper, bool at_end)
{
    const int64_t start_ns = now_cpu_ns();
    size_t dead;

    if (!keeper)
        return;
    do {
        while (take_one(keeper))
            ;
        dead = complete_dead(keeper, at_end);
        keeper->dead += dead;
    } while (dead > 0 && keeper->is_full);
    const int64_t look_ns = now_cpu_ns() - start_ns;
    keeper->next_early_ns =
        now_ns() + short_pause_ns + (dead < FEW_DEAD ? PAUSES * look_ns : look_ns);
    keeper->next_look_ns = keeper->next_early_ns + pause_ns;
}

int64_t keeper_crowd_ns(struct keeper *keeper)
{
    const int64_t present_ns = now_ns();

    if (!keeper)
        return INT64_MAX;
    if (keeper->dead - keeper->crowd_dead >= CROWD && present_ns >= keeper->crowd_at_ns) {
        keeper->crowd_dead = keeper->dead;
        keeper->crowd_at_ns = present_ns + silence_ns + pause_ns;
    }
    return keeper->crowd_at_ns > present_ns ? keeper->crowd_at_ns : INT64_MAX;
}

bool keeper_has_any(const struct keeper *keeper)
{
    return keeper && keeper->first;
}

void keeper_forget(struct keeper *keeper)
{
    while (keeper && keeper->first) {
        struct kept *const kept = keeper->first;
        keeper->first = kept->next;
        close(kept->fd);
        free(kept);
    }
    free(keeper);
}

void keeper_close(struct keeper *keeper)
{
    if (!keeper)
        return;
    unlinkat(keeper->dir, SS_KEEPER_SOCKET, 0);
    close(keeper->fd);
    close(keeper->dir);
    keeper_forget(keeper);
}
