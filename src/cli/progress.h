/* How far long work has come, in one line on stderr that is written over and taken away at the end. Only
 * on a terminal, and only for what takes longer than a moment; Ctrl-C takes it away too. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what; /* "exporting" */
    bool is_terminal;
    bool shown;
    int64_t start_ns, last_ns;
};

/* `what` must outlive it. */
void progress_begin(struct progress *progress, const char *what);

/* `done`: 0 to 1. `progress` is a struct progress, for those who call it through a pointer. */
void progress_show(void *progress, double done);
void progress_end(struct progress *progress);

#endif
