#include "experiment/protect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "experiment/mounts.h"

/* What older headers lack. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

enum { ABI_REFER = 2, ABI_TRUNCATE = 3 };

static const uint64_t writes = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                               LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                               LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                               LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                               LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;

/* Below the directory of the experiment: what scripts write, in memory, and their TMPDIR. */
#define COPY_DIR "copy"

static const char *const layers[] = {"upper", "work",      "cache-upper", "cache-work",
                                     "tmp",   "tmp-upper", "tmp-work"};

/* Unix sockets have 107 bytes for their path, of which the directory of an experiment may leave too
 * few: a copy of this one is TMPDIR. */
static const char short_tmp[] = "/var/tmp";

/* What has a copy besides the working directory: "" of what has none. */
struct copies {
    struct buf cache, tmp;
};

/* Without symbolic links. False: it is not there. */
static bool resolve(const char *path, struct buf *out)
{
    char *const real = realpath(path, NULL);

    if (real)
        buf_add_text(out, real);
    free(real);
    return real && !out->failed;
}

/* What the user's home holds of caches, which frameworks write to. False: there is none. */
static bool find_cache(struct buf *out)
{
    const char *home = getenv("HOME");
    struct buf path = {0};

    buf_printf(&path, "%s/.cache", home ? home : "");
    const bool found = home && home[0] == '/' && !path.failed && resolve(buf_text(&path), out);
    buf_release(&path);
    return found;
}

struct below {
    const char *folder, *dir;
    struct buf *found;
};

static int visit_below(void *context, const char *point)
{
    const struct below *const below = context;

    if (!path_is_below(point, below->folder) || strcmp(point, below->folder) == 0 ||
        path_is_below(point, below->dir))
        return 0;
    buf_add_text(below->found, point);
    return EBUSY;
}

/* A mount below `folder`, which an overlay would hide. Those below `dir` are put back. */
static bool find_mount_below(const char *folder, const char *dir, struct buf *out)
{
    struct below below = {folder, dir, out};

    return mounts_each(visit_below, &below) == EBUSY;
}

static int write_map(const char *name, const char *text)
{
    const int fd = open(name, O_WRONLY | O_CLOEXEC);
    const size_t size = strlen(text);

    if (fd < 0)
        return errno;
    const int failed = write(fd, text, size) == (ssize_t)size ? 0 : errno;
    close(fd);
    return failed;
}

/* Mounts of our own; without root in a user namespace in which we stay who we are. 0 or errno. */
static int own_mounts(void)
{
    const uid_t user = geteuid();
    const gid_t group = getegid();
    struct buf text = {0};
    int failed = 0;

    if (unshare(CLONE_NEWNS | (user ? CLONE_NEWUSER : 0)) != 0)
        return errno;
    if (user) {
        (void)write_map("/proc/self/setgroups", "deny");
        buf_printf(&text, "%u %u 1", user, user);
        failed = write_map("/proc/self/uid_map", buf_text(&text));
        buf_reset(&text);
        buf_printf(&text, "%u %u 1", group, group);
        if (!failed)
            failed = write_map("/proc/self/gid_map", buf_text(&text));
        buf_release(&text);
    }
    if (!failed && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        failed = errno;
    return failed;
}

static int mount_memory(const char *copy)
{
    struct buf path = {0};
    int failed = 0;

    if (mount("stepscope", copy, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700,size=50%") != 0)
        return errno;
    for (size_t i = 0; i < sizeof layers / sizeof layers[0] && !failed; i++) {
        buf_reset(&path);
        buf_printf(&path, "%s/%s", copy, layers[i]);
        failed = path.failed ? ENOMEM : mkdir(buf_text(&path), 0700) != 0 ? errno : 0;
    }
    buf_release(&path);
    return failed;
}

/* Overlays take options apart at commas and colons. */
static bool can_be_an_option(const char *path)
{
    return !strpbrk(path, ",:\\");
}

/* `copy` is a path that stays reachable when the directory has been covered. */
static int cover(const char *folder, const char *copy, const char *upper, const char *work)
{
    struct buf options = {0};
    int failed = 0;

    if (!can_be_an_option(folder) || !can_be_an_option(copy))
        return EINVAL;
    buf_printf(&options, "lowerdir=%s,upperdir=%s/%s,workdir=%s/%s%s", folder, copy, upper, copy,
               work, geteuid() ? ",userxattr" : "");
    if (options.failed)
        failed = ENOMEM;
    else if (mount("stepscope", folder, "overlay", 0, buf_text(&options)) != 0)
        failed = errno;
    buf_release(&options);
    return failed;
}

/* Again on top of what covers it: records of the run are to stay. */
static int put_back(int fd, const char *dir)
{
    struct buf path = {0};
    int failed = 0;

    buf_printf(&path, "/proc/self/fd/%d", fd);
    if (mount(buf_text(&path), dir, NULL, MS_BIND | MS_REC, NULL) != 0)
        failed = errno;
    buf_release(&path);
    return failed;
}

/* A folder besides the working directory, if that is possible; then it stands in `out`. */
static void cover_aside(const struct protect *protect, const char *folder, int fd,
                        const char *const layer[2], struct buf *out)
{
    const char *const cwd = buf_text(&protect->cwd), *const dir = buf_text(&protect->dir);
    struct buf copy = {0}, mounted = {0};

    buf_printf(&copy, "%s/" COPY_DIR, dir);
    if (!path_is_below(cwd, folder) && !path_is_below(folder, cwd) && !copy.failed &&
        !find_mount_below(folder, dir, &mounted) &&
        cover(folder, buf_text(&copy), layer[0], layer[1]) == 0) {
        if (!path_is_below(dir, folder) || put_back(fd, dir) == 0)
            buf_add_text(out, folder);
        else
            (void)umount2(folder, MNT_DETACH);
    }
    buf_release(&mounted);
    buf_release(&copy);
}

static void cover_others(const struct protect *protect, int fd, struct copies *copies)
{
    static const char *const of_cache[] = {"cache-upper", "cache-work"};
    static const char *const of_tmp[] = {"tmp-upper", "tmp-work"};
    struct buf cache = {0}, tmp = {0};

    if (find_cache(&cache))
        cover_aside(protect, buf_text(&cache), fd, of_cache, &copies->cache);
    if (resolve(short_tmp, &tmp))
        cover_aside(protect, buf_text(&tmp), fd, of_tmp, &copies->tmp);
    buf_release(&cache);
    buf_release(&tmp);
}

/* Landlock forbids to write files, not to change their modes, owners and times. What is to stay
 * writable has to be a mount. */
static int freeze_others(const struct protect *protect, int fd, const struct copies *copies)
{
    const char *const cwd = buf_text(&protect->cwd), *const dir = buf_text(&protect->dir);
    const char *const cache = buf_text(&copies->cache), *const tmp = buf_text(&copies->tmp);
    const char *const kept[] = {cwd, dir, cache, tmp};
    const bool is_mount = path_is_below(dir, cwd) || (cache[0] && path_is_below(dir, cache)) ||
                          (tmp[0] && path_is_below(dir, tmp));
    const int failed = is_mount ? 0 : put_back(fd, dir);

    return failed ? failed : mounts_make_read_only(kept, sizeof kept / sizeof kept[0]);
}

/* An overlay over "/" is mounted, but cannot be entered. */
static int enter_copy(const char *cwd, dev_t before)
{
    struct stat status;

    if (chdir(cwd) != 0 || stat(".", &status) != 0)
        return errno;
    return status.st_dev == before ? EINVAL : 0;
}

static int overlay(const struct protect *protect, struct copies *copies)
{
    const char *const cwd = buf_text(&protect->cwd), *const dir = buf_text(&protect->dir);
    struct buf copy = {0};
    struct stat before;

    if (protect->mounted.size > 0)
        return EBUSY;
    int failed = stat(cwd, &before) != 0 ? errno : own_mounts();
    buf_printf(&copy, "%s/" COPY_DIR, dir);
    if (!failed)
        failed = mount_memory(buf_text(&copy));
    const int fd = failed ? -1 : open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!failed && fd < 0)
        failed = errno;
    if (!failed)
        failed = cover(cwd, buf_text(&copy), "upper", "work");
    if (!failed && path_is_below(dir, cwd))
        failed = put_back(fd, dir);
    if (!failed)
        cover_others(protect, fd, copies);
    if (!failed)
        failed = freeze_others(protect, fd, copies);
    if (!failed)
        failed = enter_copy(cwd, before.st_dev);
    if (fd >= 0)
        close(fd);
    buf_release(&copy);
    return failed;
}

static int allow(int rules, uint64_t access, const char *path)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = access};

    rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0)
        return errno;
    const long failed = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    const int os_error = failed ? errno : 0;
    close(rule.parent_fd);
    return os_error;
}

/* From now on this process writes only where it may: in what has a copy too. */
static int forbid(const struct protect *protect, const struct copies *copies)
{
    const long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct landlock_ruleset_attr rules = {.handled_access_fs = writes};

    if (abi < 1)
        return errno;
    if (abi >= ABI_REFER)
        rules.handled_access_fs |= LANDLOCK_ACCESS_FS_REFER;
    if (abi >= ABI_TRUNCATE)
        rules.handled_access_fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
    const long fd = syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
    if (fd < 0)
        return errno;
    int failed = allow((int)fd, rules.handled_access_fs, buf_text(&protect->dir));
    if (!failed)
        failed = allow((int)fd, rules.handled_access_fs, "/dev");
    (void)allow((int)fd, LANDLOCK_ACCESS_FS_WRITE_FILE, "/proc");
    if (!failed && protect->level == PROTECT_COPY)
        failed = allow((int)fd, rules.handled_access_fs, buf_text(&protect->cwd));
    if (!failed && copies->cache.size > 0)
        failed = allow((int)fd, rules.handled_access_fs, buf_text(&copies->cache));
    if (!failed && copies->tmp.size > 0)
        failed = allow((int)fd, rules.handled_access_fs, buf_text(&copies->tmp));
    if (!failed && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        failed = errno;
    if (!failed && syscall(SYS_landlock_restrict_self, (int)fd, 0) != 0)
        failed = errno;
    close((int)fd);
    return failed;
}

static void set_temporary(const struct protect *protect, const struct copies *copies)
{
    struct buf path = {0};

    if (copies->tmp.size > 0) {
        (void)setenv("TMPDIR", short_tmp, 1);
        return;
    }
    buf_printf(&path, "%s/" COPY_DIR "/tmp", buf_text(&protect->dir));
    (void)mkdir(buf_text(&path), 0700); /* it is there in a copy */
    (void)setenv("TMPDIR", buf_text(&path), 1);
    buf_release(&path);
}

/* Trackers have switches of their own; what a user has set stays. */
static void silence_trackers(void)
{
    static const char *const switches[][2] = {{"WANDB_MODE", "disabled"},
                                              {"CLEARML_OFFLINE_MODE", "1"},
                                              {"NEPTUNE_MODE", "debug"},
                                              {"COMET_MODE", "disabled"}};

    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        (void)setenv(switches[i][0], switches[i][1], 0);
}

int protect_enter(const struct protect *protect)
{
    struct copies copies = {{0}, {0}};
    int failed = 0;

    silence_trackers();
    if (protect->level == PROTECT_NONE)
        return 0;
    if (protect->level == PROTECT_COPY)
        failed = overlay(protect, &copies);
    if (!failed)
        set_temporary(protect, &copies);
    if (!failed)
        failed = forbid(protect, &copies);
    if (!failed && protect->level == PROTECT_REFUSE)
        failed = metadata_forbid();
    buf_release(&copies.cache);
    buf_release(&copies.tmp);
    return failed;
}

/* Files of a group or user that has no number in our namespace cannot be made. 0 or errno. */
static int try_to_write(void)
{
    static const char name[] = ".stepscope-try";
    const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return errno;
    close(fd);
    return unlink(name) == 0 ? 0 : errno;
}

static int try_in_child(const struct protect *protect)
{
    const int failed = protect_enter(protect);

    return failed || protect->level != PROTECT_COPY ? failed : try_to_write();
}

/* In a child: what is tried there is gone with it. 0 or errno. */
static int try_level(struct protect *protect, enum protection level)
{
    int status;

    protect->level = level;
    const pid_t child = fork();
    if (child < 0)
        return errno;
    if (child == 0)
        _exit(try_in_child(protect));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

int protect_init(struct protect *protect, const char *dir)
{
    char *cwd = realpath(".", NULL), *own = realpath(dir, NULL);
    struct buf copy = {0};
    int failed = cwd && own ? 0 : errno;

    *protect = (struct protect){.level = PROTECT_NONE};
    buf_add_text(&protect->cwd, cwd ? cwd : "");
    buf_add_text(&protect->dir, own ? own : "");
    free(cwd);
    free(own);
    buf_printf(&copy, "%s/" COPY_DIR, buf_text(&protect->dir));
    if (!failed && mkdir(buf_text(&copy), 0700) != 0 && errno != EEXIST)
        failed = errno;
    buf_release(&copy);
    if (failed)
        return failed;
    (void)find_mount_below(buf_text(&protect->cwd), buf_text(&protect->dir), &protect->mounted);
    protect->overlay_error = try_level(protect, PROTECT_COPY);
    if (protect->overlay_error && try_level(protect, PROTECT_REFUSE) != 0)
        protect->level = PROTECT_NONE;
    return 0;
}

void protect_release(struct protect *protect)
{
    struct buf path = {0};

    buf_printf(&path, "%s/" COPY_DIR "/tmp", buf_text(&protect->dir));
    (void)rmdir(buf_text(&path));
    buf_reset(&path);
    buf_printf(&path, "%s/" COPY_DIR, buf_text(&protect->dir));
    (void)rmdir(buf_text(&path));
    buf_release(&path);
    buf_release(&protect->cwd);
    buf_release(&protect->dir);
    buf_release(&protect->mounted);
}

const char *protect_text(enum protection level)
{
    switch (level) {
    case PROTECT_COPY:
        return "no file of yours was changed (network and devices are not protected)";
    case PROTECT_REFUSE:
        return "writes were refused, so no file of yours was changed (network and devices are not "
               "protected)";
    case PROTECT_NONE:
        break;
    }
    return "files were not protected";
}

const char *protect_word(enum protection level)
{
    static const char *const words[] = {"copy", "refuse", "none"};

    return words[level];
}
