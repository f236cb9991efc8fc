#include "supervise/held_process.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervise/now.h"
#include "supervise/proc_file.h"
#include "supervise/proc_text.h"

enum { STATE = 3, EXIT_CODE = 52 }; /* fields of /proc/PID/stat, counted from 1 */

static bool read_process(const char *path, char *text, size_t size, struct proc_process *out)
{
    return proc_read(path, text, size) && proc_text_process(text, out);
}

static bool is_killed(pid_t pid, const char *tid)
{
    char path[320], text[4096];

    snprintf(path, sizeof path, "/proc/%ld/task/%.20s/status", (long)pid, tid);
    const char *const pending = proc_read(path, text, sizeof text) ? strstr(text, "\nSigPnd:") : 0;
    return pending && strtoull(pending + strlen("\nSigPnd:"), NULL, 16) >> (SIGKILL - 1) & 1;
}

static bool is_over(char state)
{
    return state == 'Z' || state == 'X';
}

/* Each thread is over, or was killed and waits for a disk; one of these at least. */
static bool only_held_are_left(pid_t pid)
{
    char path[320], text[1024];
    struct proc_process thread;
    size_t held = 0;

    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    DIR *const threads = opendir(path);
    bool only = threads != NULL;
    for (struct dirent *entry; only && (entry = readdir(threads));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%ld/task/%.20s/stat", (long)pid, entry->d_name);
        only = read_process(path, text, sizeof text, &thread);
        if (only && !is_over(thread.state)) {
            only = thread.state == 'D' && is_killed(pid, entry->d_name);
            held++;
        }
    }
    if (threads)
        closedir(threads);
    return only && held > 0;
}

static struct timeval time_of(uint64_t ticks)
{
    const long per_s = sysconf(_SC_CLK_TCK);

    return (struct timeval){.tv_sec = (long)ticks / per_s,
                            .tv_usec = (long)ticks % per_s * (1000000 / per_s)};
}

static int status_of(const char *stat)
{
    const char *at = strrchr(stat, ')');

    for (int i = STATE; at && i <= EXIT_CODE; i++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at ? (int)strtol(at, NULL, 10) : 0;
}

/* The kernel shows how a process ends to those who may trace it. */
static bool may_see_status(const char *path)
{
    struct stat status;

    return geteuid() == 0 || (stat(path, &status) == 0 && status.st_uid == geteuid());
}

bool held_process_look(pid_t pid, struct held_process *held)
{
    char path[64], text[1024];
    struct proc_process process;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    if (!read_process(path, text, sizeof text, &process) || !is_over(process.state) ||
        !may_see_status(path) || !only_held_are_left(pid))
        return false;
    *held = (struct held_process){.status = status_of(text)};
    held->usage.ru_utime = time_of(process.user);
    held->usage.ru_stime = time_of(process.system);
    return true;
}

/* Reads and writes of the main thread so far: others may go on without it. */
static uint64_t count_calls(pid_t pid)
{
    char path[64], text[1024];
    uint64_t reads = 0, writes = 0;

    snprintf(path, sizeof path, "/proc/%ld/task/%ld/io", (long)pid, (long)pid);
    if (proc_read(path, text, sizeof text)) {
        (void)proc_text_field(text, "syscr", &reads);
        (void)proc_text_field(text, "syscw", &writes);
    }
    return reads + writes;
}

int64_t disk_wait_look(struct disk_wait *wait, pid_t pid)
{
    char path[64], text[1024];
    struct proc_process process;

    snprintf(path, sizeof path, "/proc/%ld/task/%ld/stat", (long)pid, (long)pid);
    if (!read_process(path, text, sizeof text, &process) || process.state != 'D') {
        *wait = (struct disk_wait){0};
        return 0;
    }
    const uint64_t work = process.user + process.system + count_calls(pid);
    if (wait->since_ns == 0 || work != wait->work)
        *wait = (struct disk_wait){.since_ns = now_ns(), .work = work};
    return now_ns() - wait->since_ns;
}
