/* Where system counters come from: one struct and one file a source. A source is all zero at first,
 * opens its files when it is read, and remembers those that are not there. The table of them is in
 * samples.c. What the counters mean: method 8.1, format 5.1. */
#ifndef SUPERVISE_SOURCES_H
#define SUPERVISE_SOURCES_H

#include <time.h>

#include "supervise/allowed_cores.h"
#include "supervise/cgroup_limits.h"
#include "supervise/proc_file.h"
#include "supervise/proc_text.h"
#include "supervise/sample_file.h"

struct source_cpu { /* /proc/stat */
    struct proc_file stat;
    const struct allowed_cores *allowed;
    struct core_times of_allowed;
    size_t told; /* how many are allowed */
    unsigned rounds;
};
void source_cpu_read(void *source, struct sample_sink *sink);

struct source_pressure { /* /proc/pressure */
    struct proc_file cpu, memory, io;
};
void source_pressure_read(void *source, struct sample_sink *sink);

struct source_memory { /* /proc/meminfo, /proc/vmstat */
    struct proc_file meminfo, vmstat;
};
void source_memory_read(void *source, struct sample_sink *sink);

enum { CLOCKS_MOST = 4096, CLOCKS_AT_ONCE = 64 };
struct throttle_count {
    struct proc_file file;
    bool is_known;
    uint64_t last;
};
struct core_clock {
    struct proc_file frequency;
    struct throttle_count own, package;
    uint64_t package_id;
};
struct source_clocks { /* /sys/devices/system/cpu; of cores that are allowed */
    const struct allowed_cores *allowed;
    struct core_clock *core;
    size_t count, next; /* cores; the one to be read next */
    bool tells_throttles;
    uint64_t throttles; /* of all, since they were looked at first */
};
void source_clocks_read(void *source, struct sample_sink *sink);
void source_clocks_release(struct source_clocks *source);

struct source_cgroup { /* the cgroup that holds the command down most */
    pid_t command;
    bool looked;
    enum ss_system_state unseen; /* what a limit that is not seen means */
    struct cgroup_limit cpu, memory;
    struct proc_file cpu_stat, memory_used;
};
void source_cgroup_read(void *source, struct sample_sink *sink);

enum { DISKS_MOST = 32, DISK_NAME_SIZE = 32 };
struct source_traffic { /* /proc/diskstats, /proc/net/dev */
    struct proc_file disks, network;
    bool looked;
    size_t disk_count;
    char disk[DISKS_MOST][DISK_NAME_SIZE];
};
void source_traffic_read(void *source, struct sample_sink *sink);

/* The command and all processes below it. Those that are watched are read at the full rate. */
enum tree_account { TREE_CPU, TREE_READ, TREE_WRITTEN, TREE_ACCOUNTS }; /* ns, bytes */
struct process_source {
    pid_t pid, parent;
    bool is_watched, is_read, has_io; /* has been read at least once */
    bool is_gone, is_fresh;           /* in this round */
    struct proc_file stat, io;
    struct proc_process last; /* what was read */
    clockid_t clock;
    int64_t clock_ns;             /* what its CPU clock showed then */
    uint64_t used[TREE_ACCOUNTS]; /* with that of children that it waited for */
    uint64_t rose[TREE_ACCOUNTS], rose_before[TREE_ACCOUNTS]; /* maybe by theirs */
};
struct source_tree {
    pid_t command;
    struct process_source *process; /* by pid */
    size_t count, capacity;
    struct proc_file loadavg;
    unsigned rounds;
    uint64_t last_pid;            /* the newest that was looked at */
    uint64_t gone[TREE_ACCOUNTS]; /* of those that ended and no one waited for */
    uint64_t seen[TREE_ACCOUNTS]; /* the highest sums */
};
void source_tree_read(void *source, struct sample_sink *sink); /* all of them */
void source_tree_read_watched(void *source, struct sample_sink *sink);

/* At the time when the command was launched it had used nothing. */
void source_tree_begin(struct sample_sink *sink);

/* Looks for new processes now; the next read tells of them. */
void source_tree_look(struct source_tree *tree);

/* Processes are named by pid and start (field 22 of /proc/PID/stat; 0: any). False: it is none of
 * them. */
bool source_tree_watch(struct source_tree *tree, pid_t pid, uint64_t start_ticks);
bool source_tree_has(struct source_tree *tree, pid_t pid, uint64_t start_ticks);

/* The command has ended: this is what it used, with those that it waited for. */
void source_tree_end(struct source_tree *tree, const uint64_t used[TREE_ACCOUNTS],
                     struct sample_sink *sink);
void source_tree_release(struct source_tree *tree);

/* NVIDIA GPUs. Inside a container the driver's numbers of processes are not ours: those that are
 * not here count together as process 0 of their GPU, and the processes of GPUs are absent if none
 * could be told. */
struct source_gpus {
    struct gpus *gpus;        /* NULL: none */
    struct source_tree *tree; /* whose processes they are */
    bool is_in_container;     /* has a namespace of its own for processes */
};
void source_gpus_start(struct source_gpus *source, struct source_tree *tree);
void source_gpus_read(void *source, struct sample_sink *sink);
void source_gpus_stop(struct source_gpus *source);

enum { THREADS_MOST = 8 }; /* two files of each are read at the full rate */
struct thread_source {
    pid_t pid, tid;
    struct proc_file stat, schedstat, status;
    unsigned rounds;
};
struct source_threads { /* loop threads */
    struct thread_source thread[THREADS_MOST];
    size_t count;
};
void source_threads_read(void *source, struct sample_sink *sink);

/* From now on these, as many as there is room for, the first ones first; what has ended is left
 * out. */
struct thread_id {
    pid_t pid, tid;
};
/* The OpenMP threads of these processes, by the name that they have from the loop thread, and what
 * runs them. */
enum { POOL_MOST = 64 };
struct pool_thread {
    pid_t tid;
    bool is_known, is_of_pool;
    uint64_t ran, waited; /* as last read */
};
struct process_pool {
    pid_t pid;
    enum ss_openmp openmp;
    unsigned rounds, next_look; /* at what is mapped */
    size_t count;
    struct pool_thread thread[POOL_MOST];
    uint64_t ran, waited; /* of all, also of those that have ended */
};
struct source_pools {
    const struct source_threads *threads;
    struct process_pool process[THREADS_MOST];
    size_t count;
};
void source_pools_read(void *source, struct sample_sink *sink);

/* Programs besides the command that use the cores, by name: as far as they live long enough to be
 * seen twice. Names are untrusted. */
enum { OTHERS_MOST = 256, OTHERS_TOLD = 20, PROGRAM_NAME_SIZE = 16 };
struct other_process {
    pid_t pid;
    uint16_t program; /* OTHERS_MOST: there was no room for it */
    uint64_t start_ticks, used_ticks;
};
struct other_program {
    char name[PROGRAM_NAME_SIZE];
    uint64_t used_ticks, before_ticks; /* since we look; at the round before */
    uint32_t number;                   /* by which readers know it; 0: none yet */
};
struct source_others {
    struct source_tree *tree;
    struct other_process *process; /* by pid */
    size_t count, capacity;
    struct other_program program[OTHERS_MOST];
    size_t programs;
    uint32_t told, looks;
    bool is_begun;
    int64_t read_ns, due_ns;
    uint64_t newest_ticks; /* the latest start that was seen */
};
void source_others_read(void *source, struct sample_sink *sink);
void source_others_release(struct source_others *source);

void source_threads_watch(struct source_threads *threads, const struct thread_id *wanted,
                          size_t count);
void source_threads_release(struct source_threads *threads);

#endif
