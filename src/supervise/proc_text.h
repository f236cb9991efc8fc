/* The texts of the kernel's files, as numbers. Pure functions: a text in, numbers out. False: this
 * is not what it should be, and `out` says nothing. Nothing in a text is trusted. */
#ifndef SUPERVISE_PROC_TEXT_H
#define SUPERVISE_PROC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROC_CPUS_MOST = 1024 };

struct proc_cpus {        /* /proc/stat, in ticks of 1/sysconf(_SC_CLK_TCK) s */
    uint64_t busy, steal; /* of all of them */
    size_t count;         /* of what follows */
    uint32_t number[PROC_CPUS_MOST];
    uint64_t busy_of[PROC_CPUS_MOST], steal_of[PROC_CPUS_MOST];
};
bool proc_text_cpus(const char *text, struct proc_cpus *out);

struct proc_process { /* /proc/PID/stat, /proc/PID/task/TID/stat; times in the same ticks */
    char state;
    uint32_t parent;
    uint64_t minor_faults, major_faults;
    uint64_t user, system, children; /* children: those it waited for, user and system */
    uint64_t threads, start_ticks, rss_pages;
};
bool proc_text_process(const char *text, struct proc_process *out);

/* The name in such a text, as far as it fits; it may hold anything. */
void proc_text_name(const char *text, char *out, size_t size);

/* /proc/pressure/X: microseconds; `full` is UINT64_MAX where the kernel does not tell. */
bool proc_text_pressure(const char *text, uint64_t *some, uint64_t *full);

/* /proc/PID/schedstat: nanoseconds on a core, and ready without one. */
bool proc_text_schedstat(const char *text, uint64_t *ran, uint64_t *waited);

/* The number after "KEY" at the start of a line, as in /proc/meminfo, vmstat, PID/status, PID/io
 * and cpu.stat; "KEY:" counts as well. Units are the caller's business. */
bool proc_text_field(const char *text, const char *key, uint64_t *out);

/* /proc/net/dev: bytes of all interfaces but loopback. */
bool proc_text_network(const char *text, uint64_t *received, uint64_t *sent);

/* /proc/diskstats: sectors of 512 bytes of one disk. */
bool proc_text_disk(const char *text, const char *disk, uint64_t *read, uint64_t *written);

/* /proc/PID/cgroup: the path of a version 1 controller, or of version 2 ("" for `controller`). */
bool proc_text_cgroup(const char *text, const char *controller, char *path, size_t size);

/* cpu.max of cgroup 2, "QUOTA PERIOD": how many cores; 0: no limit. */
bool proc_text_cpu_max(const char *text, double *cores);

#endif
