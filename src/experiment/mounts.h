/* What is mounted, and making it read-only for the trainings of an experiment. */
#ifndef EXPERIMENT_MOUNTS_H
#define EXPERIMENT_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

/* Both are absolute and without symbolic links. */
bool path_is_below(const char *path, const char *folder);

/* Calls `visit` with each place where something is mounted, until it returns other than 0, and
 * returns that; else 0, or an errno. */
int mounts_each(int (*visit)(void *context, const char *point), void *context);

/* In a mount namespace of our own: no program there changes files, their owners, modes or times,
 * except in the mounts at `kept` and below them, in /proc and in /dev. 0 or an errno. */
int mounts_make_read_only(const char *const *kept, size_t count);

/* Where there is no such namespace: from now on this process and all that it starts gets
 * "Permission denied" when it changes owners, modes, times or attributes of any file. 0 or an
 * errno. */
int metadata_forbid(void);

#endif
