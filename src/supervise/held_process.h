/* Processes that wait for a disk: the kernel holds a thread in it until the disk answers, also when
 * it was killed. */
#ifndef SUPERVISE_HELD_PROCESS_H
#define SUPERVISE_HELD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct held_process {
    int status;          /* as wait() will say when it can be reaped */
    struct rusage usage; /* CPU time alone */
};

/* Whether the program of a child has ended, and only threads that have been killed and wait in the
 * kernel keep the process from being reaped. */
bool held_process_look(pid_t pid, struct held_process *held);

/* Whether a process has done nothing but wait for a disk since the last look. */
struct disk_wait {
    int64_t since_ns; /* 0: it does not wait */
    uint64_t work;    /* CPU time and system calls so far */
};

/* Returns for how long it has waited. */
int64_t disk_wait_look(struct disk_wait *wait, pid_t pid);

#endif
