#include "supervise/mpi_preload.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"

/* Below the folder of our executable. */
static const char *const places[] = {"libstepscope-mpi.so", "../lib*/libstepscope-mpi.so",
                                     "../lib*/*-linux-gnu/libstepscope-mpi.so"};

void mpi_preload_find(struct buf *out)
{
    path_find_beside_us(places, sizeof places / sizeof places[0], out);
}

static bool is_launcher(const char *path)
{
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun"};
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const size_t size = strlen(names[i]);
        if (strncmp(name, names[i], size) == 0 && (name[size] == '\0' || name[size] == '.'))
            return true;
    }
    return false;
}

/* As MPI's own launchers say it to the processes that they start. */
static bool is_rank(void)
{
    return getenv("OMPI_COMM_WORLD_RANK") || getenv("PMI_RANK") || getenv("PMIX_RANK");
}

static bool is_wanted(char *const *command)
{
    const char *asked = getenv("STEPSCOPE_MPI");
    if (asked && *asked)
        return strcmp(asked, "0") != 0;
    return is_launcher(command[0]) || is_rank();
}

void mpi_preload_set(char *const *command)
{
    const char *old = getenv("LD_PRELOAD");
    struct buf path = {0};
    if (!is_wanted(command))
        return;
    mpi_preload_find(&path);
    /* The loader separates paths by these, and knows no way to quote them. */
    if (path.size > 0 && !strpbrk(buf_text(&path), ": ")) {
        const bool is_first = old && strncmp(old, path.data, path.size) == 0;
        if (old && *old)
            buf_printf(&path, ":%s", old);
        if (!path.failed && !is_first)
            (void)setenv("LD_PRELOAD", buf_text(&path), 1);
    }
    buf_release(&path);
}
