#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervise/proc_file.h"
#include "supervise/supervise_parts.h"

enum { CHILDREN_BYTES = 512 };

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static void look_at(struct buf *out, long pid)
{
    char path[64];
    struct stat process, root, own_root;

    snprintf(path, sizeof path, "/proc/%ld", pid);
    if (stat(path, &process) != 0)
        return;
    if (process.st_uid != geteuid() && process.st_uid != 0) {
        buf_printf(out, "it runs as user %ju, who cannot write to this run",
                   (uintmax_t)process.st_uid);
        return;
    }
    snprintf(path, sizeof path, "/proc/%ld/root/", pid);
    if (stat(path, &root) == 0 && stat("/", &own_root) == 0 && !is_same(&root, &own_root))
        buf_add_text(out, "it has another root directory, from which this run cannot be reached");
}

void reach_look(struct buf *out, pid_t pid)
{
    char path[64], children[CHILDREN_BYTES];

    look_at(out, pid);
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", (long)pid, (long)pid);
    if (!proc_read(path, children, sizeof children))
        return;
    char *end;
    for (char *at = children; out->size == 0; at = end) {
        const long child = strtol(at, &end, 10);
        if (end == at)
            return;
        look_at(out, child);
    }
}
