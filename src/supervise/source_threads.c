/* Loop threads: what they do at this moment, how long they had a core, how long they waited for
 * one. */
#include <stdio.h>
#include <unistd.h>

#include "supervise/proc_text.h"
#include "supervise/sources.h"

enum { ROUNDS_OF_SWITCHES = 5 };

static bool read_file(struct proc_file *file, const struct thread_source *thread, const char *name,
                      char *text, size_t size)
{
    char path[96];

    snprintf(path, sizeof path, "/proc/%ld/task/%ld/%s", (long)thread->pid, (long)thread->tid,
             name);
    return proc_file_read(file, path, text, size);
}

static enum ss_thread_state state_of(char letter)
{
    return letter == 'R'   ? SS_THREAD_RUNS
           : letter == 'D' ? SS_THREAD_WAITS_FOR_DISK
                           : SS_THREAD_WAITS;
}

static void read_times(struct thread_source *thread, uint64_t subject, struct sample_sink *sink)
{
    char text[128];
    uint64_t ran, waited;

    if (read_file(&thread->schedstat, thread, "schedstat", text, sizeof text) &&
        proc_text_schedstat(text, &ran, &waited)) {
        sample_value(sink, SS_COUNTER_ID_THREAD_CPU, subject, (double)ran);
        sample_value(sink, SS_COUNTER_ID_THREAD_WAIT, subject, (double)waited);
        return;
    }
    sample_missing(sink, SS_COUNTER_ID_THREAD_CPU, proc_file_state(&thread->schedstat));
    sample_missing(sink, SS_COUNTER_ID_THREAD_WAIT, proc_file_state(&thread->schedstat));
}

static void read_switches(struct thread_source *thread, uint64_t subject, struct sample_sink *sink)
{
    char text[4096];
    uint64_t given_up, lost;

    if (read_file(&thread->status, thread, "status", text, sizeof text) &&
        proc_text_field(text, "voluntary_ctxt_switches", &given_up) &&
        proc_text_field(text, "nonvoluntary_ctxt_switches", &lost)) {
        sample_value(sink, SS_COUNTER_ID_THREAD_SWITCHES, subject, (double)given_up);
        sample_value(sink, SS_COUNTER_ID_THREAD_PREEMPTIONS, subject, (double)lost);
        return;
    }
    const enum ss_system_state missing = proc_file_state(&thread->status);
    sample_missing(sink, SS_COUNTER_ID_THREAD_SWITCHES, missing);
    sample_missing(sink, SS_COUNTER_ID_THREAD_PREEMPTIONS, missing);
}

/* False: it has ended. A file that could not be opened for a reason of ours says nothing. */
static bool read_thread(struct thread_source *thread, struct sample_sink *sink)
{
    const uint64_t subject = (uint64_t)thread->pid << 32 | (uint64_t)thread->tid;
    struct proc_process stat;
    char text[1024];

    if (!read_file(&thread->stat, thread, "stat", text, sizeof text) ||
        !proc_text_process(text, &stat))
        return proc_file_is_passing(&thread->stat);
    sample_value(sink, SS_COUNTER_ID_THREAD_STATE, subject, state_of(stat.state));
    read_times(thread, subject, sink);
    if (thread->rounds++ % ROUNDS_OF_SWITCHES == 0) /* a long text, for two numbers */
        read_switches(thread, subject, sink);
    return true;
}

static void close_files(struct thread_source *thread)
{
    proc_file_close(&thread->stat);
    proc_file_close(&thread->schedstat);
    proc_file_close(&thread->status);
}

void source_threads_read(void *source, struct sample_sink *sink)
{
    struct source_threads *threads = source;

    for (size_t i = 0; i < threads->count;) {
        if (read_thread(&threads->thread[i], sink)) {
            i++;
            continue;
        }
        close_files(&threads->thread[i]);
        threads->thread[i] = threads->thread[--threads->count];
    }
}

static struct thread_source *find(struct source_threads *threads, struct thread_id id)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->thread[i].pid == id.pid && threads->thread[i].tid == id.tid)
            return &threads->thread[i];
    return NULL;
}

static bool is_there(struct thread_id id)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/task/%ld", (long)id.pid, (long)id.tid);
    return access(path, F_OK) == 0;
}

void source_threads_watch(struct source_threads *threads, const struct thread_id *wanted,
                          size_t count)
{
    struct source_threads next = {0};

    for (size_t i = 0; i < count && next.count < THREADS_MOST; i++) {
        struct thread_source *old = find(threads, wanted[i]);
        if (find(&next, wanted[i]) || (!old && !is_there(wanted[i])))
            continue;
        struct thread_source *thread = &next.thread[next.count++];
        *thread = old ? *old : (struct thread_source){.pid = wanted[i].pid, .tid = wanted[i].tid};
    }
    for (size_t i = 0; i < threads->count; i++) {
        const struct thread_id id = {threads->thread[i].pid, threads->thread[i].tid};
        if (!find(&next, id))
            close_files(&threads->thread[i]);
    }
    *threads = next;
}

void source_threads_release(struct source_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        close_files(&threads->thread[i]);
    threads->count = 0;
}
