/* Finds the runs of a side that `stepscope compare` was given. */
#ifndef CLI_SIDE_ARGUMENT_H
#define CLI_SIDE_ARGUMENT_H

#include <stddef.h>

#include "cli/console.h"

/* Where runs are; {0} is empty. */
struct run_paths {
    char **path;
    size_t count;
};

/* Adds the runs that `word` stands for: one run, several with commas between them, or
 * a directory of runs (not the links in it). The newest one is "latest". EXIT_FINE, or
 * another after a message on stderr. */
int side_argument_find(const struct console *console, const char *word,
                       struct run_paths *paths);

void run_paths_release(struct run_paths *paths);

#endif
