/* The command and every process below it.
 *
 * New processes are looked for once a second, and only if the kernel has given out a pid since:
 * then those newer than the last that was seen.
 *
 * A process that has ended is in the account of the one that waited for it, and nowhere if none
 * did. So what it had used, as last seen, is kept as `gone`, less what the nearest process above it
 * that lives has risen by in the same time from children. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "supervise/now.h"
#include "supervise/sources.h"

enum {
    PROCESSES_MOST = 4096,
    PROCESSES_KEPT_OPEN = 256, /* the files of others are opened each time */
    PROCESSES_TOLD = 64,
    ROUNDS_OF_IO = 4
};

static uint64_t ns_of_ticks(uint64_t ticks)
{
    return ticks * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
}

static struct process_source *find(struct source_tree *tree, pid_t pid)
{
    for (size_t i = 0; i < tree->count; i++)
        if (tree->process[i].pid == pid)
            return &tree->process[i];
    return NULL;
}

static bool add(struct source_tree *tree, pid_t pid)
{
    if (tree->count == PROCESSES_MOST)
        return false;
    if (tree->count == tree->capacity) {
        const size_t capacity = tree->capacity ? tree->capacity * 2 : 16;
        struct process_source *grown = realloc(tree->process, capacity * sizeof *tree->process);
        if (!grown)
            return false;
        tree->process = grown;
        tree->capacity = capacity;
    }
    tree->process[tree->count++] = (struct process_source){.pid = pid};
    return true;
}

static void close_files(struct process_source *process)
{
    proc_file_close(&process->stat);
    proc_file_close(&process->io);
}

/* `inherited` of the total, and what it was before: what children have left it, as far as one can
 * tell. */
static void use(struct process_source *process, enum tree_account account, uint64_t total,
                uint64_t inherited, uint64_t before)
{
    process->used[account] = total;
    if (inherited > before)
        process->rose[account] += inherited - before;
}

static bool read_stat(struct process_source *process)
{
    const struct proc_process before = process->last;
    struct proc_process now;
    char path[64], text[1024];

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)process->pid);
    if (!proc_file_read(&process->stat, path, text, sizeof text) ||
        !proc_text_process(text, &now) ||
        (process->is_read && now.start_ticks != before.start_ticks)) /* another one */
        return false;
    use(process, TREE_CPU, ns_of_ticks(now.user + now.system + now.children),
        ns_of_ticks(now.children), ns_of_ticks(process->is_read ? before.children : now.children));
    process->last = now;
    process->parent = (pid_t)now.parent;
    process->is_read = true;
    return true;
}

/* Since it was asked last. One that has not is as it was, but for pages that were taken from it:
 * its clock is read in a fraction of the time. That of one that is gone shows 0. */
static bool has_run(struct process_source *process)
{
    const int64_t before = process->clock_ns;

    if (before == 0 && clock_getcpuclockid(process->pid, &process->clock) != 0)
        return true;
    process->clock_ns = now_of(process->clock);
    return process->clock_ns == 0 || process->clock_ns != before;
}

/* A read that failed for another reason than its end is tried again. Of the end of the command we
 * are recorded otherwise. */
static void lose(const struct source_tree *tree, struct process_source *process)
{
    const int why = process->stat.error;
    const bool has_ended = why == 0 || why == ENOENT || why == ESRCH;

    process->is_gone = has_ended && process->pid != tree->command;
    if (!process->is_gone)
        proc_file_close(&process->stat);
}

/* Bytes that went to and came from storage, with those of children that were waited for: the two
 * cannot be separated. */
static bool read_io(struct process_source *process)
{
    uint64_t read, written;
    char path[64], text[512];

    snprintf(path, sizeof path, "/proc/%ld/io", (long)process->pid);
    if (!proc_file_read(&process->io, path, text, sizeof text) ||
        !proc_text_field(text, "read_bytes", &read) ||
        !proc_text_field(text, "write_bytes", &written))
        return false;
    const bool again = process->has_io;
    use(process, TREE_READ, read, read, again ? process->used[TREE_READ] : read);
    use(process, TREE_WRITTEN, written, written, again ? process->used[TREE_WRITTEN] : written);
    process->has_io = true;
    return true;
}

static bool is_child_of_tree(struct source_tree *tree, pid_t pid)
{
    char path[64], text[1024];
    struct proc_process process;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    return proc_read(path, text, sizeof text) && proc_text_process(text, &process) &&
           find(tree, (pid_t)process.parent);
}

/* Whether it has found any. */
static bool scan(struct source_tree *tree, uint64_t newer_than)
{
    const size_t before = tree->count;
    DIR *dir = opendir("/proc");
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        const long pid = strtol(entry->d_name, NULL, 10);
        if (pid > 0 && (uint64_t)pid > newer_than && pid != getpid() && !find(tree, (pid_t)pid) &&
            is_child_of_tree(tree, (pid_t)pid))
            (void)add(tree, (pid_t)pid);
    }
    if (dir)
        closedir(dir);
    return tree->count > before;
}

/* The newest pid is the last field of /proc/loadavg. Processes are listed by pid, and a child's is
 * higher than its parent's, unless the pids have gone round. */
static void look_for_new(struct source_tree *tree)
{
    char text[128];
    uint64_t newest = 0;

    if (tree->count == 0 && tree->last_pid == 0)
        (void)add(tree, tree->command);
    if (proc_file_read(&tree->loadavg, "/proc/loadavg", text, sizeof text)) {
        const char *last = strrchr(text, ' ');
        newest = last ? strtoull(last + 1, NULL, 10) : 0;
        if (newest == tree->last_pid)
            return;
    }
    if (tree->last_pid && newest > tree->last_pid)
        (void)scan(tree, tree->last_pid);
    else
        while (scan(tree, 0))
            ;
    tree->last_pid = newest;
}

static void tell_process(const struct process_source *process, bool has_io,
                         struct sample_sink *sink)
{
    const struct proc_process *stat = &process->last;
    const uint64_t pid = (uint64_t)process->pid;

    sample_value(sink, SS_COUNTER_ID_PROCESS_USER, pid, (double)ns_of_ticks(stat->user));
    sample_value(sink, SS_COUNTER_ID_PROCESS_SYSTEM, pid, (double)ns_of_ticks(stat->system));
    sample_value(sink, SS_COUNTER_ID_PROCESS_RSS, pid,
                 (double)stat->rss_pages * (double)sysconf(_SC_PAGESIZE));
    if (!process->is_watched)
        return;
    sample_value(sink, SS_COUNTER_ID_PROCESS_THREADS, pid, (double)stat->threads);
    sample_value(sink, SS_COUNTER_ID_PROCESS_MINOR_FAULTS, pid, (double)stat->minor_faults);
    sample_value(sink, SS_COUNTER_ID_PROCESS_MAJOR_FAULTS, pid, (double)stat->major_faults);
    if (has_io) {
        sample_value(sink, SS_COUNTER_ID_PROCESS_READ, pid, (double)process->used[TREE_READ]);
        sample_value(sink, SS_COUNTER_ID_PROCESS_WRITE, pid, (double)process->used[TREE_WRITTEN]);
    } else {
        sample_missing(sink, SS_COUNTER_ID_PROCESS_READ, proc_file_state(&process->io));
        sample_missing(sink, SS_COUNTER_ID_PROCESS_WRITE, proc_file_state(&process->io));
    }
}

/* Of the watched ones, or of the others. What a process read and wrote is asked for more rarely:
 * the kernel goes through all its threads for that. */
static void read_processes(struct source_tree *tree, struct sample_sink *sink, bool watched)
{
    const bool with_io = watched || tree->rounds % ROUNDS_OF_IO == 0;

    for (size_t i = 0; i < tree->count; i++) {
        struct process_source *process = &tree->process[i];
        if (process->is_watched != watched || process->is_gone)
            continue;
        if ((with_io || has_run(process)) && !read_stat(process))
            lose(tree, process);
        if (process->is_gone || !process->is_read)
            continue;
        const bool has_io = with_io && read_io(process);
        if (watched || i < PROCESSES_TOLD)
            tell_process(process, has_io, sink);
        if (i >= PROCESSES_KEPT_OPEN)
            close_files(process);
    }
}

/* The nearest process above it that lives: NULL if there is none. */
static struct process_source *heir_of(struct source_tree *tree,
                                      const struct process_source *process)
{
    struct process_source *heir = find(tree, process->parent);

    for (size_t i = 0; heir && heir->is_gone && i < tree->count; i++)
        heir = find(tree, heir->parent);
    return heir && !heir->is_gone ? heir : NULL;
}

/* What ended in this round may be in no account yet that was read before. */
static void read_heirs(struct source_tree *tree)
{
    bool again = true;

    while (again) {
        again = false;
        for (size_t i = 0; i < tree->count; i++) {
            struct process_source *heir =
                tree->process[i].is_gone ? heir_of(tree, &tree->process[i]) : NULL;
            if (!heir || heir->is_fresh)
                continue;
            heir->is_fresh = true;
            if (!read_stat(heir))
                lose(tree, heir);
            if (!heir->is_gone)
                (void)read_io(heir);
            again |= heir->is_gone;
        }
    }
}

/* What an heir rose by in the last two rounds and has no owner yet, up to `most`. A process may
 * have been read just before it ended, and its heir just after: then the rise is older. */
static uint64_t take_rise(struct process_source *heir, enum tree_account account, uint64_t most)
{
    uint64_t *const rises[] = {&heir->rose_before[account], &heir->rose[account]};
    uint64_t taken = 0;

    for (size_t i = 0; i < 2; i++) {
        const uint64_t part = *rises[i] < most - taken ? *rises[i] : most - taken;
        *rises[i] -= part;
        taken += part;
    }
    return taken;
}

/* What a process that is gone leaves: its account, and children that have another parent now, which
 * must be read again to know it. */
static void bury(struct source_tree *tree, const struct process_source *process)
{
    struct process_source *heir = heir_of(tree, process);

    for (int k = 0; k < TREE_ACCOUNTS; k++)
        tree->gone[k] +=
            process->used[k] - (heir ? take_rise(heir, (enum tree_account)k, process->used[k]) : 0);
    for (size_t i = 0; i < tree->count; i++)
        if (tree->process[i].parent == process->pid)
            tree->process[i].clock_ns = 0;
}

static void settle(struct source_tree *tree)
{
    size_t kept = 0;

    read_heirs(tree);
    for (size_t i = 0; i < tree->count; i++)
        if (tree->process[i].is_gone)
            bury(tree, &tree->process[i]);
    for (size_t i = 0; i < tree->count; i++) {
        struct process_source *process = &tree->process[i];
        if (process->is_gone) {
            close_files(process);
            continue;
        }
        memcpy(process->rose_before, process->rose, sizeof process->rose);
        memset(process->rose, 0, sizeof process->rose);
        process->is_fresh = false;
        tree->process[kept++] = *process;
    }
    tree->count = kept;
}

/* None of these goes back: less would be something that has ended and is not accounted yet. */
static void tell_accounts(struct source_tree *tree, struct sample_sink *sink)
{
    static const enum ss_counter_id counter[TREE_ACCOUNTS] = {
        SS_COUNTER_ID_TREE_CPU, SS_COUNTER_ID_TREE_READ, SS_COUNTER_ID_TREE_WRITE};
    bool has_io = false;

    for (size_t i = 0; i < tree->count; i++)
        has_io |= tree->process[i].has_io;
    for (int k = 0; k < TREE_ACCOUNTS; k++) {
        uint64_t sum = tree->gone[k];
        for (size_t i = 0; i < tree->count; i++)
            sum += tree->process[i].used[k];
        if (sum > tree->seen[k])
            tree->seen[k] = sum;
        if (k == TREE_CPU || has_io)
            sample_value(sink, counter[k], 0, (double)tree->seen[k]);
    }
}

static void tell_tree(struct source_tree *tree, struct sample_sink *sink)
{
    uint64_t pages = 0, threads = 0;

    for (size_t i = 0; i < tree->count; i++) {
        pages += tree->process[i].last.rss_pages;
        threads += tree->process[i].last.threads;
    }
    sample_value(sink, SS_COUNTER_ID_TREE_RSS, 0, (double)pages * (double)sysconf(_SC_PAGESIZE));
    sample_value(sink, SS_COUNTER_ID_TREE_PROCESSES, 0, (double)tree->count);
    sample_value(sink, SS_COUNTER_ID_TREE_THREADS, 0, (double)threads);
}

void source_tree_read(void *source, struct sample_sink *sink)
{
    struct source_tree *tree = source;

    look_for_new(tree);
    read_processes(tree, sink, false);
    settle(tree);
    tree->rounds++;
    tell_accounts(tree, sink);
    tell_tree(tree, sink);
}

void source_tree_read_watched(void *source, struct sample_sink *sink)
{
    read_processes(source, sink, true);
}

void source_tree_look(struct source_tree *tree)
{
    look_for_new(tree);
    for (size_t i = 0; i < tree->count; i++)
        if (!tree->process[i].is_read)
            (void)read_stat(&tree->process[i]);
}

void source_tree_begin(struct sample_sink *sink)
{
    sample_value(sink, SS_COUNTER_ID_TREE_CPU, 0, 0);
    if (access("/proc/self/io", R_OK) == 0) {
        sample_value(sink, SS_COUNTER_ID_TREE_READ, 0, 0);
        sample_value(sink, SS_COUNTER_ID_TREE_WRITE, 0, 0);
    }
}

void source_tree_end(struct source_tree *tree, const uint64_t used[TREE_ACCOUNTS],
                     struct sample_sink *sink)
{
    if (!tree->process) /* it was never looked at */
        return;
    struct process_source *command = find(tree, tree->command);
    for (size_t i = 0; i < tree->count; i++) {
        struct process_source *process = &tree->process[i];
        if (process->pid != tree->command && !process->is_gone && !read_stat(process))
            process->is_gone = true;
    }
    if (command) {
        for (int k = 0; k < TREE_ACCOUNTS; k++)
            if (used[k] > command->used[k])
                use(command, (enum tree_account)k, used[k], used[k], command->used[k]);
        command->is_gone = false;
        command->is_fresh = true;
        command->has_io |= used[TREE_READ] || used[TREE_WRITTEN];
    }
    settle(tree);
    tell_accounts(tree, sink);
}

bool source_tree_watch(struct source_tree *tree, pid_t pid, uint64_t start_ticks)
{
    struct process_source *process = find(tree, pid);

    if (!process || process->is_gone || process->last.start_ticks != start_ticks)
        return false;
    process->is_watched = true;
    return true;
}

bool source_tree_has(struct source_tree *tree, pid_t pid, uint64_t start_ticks)
{
    const struct process_source *process = find(tree, pid);

    return process && !process->is_gone &&
           (!start_ticks || process->last.start_ticks == start_ticks);
}

void source_tree_release(struct source_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        close_files(&tree->process[i]);
    proc_file_close(&tree->loadavg);
    free(tree->process);
    *tree = (struct source_tree){0};
}
