/* Does the process of a file still live, and if not, how did it end (format
 * 8.9)? */
#ifndef READ_LIVENESS_H
#define READ_LIVENESS_H

#include "stepscope/reader.h"

/* The machine that reads. */
struct host {
    bool known; /* false: runs in memory, no one is asked */
    uint8_t boot_id[16];
    ss_ns now_ns; /* CLOCK_MONOTONIC_RAW */
    bool patient; /* see run_follow() */
};

void host_init(struct host *host);
/* Looks at the clock again. */
void host_update(struct host *host);

enum ss_process_end liveness_of(const struct ss_file_header *header, const struct host *host);

#endif
