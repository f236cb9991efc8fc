/* Threads of OpenMP that compute for a loop: how long they had a core, and how long they waited for
 * one. At its barriers such a thread spins for a while, which takes a core from the one it waits
 * for (method 11.11). */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervise/proc_text.h"
#include "supervise/sources.h"

enum { NAME_SIZE = 32, LOOKS_APART_MOST = 64 };

/* What is mapped may be long, and is read rarely: in pieces, each with the end of the one before.
 */
static enum ss_openmp find_openmp(pid_t pid)
{
    enum { PIECE = 16384, KEPT = 16 };
    char path[64], text[KEPT + PIECE + 1];
    enum ss_openmp found = SS_OPENMP_NONE;
    size_t kept = 0;
    ssize_t length;

    snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return found;
    while (found == SS_OPENMP_NONE && (length = read(fd, text + kept, PIECE)) > 0) {
        const size_t size = kept + (size_t)length;
        text[size] = '\0';
        found = strstr(text, "/libgomp")                               ? SS_OPENMP_GNU
                : strstr(text, "/libiomp5") || strstr(text, "/libomp") ? SS_OPENMP_LLVM
                                                                       : SS_OPENMP_NONE;
        kept = size < KEPT ? size : KEPT;
        memmove(text, text + size - kept, kept);
    }
    close(fd);
    return found;
}

static bool read_of_thread(pid_t pid, pid_t tid, const char *what, char *out, size_t size)
{
    char path[96];

    snprintf(path, sizeof path, "/proc/%ld/task/%ld/%s", (long)pid, (long)tid, what);
    return proc_read(path, out, size);
}

static struct pool_thread *thread_of(struct process_pool *pool, pid_t tid)
{
    for (size_t i = 0; i < pool->count; i++)
        if (pool->thread[i].tid == tid)
            return &pool->thread[i];
    if (pool->count == POOL_MOST)
        return NULL;
    pool->thread[pool->count] = (struct pool_thread){.tid = tid};
    return &pool->thread[pool->count++];
}

static bool is_loop(const struct source_threads *loops, pid_t pid, pid_t tid)
{
    for (size_t i = 0; i < loops->count; i++)
        if (loops->thread[i].pid == pid && loops->thread[i].tid == tid)
            return true;
    return false;
}

/* Threads have the name of the one that made them, until they are given another. */
static void learn_name(const struct process_pool *pool, struct pool_thread *thread,
                       const char *of_loop)
{
    char name[NAME_SIZE];

    thread->is_known = read_of_thread(pool->pid, thread->tid, "comm", name, sizeof name);
    thread->is_of_pool = thread->is_known && strcmp(name, of_loop) == 0;
}

/* Whether it ran or was ready since the last time; at the first one nothing is known. */
static bool read_thread(struct process_pool *pool, struct pool_thread *thread)
{
    char text[128];
    uint64_t ran, waited;

    if (!read_of_thread(pool->pid, thread->tid, "schedstat", text, sizeof text) ||
        !proc_text_schedstat(text, &ran, &waited))
        return false;
    const bool is_first = thread->ran == 0 && thread->waited == 0;
    const bool has_run = ran > thread->ran || waited > thread->waited;
    if (!is_first && ran >= thread->ran && waited >= thread->waited) {
        pool->ran += ran - thread->ran;
        pool->waited += waited - thread->waited;
    }
    thread->ran = ran;
    thread->waited = waited;
    return has_run;
}

static unsigned read_threads(struct process_pool *pool, const struct source_threads *loops,
                             const char *of_loop)
{
    char path[64];
    unsigned active = 0;
    const struct dirent *entry;

    if (pool->count == POOL_MOST) /* most have ended, if there ever were that many */
        pool->count = 0;
    snprintf(path, sizeof path, "/proc/%ld/task", (long)pool->pid);
    DIR *dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        const pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        struct pool_thread *thread =
            tid > 0 && !is_loop(loops, pool->pid, tid) ? thread_of(pool, tid) : NULL;
        if (thread && !thread->is_known)
            learn_name(pool, thread, of_loop);
        if (thread && thread->is_of_pool && read_thread(pool, thread))
            active++;
    }
    if (dir)
        closedir(dir);
    return active;
}

static void read_pool(struct process_pool *pool, const struct source_threads *loops, pid_t loop,
                      struct sample_sink *sink)
{
    char of_loop[NAME_SIZE];
    const uint64_t pid = (uint64_t)pool->pid;

    if (!read_of_thread(pool->pid, loop, "comm", of_loop, sizeof of_loop))
        return;
    const unsigned active = read_threads(pool, loops, of_loop);
    if (active > 0 && pool->openmp == SS_OPENMP_NONE && pool->rounds >= pool->next_look) {
        pool->openmp = find_openmp(pool->pid);
        pool->next_look =
            pool->rounds + (pool->rounds < LOOKS_APART_MOST ? pool->rounds + 1 : LOOKS_APART_MOST);
    }
    pool->rounds++;
    if (pool->openmp == SS_OPENMP_NONE)
        return;
    sample_value(sink, SS_COUNTER_ID_POOL_THREADS, pid, active);
    sample_value(sink, SS_COUNTER_ID_POOL_CPU, pid, (double)pool->ran);
    sample_value(sink, SS_COUNTER_ID_POOL_WAIT, pid, (double)pool->waited);
    sample_value(sink, SS_COUNTER_ID_POOL_RUNTIME, pid, pool->openmp);
}

static struct process_pool *pool_of(struct source_pools *pools, pid_t pid)
{
    for (size_t i = 0; i < pools->count; i++)
        if (pools->process[i].pid == pid)
            return &pools->process[i];
    if (pools->count == THREADS_MOST)
        return NULL;
    pools->process[pools->count] = (struct process_pool){.pid = pid};
    return &pools->process[pools->count++];
}

/* Of a process with several loops, the first one counts. */
static bool is_first_of_process(const struct source_threads *loops, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (loops->thread[i].pid == loops->thread[at].pid)
            return false;
    return true;
}

void source_pools_read(void *source, struct sample_sink *sink)
{
    struct source_pools *pools = source;
    const struct source_threads *loops = pools->threads;

    for (size_t i = 0; i < loops->count; i++) {
        struct process_pool *pool =
            is_first_of_process(loops, i) ? pool_of(pools, loops->thread[i].pid) : NULL;
        if (pool)
            read_pool(pool, loops, loops->thread[i].tid, sink);
    }
}
