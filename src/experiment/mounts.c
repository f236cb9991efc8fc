#include "experiment/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What older headers lack; Landlock is younger than this call. */
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
struct attributes {
    uint64_t set, clear, propagation, namespace_fd;
};
enum { READ_ONLY = 1 };

#if defined __x86_64__
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

struct kept {
    const char *const *points;
    size_t count;
};

bool path_is_below(const char *path, const char *folder)
{
    const size_t size = strlen(folder);

    return strcmp(folder, "/") == 0 ||
           (strncmp(path, folder, size) == 0 && (path[size] == '/' || path[size] == '\0'));
}

/* The fifth word of a line of mountinfo, in place; blanks and the like are octal in it. */
static char *mount_point(char *line)
{
    char *word = line;

    for (int i = 0; i < 4 && word; i++)
        if ((word = strchr(word, ' ')))
            word++;
    if (!word)
        return NULL;
    word[strcspn(word, " \n")] = '\0';
    char *out = word;
    for (const char *in = word; *in; out++)
        if (in[0] == '\\' && strspn(in + 1, "01234567") >= 3) {
            *out = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
            in += 4;
        } else
            *out = *in++;
    *out = '\0';
    return word;
}

int mounts_each(int (*visit)(void *context, const char *point), void *context)
{
    FILE *const mounts = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t room = 0;
    int result = mounts ? 0 : errno;

    while (mounts && !result && getline(&line, &room, mounts) > 0) {
        const char *const point = mount_point(line);
        result = point ? visit(context, point) : 0;
    }
    free(line);
    if (mounts)
        fclose(mounts);
    return result;
}

/* What cannot be reached, since it is hidden or belongs to others, needs no protection. */
static int make_read_only(void *context, const char *point)
{
    const struct kept *const kept = context;
    struct attributes attributes = {.set = READ_ONLY};

    if (path_is_below(point, "/proc") || path_is_below(point, "/dev"))
        return 0;
    for (size_t i = 0; i < kept->count; i++)
        if (kept->points[i][0] && path_is_below(point, kept->points[i]))
            return 0;
    if (syscall(SYS_mount_setattr, AT_FDCWD, point, AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW,
                &attributes, sizeof attributes) == 0 ||
        errno == ENOENT || errno == EACCES || errno == EINVAL)
        return 0;
    return errno;
}

int mounts_make_read_only(const char *const *kept, size_t count)
{
    struct kept all = {kept, count};

    return mounts_each(make_read_only, &all);
}

#ifdef OWN_ARCH
static const uint32_t calls[] = {
#ifdef SYS_chmod /* younger machines have only the calls with a directory */
    SYS_chmod,       SYS_chown,        SYS_lchown,       SYS_utime,
    SYS_utimes,      SYS_futimesat,
#endif
    SYS_fchmod,      SYS_fchmodat,     SYS_fchown,       SYS_fchownat,
    SYS_utimensat,   SYS_setxattr,     SYS_lsetxattr,    SYS_fsetxattr,
    SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, 452 /* fchmodat2 */};

int metadata_forbid(void)
{
    enum { FIXED = 4, CALLS = sizeof calls / sizeof calls[0] };
    struct sock_filter filter[FIXED + CALLS + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), /* programs of 32 bits */
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    size_t at = FIXED;

    for (size_t i = 0; i < CALLS; i++, at++)
        filter[at] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i],
                                                  (uint8_t)(CALLS - i), 0);
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES);
    const struct sock_fprog program = {(unsigned short)at, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return errno;
    return 0;
}
#else
int metadata_forbid(void)
{
    return ENOSYS;
}
#endif
