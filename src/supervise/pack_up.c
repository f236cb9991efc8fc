#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/files.h"
#include "load/run_pack.h"
#include "supervise/descriptors.h"
#include "supervise/supervise_parts.h"

/* As the kernel has them; libc has none of them. */
enum { IO_WHO_PROCESS = 1, IO_CLASS_IDLE = 3 << 13, NICEST = 19 };

/* Of the files: some 0.3 s of a core; each of them is flushed to the disk. */
static const uint64_t most_at_once = 64 << 20;
enum {
    FILES_AT_ONCE = 16,
    NO_FILES = 8 /* entries of a run that are not packed: ".", "..", its manifest, ... */
};

static size_t count_entries(const char *path)
{
    DIR *const dir = opendir(path);
    size_t count = 0;

    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

/* A run that stays unpacked is whole all the same. */
static void pack(const char *path, bool (*may_go_on)(void *context), void *context)
{
    struct run_pack wish = {.path = path, .may_go_on = may_go_on, .context = context};
    struct ss_error error;

    (void)run_pack(&wish, &error);
}

void step_back(void)
{
    const struct sched_param none = {0};

    (void)setpriority(PRIO_PROCESS, 0, NICEST);
    (void)sched_setscheduler(0, SCHED_IDLE, &none);
    (void)syscall(SYS_ioprio_set, IO_WHO_PROCESS, 0, IO_CLASS_IDLE);
}

static void pack_in_background(const char *path)
{
    sigset_t none;

    if (fork() != 0)
        return;
    (void)setsid();
    descriptors_keep_only(NULL, 0);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    step_back();
    pack(path, NULL, NULL);
    _exit(0);
}

void pack_up(const char *path, bool at_once, bool (*may_go_on)(void *context), void *context)
{
    uint64_t bytes = 0;

    if (!run_pack_is_possible())
        return;
    (void)file_tree_bytes(path, &bytes); /* as far as it can be read */
    if (at_once || (bytes <= most_at_once && count_entries(path) <= FILES_AT_ONCE + NO_FILES))
        pack(path, may_go_on, context);
    else
        pack_in_background(path);
}
