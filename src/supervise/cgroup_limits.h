/* Limits that cgroups set for a process, of version 2 or 1. One may be on any level from its own
 * cgroup up to the mount: the tightest counts. In a container the path that the kernel names may
 * not be there, but the mount is. */
#ifndef SUPERVISE_CGROUP_LIMITS_H
#define SUPERVISE_CGROUP_LIMITS_H

#include <stdbool.h>

struct cgroup_limit {
    bool is_seen; /* false: nothing here tells */
    double most;  /* cores or bytes; 0: no limit */
    double used;  /* bytes, of the cgroup with the limit on memory */
    int version;
    char dir[512]; /* of the cgroup with the limit; "": none */
};

/* `root`: where cgroups are mounted, /sys/fs/cgroup; `cgroups`: the text of /proc/PID/cgroup. */
struct cgroup_limit cgroup_limit_cpu(const char *root, const char *cgroups);
struct cgroup_limit cgroup_limit_memory(const char *root, const char *cgroups);

#endif
