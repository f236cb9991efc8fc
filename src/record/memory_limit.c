#include "memory_limit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "system.h"

enum { PATH_BYTES = 512, GROUPS_BYTES = 2048 }; /* threads with small stacks come here */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* "max", or no such file: no limit. */
static uint64_t limit_in_file(const char *root, const char *group, const char *file)
{
    char path[PATH_BYTES], text[32];
    int size = snprintf(path, sizeof path, "%s%s/%s", root, group, file);
    if (size < 0 || (size_t)size >= sizeof path || system_read_file(path, text, sizeof text) == 0 ||
        text[0] < '0' || text[0] > '9')
        return UINT64_MAX;
    return strtoull(text, NULL, 10);
}

/* Of the group and all around it. In a container the path may be that of the host and lead nowhere;
 * the root is then the container's own group. */
static uint64_t limit_of_group(char *group, const char *root, const char *file)
{
    uint64_t limit = UINT64_MAX;
    for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
        *end = '\0';
        limit = smaller(limit, limit_in_file(root, group, file));
    }
    return limit;
}

/* A line of /proc/self/cgroup: "NUMBER:CONTROLLERS:PATH"; version 2 has no controllers. */
static uint64_t limit_of_line(char *line)
{
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return UINT64_MAX;
    *group++ = '\0';
    if (controllers[1] == '\0')
        return limit_of_group(group, "/sys/fs/cgroup", "memory.max");
    return strstr(controllers, "memory")
               ? limit_of_group(group, "/sys/fs/cgroup/memory", "memory.limit_in_bytes")
               : UINT64_MAX;
}

uint64_t memory_limit_bytes(void)
{
    struct sysinfo info;
    uint64_t limit = sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit : UINT64_MAX;
    char groups[GROUPS_BYTES], *rest = NULL;
    system_read_file("/proc/self/cgroup", groups, sizeof groups);
    for (char *line = strtok_r(groups, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        limit = smaller(limit, limit_of_line(line));
    return limit;
}
