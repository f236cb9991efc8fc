/* A small file of the kernel (/proc, /sys, a cgroup) that is read again and again: opened once,
 * read from its start each time. */
#ifndef SUPERVISE_PROC_FILE_H
#define SUPERVISE_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stepscope/format.h"

enum { PROC_TEXT_SIZE = 65536 }; /* longer ones are cut */

struct proc_file {
    int fd_plus_1; /* 0: not open */
    int error;     /* errno of the last failure: it is tried again only if that may pass */
};

/* Reads the file into `out`, terminated. Of one that is cut, the last line that fits is the last.
 * The path counts the first time only. */
bool proc_file_read(struct proc_file *file, const char *path, char *out, size_t size);
void proc_file_close(struct proc_file *file);

/* Whether it failed for a reason of ours (descriptors, memory), which may pass, and not of the
 * file. */
bool proc_error_is_passing(int error);                   /* an errno */
bool proc_file_is_passing(const struct proc_file *file); /* its last read */

/* What it means for its counters that a read failed, or gave what could not be understood;
 * SS_SYSTEM_VALUE: that there is none just now. */
enum ss_system_state proc_file_state(const struct proc_file *file);

/* The same for a file that is read once. */
bool proc_read(const char *path, char *out, size_t size);

uint64_t proc_start_of(pid_t pid); /* field 22 of /proc/PID/stat; 0: not known */

/* Whether the process that began then is over. A zombie with other threads is only a main thread
 * that ended before them. 0: any process of that number. */
bool proc_has_died(pid_t pid, uint64_t start_ticks);

#endif
