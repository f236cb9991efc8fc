#include "supervise/cgroup_limits.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervise/proc_file.h"
#include "supervise/proc_text.h"

static const double no_limit_bytes = 0x1p60; /* version 1 has a number for "none" */

static bool read_in(const char *dir, const char *name, char *text, size_t size)
{
    char path[PATH_MAX];

    return (size_t)snprintf(path, sizeof path, "%s/%s", dir, name) < sizeof path &&
           proc_read(path, text, size);
}

static bool read_number(const char *dir, const char *name, double *out)
{
    char text[64], *end;

    if (!read_in(dir, name, text, sizeof text))
        return false;
    *out = strtod(text, &end);
    if (end == text)
        *out = 0; /* "max" */
    return true;
}

/* Each reads the limit of one level. */
static struct cgroup_limit cpu_2(const char *dir)
{
    struct cgroup_limit limit = {0};
    char text[64];

    limit.is_seen =
        read_in(dir, "cpu.max", text, sizeof text) && proc_text_cpu_max(text, &limit.most);
    return limit;
}

static struct cgroup_limit cpu_1(const char *dir)
{
    struct cgroup_limit limit = {0};
    double quota, period;

    limit.is_seen = read_number(dir, "cpu.cfs_quota_us", &quota) &&
                    read_number(dir, "cpu.cfs_period_us", &period);
    if (limit.is_seen && quota > 0 && period > 0)
        limit.most = quota / period;
    return limit;
}

static struct cgroup_limit memory_2(const char *dir)
{
    struct cgroup_limit limit = {0};

    limit.is_seen = read_number(dir, "memory.max", &limit.most) &&
                    read_number(dir, "memory.current", &limit.used);
    return limit;
}

static struct cgroup_limit memory_1(const char *dir)
{
    struct cgroup_limit limit = {0};

    limit.is_seen = read_number(dir, "memory.limit_in_bytes", &limit.most) &&
                    read_number(dir, "memory.usage_in_bytes", &limit.used);
    if (limit.most >= no_limit_bytes)
        limit.most = 0;
    return limit;
}

/* Where a limit may stand, below the root. */
struct run_place {
    const char *folder;
    int version;
    struct cgroup_limit (*read)(const char *dir);
};
static const struct run_place cpu_places[] = {{"", 2, cpu_2},
                                              {"/unified", 2, cpu_2},
                                              {"/cpu", 1, cpu_1},
                                              {"/cpu,cpuacct", 1, cpu_1},
                                              {NULL, 0, NULL}};
static const struct run_place memory_places[] = {
    {"", 2, memory_2}, {"/unified", 2, memory_2}, {"/memory", 1, memory_1}, {NULL, 0, NULL}};

/* Version 2 has no file for a limit where there can be none: at its root, or where no level above
 * has handed the controller down. */
static bool could_limit(const char *mount, const char *controller)
{
    char text[256];
    const size_t size = strlen(controller);

    if (!read_in(mount, "cgroup.controllers", text, sizeof text))
        return false;
    for (const char *word = text; *word; word += strspn(word, " \n")) {
        const size_t length = strcspn(word, " \n");
        if (length == size && strncmp(word, controller, size) == 0)
            return true;
        word += length;
    }
    return false;
}

static struct cgroup_limit note_place(struct cgroup_limit limit, int version, const char *dir)
{
    const size_t length = strlen(dir);

    limit.version = version;
    if (limit.most > 0 && length < sizeof limit.dir)
        memcpy(limit.dir, dir, length + 1);
    return limit;
}

/* From its own cgroup up to the mount. */
static struct cgroup_limit tightest(const char *mount, const char *own,
                                    const struct run_place *place)
{
    struct cgroup_limit found = {0};
    char dir[PATH_MAX];
    char *slash = dir;

    if ((size_t)snprintf(dir, sizeof dir, "%s%s", mount, strcmp(own, "/") == 0 ? "" : own) >=
        sizeof dir)
        return found;
    while (slash) {
        const struct cgroup_limit here = place->read(dir);
        if (here.is_seen &&
            (!found.is_seen || found.most == 0 || (here.most > 0 && here.most < found.most)))
            found = note_place(here, place->version, dir);
        slash = strlen(dir) > strlen(mount) ? strrchr(dir, '/') : NULL;
        if (slash)
            *slash = '\0';
    }
    return found;
}

/* The first place that tells anything counts. */
static struct cgroup_limit find(const char *root, const char *cgroups, const char *controller,
                                const struct run_place *places)
{
    struct cgroup_limit found = {0};
    char own[1024], mount[PATH_MAX];

    for (const struct run_place *place = places; place->folder && !found.is_seen; place++) {
        const bool is_2 = place->version == 2;
        snprintf(mount, sizeof mount, "%s%s", root, place->folder);
        if (proc_text_cgroup(cgroups, is_2 ? "" : controller, own, sizeof own))
            found = tightest(mount, own, place);
        if (is_2 && !found.is_seen)
            found.is_seen = could_limit(mount, controller);
    }
    return found;
}

struct cgroup_limit cgroup_limit_cpu(const char *root, const char *cgroups)
{
    return find(root, cgroups, "cpu", cpu_places);
}

struct cgroup_limit cgroup_limit_memory(const char *root, const char *cgroups)
{
    return find(root, cgroups, "memory", memory_places);
}
