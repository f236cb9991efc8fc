#include "supervise/samples.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "supervise/now.h"
#include "supervise/sample_file.h"
#include "supervise/sources.h"

enum {
    HALVINGS_MOST = 20,
    HALVINGS_BY_SIZE = 8 /* of the rate, until the file is full */
};
static const int64_t period_ns = 100000000;
static const int64_t thin_after_ns = 600000000000;

static unsigned halvings(int64_t age_ns, double used)
{
    const unsigned by_size = (unsigned)(used * HALVINGS_BY_SIZE);
    unsigned by_age = 0;

    while (by_age < HALVINGS_MOST && age_ns >> by_age > thin_after_ns)
        by_age++;
    return by_age > by_size ? by_age : by_size;
}

int64_t sample_pause(int64_t age_ns, double used, uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    const int64_t period = period_ns << halvings(age_ns, used);
    return period / 2 + (int64_t)(*random % (uint64_t)period);
}

enum {
    SLOW = 10,             /* slow sources come each tenth time */
    YOUNG = 30,            /* rounds: a short run is to be seen too */
    WATCHED_MOST = 4,      /* processes without a loop */
    RECORDERS_MOST = 1024, /* processes that record, of which loops are looked for */
    LOOPS_MOST = 256,      /* of which the first are watched */
    SHARE_OF_CAP = 16,     /* of the bytes that a process may write */
    BLOCK = 512            /* of the numbers of blocks in a struct rusage */
};
static const int64_t beat_ns = 2000000000; /* without one for 5 s we would count as killed */
static const uint64_t default_cap = UINT64_C(1) << 30;

struct samples {
    int dir; /* of the run; ours */
    struct sample_file *file;
    struct sample_sink sink;
    int64_t started_ns, due_ns, beat_due_ns;
    uint64_t rounds, random;
    bool has_loops; /* a model has told of some */
    struct allowed_cores allowed;
    struct source_cpu cpu;
    struct source_pressure pressure;
    struct source_memory memory;
    struct source_clocks clocks;
    struct source_cgroup cgroup;
    struct source_traffic traffic;
    struct source_tree tree;
    struct source_threads threads;
    struct source_pools pools;
    struct source_others others;
    struct source_gpus gpus;
};

static const struct {
    size_t state;
    unsigned every;
    bool of_processes; /* they are gone when the command has ended */
    void (*read)(void *state, struct sample_sink *sink);
} sources[] = {
    {offsetof(struct samples, threads), 1, true, source_threads_read},
    {offsetof(struct samples, tree), 1, true, source_tree_read_watched},
    {offsetof(struct samples, cpu), 1, false, source_cpu_read},
    {offsetof(struct samples, pressure), 1, false, source_pressure_read},
    {offsetof(struct samples, memory), 1, false, source_memory_read},
    {offsetof(struct samples, gpus), 1, false, source_gpus_read},
    {offsetof(struct samples, tree), SLOW, true, source_tree_read},
    {offsetof(struct samples, clocks), SLOW, false, source_clocks_read},
    {offsetof(struct samples, cgroup), SLOW, false, source_cgroup_read},
    {offsetof(struct samples, traffic), SLOW, false, source_traffic_read},
    {offsetof(struct samples, pools), SLOW, true, source_pools_read},
    {offsetof(struct samples, others), 1, false, source_others_read},
};
enum { SOURCES = sizeof sources / sizeof sources[0] };

/* The supervisor's part of what a process of the run may write. */
static uint64_t most_bytes(void)
{
    const uint64_t cap = size_parse(secure_getenv("STEPSCOPE_CAP"));

    return (cap ? cap : default_cap) / SHARE_OF_CAP;
}

struct samples *samples_start(int dir, pid_t command, int64_t launched_ns)
{
    struct samples *samples = calloc(1, sizeof *samples);
    const bool runs_already = launched_ns == SAMPLES_RUNS_ALREADY;
    const int64_t start_ns = runs_already ? now_raw_ns() : launched_ns;

    if (samples) {
        samples->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
        samples->file = sample_file_make(dir, most_bytes(), start_ns);
    }
    if (!samples || samples->dir < 0 || !samples->file) {
        if (samples && samples->dir >= 0)
            close(samples->dir);
        free(samples);
        return NULL;
    }
    samples->sink = (struct sample_sink){.file = samples->file, .time_ns = start_ns};
    if (!runs_already)
        source_tree_begin(&samples->sink);
    source_gpus_start(&samples->gpus, &samples->tree);
    samples->random = (uint64_t)now_raw_ns() | 1;
    samples->started_ns = samples->due_ns = samples->beat_due_ns = now_ns();
    samples->tree.command = samples->cgroup.command = command;
    samples->pools.threads = &samples->threads;
    samples->others.tree = &samples->tree;
    allowed_cores_look(&samples->allowed);
    samples->cpu.allowed = samples->clocks.allowed = &samples->allowed;
    return samples;
}

/* A process that has a file in the run. */
struct recorder {
    pid_t pid;
    uint64_t start_ticks;
};

/* p-PID-START-RANDOM.ssp */
static bool parse_file_name(const char *name, struct recorder *out)
{
    char *end;

    if (strncmp(name, "p-", 2) != 0)
        return false;
    out->pid = (pid_t)strtol(name + 2, &end, 10);
    out->start_ticks = *end == '-' ? strtoull(end + 1, &end, 10) : 0;
    return out->pid > 0 && out->start_ticks > 0 && *end == '-';
}

/* Those that live in the tree. A pid that a file names may be another program's: one of another
 * namespace, or one that was given out again. */
static size_t find_recorders(struct samples *samples, struct recorder *out, size_t most)
{
    const int fd = openat(samples->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    size_t count = 0;

    while (dir && count < most && (entry = readdir(dir))) {
        struct recorder found;
        if (parse_file_name(entry->d_name, &found) &&
            source_tree_has(&samples->tree, found.pid, found.start_ticks))
            out[count++] = found;
    }
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return count;
}

static bool watch_process(struct samples *samples, const struct recorder *recorders, size_t count,
                          pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (recorders[i].pid == pid)
            return source_tree_watch(&samples->tree, pid, recorders[i].start_ticks);
    return false;
}

/* In the order of the model, as many as there is room for. As long as it has seen none, a few of
 * the processes that record are looked at. */
static void watch_loops(struct samples *samples, const struct model *model)
{
    struct recorder recorders[RECORDERS_MOST];
    struct model_loop_thread loops[LOOPS_MOST];
    struct thread_id wanted[LOOPS_MOST];
    const size_t recording = find_recorders(samples, recorders, RECORDERS_MOST);
    const size_t seen = model ? model_loop_threads(model, loops, LOOPS_MOST) : 0;
    size_t count = 0;

    for (size_t i = 0; i < seen; i++) {
        const struct thread_id id = {(pid_t)loops[i].pid, (pid_t)loops[i].tid};
        if (watch_process(samples, recorders, recording, id.pid))
            wanted[count++] = id;
    }
    if (count == 0 && samples->threads.count > 0)
        return;
    if (count == 0)
        for (; count < recording && count < WATCHED_MOST; count++) {
            const pid_t pid = recorders[count].pid;
            (void)watch_process(samples, recorders, recording, pid);
            wanted[count] = (struct thread_id){pid, pid};
        }
    source_threads_watch(&samples->threads, wanted, count);
}

/* A command may take fewer cores than it was given, at its start or later. */
static void follow_cores(struct samples *samples)
{
    pid_t threads[THREADS_MOST];

    for (size_t i = 0; i < samples->threads.count; i++)
        threads[i] = samples->threads.thread[i].tid;
    allowed_cores_follow(&samples->allowed, threads, samples->threads.count);
}

/* Records wait for it too: each write costs more than to find what is in it. */
static void beat(struct samples *samples)
{
    sample_file_flush(samples->file);
    sample_file_beat(samples->file);
    samples->beat_due_ns = now_ns() + beat_ns;
}

void samples_flush(struct samples *samples)
{
    if (samples)
        sample_file_flush(samples->file);
}

static void take_all(struct samples *samples)
{
    samples->sink.time_ns = now_raw_ns();
    for (size_t i = 0; i < SOURCES; i++)
        if (samples->rounds % sources[i].every == 0)
            sources[i].read((char *)samples + sources[i].state, &samples->sink);
    if (samples->rounds % SLOW == 0)
        sample_value(&samples->sink, SS_COUNTER_ID_SELF_CPU, 0, (double)now_cpu_ns());
    if (samples->rounds < YOUNG)
        sample_file_flush(samples->file);
    samples->rounds++;
}

static bool has_loops(const struct model *model)
{
    struct model_loop_thread loop;

    return model && model_loop_threads(model, &loop, 1) > 0;
}

/* Once a second; a run that has just begun, or in which a thread that was watched has ended, is
 * looked at again at once, and so is one of which the first loop has become known. */
static void take_round(struct samples *samples, const struct model *model)
{
    const size_t watched = samples->threads.count;
    const bool is_first_loop = !samples->has_loops && has_loops(model);

    take_all(samples);
    const bool is_young = samples->rounds < YOUNG && samples->threads.count == 0;
    const bool has_ended = samples->threads.count < watched;
    if (is_young || has_ended)
        source_tree_look(&samples->tree);
    if (samples->rounds % SLOW == 1 || is_young || has_ended || is_first_loop) {
        watch_loops(samples, model);
        follow_cores(samples);
    }
    samples->has_loops |= is_first_loop;
}

int64_t samples_take(struct samples *samples, const struct model *model)
{
    if (now_ns() >= samples->due_ns) {
        take_round(samples, model);
        samples->due_ns =
            now_ns() + sample_pause(now_ns() - samples->started_ns, sample_file_used(samples->file),
                                    &samples->random);
    }
    if (now_ns() >= samples->beat_due_ns)
        beat(samples);
    return samples->due_ns < samples->beat_due_ns ? samples->due_ns : samples->beat_due_ns;
}

static uint64_t ns_of(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

/* The last look, at the end of the command: what it used in all is known now, also by processes
 * that came and went between two looks. */
static void take_last_of_tree(struct samples *samples, const struct rusage *usage)
{
    const uint64_t used[TREE_ACCOUNTS] = {
        [TREE_CPU] = ns_of(&usage->ru_utime) + ns_of(&usage->ru_stime),
        [TREE_READ] = (uint64_t)usage->ru_inblock * BLOCK,
        [TREE_WRITTEN] = (uint64_t)usage->ru_oublock * BLOCK,
    };

    source_tree_end(&samples->tree, used, &samples->sink);
}

static void take_last(struct samples *samples, const struct rusage *usage)
{
    samples->sink.time_ns = now_raw_ns();
    for (size_t i = 0; i < SOURCES; i++)
        if (!sources[i].of_processes)
            sources[i].read((char *)samples + sources[i].state, &samples->sink);
    if (usage)
        take_last_of_tree(samples, usage);
    sample_value(&samples->sink, SS_COUNTER_ID_SELF_CPU, 0, (double)now_cpu_ns());
}

void samples_end(struct samples *samples, const struct rusage *usage)
{
    if (!samples)
        return;
    take_last(samples, usage);
    source_gpus_stop(&samples->gpus);
    sample_file_end(samples->file);
    source_clocks_release(&samples->clocks);
    source_threads_release(&samples->threads);
    source_tree_release(&samples->tree);
    source_others_release(&samples->others);
    close(samples->dir);
    free(samples);
}
