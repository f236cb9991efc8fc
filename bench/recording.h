/* A run that a benchmark records and then checks: a figure counts only if nothing was dropped.
 * Errors end the program with a message: without a recorder there is nothing to measure. */
#ifndef BENCH_RECORDING_H
#define BENCH_RECORDING_H

#include <limits.h>

#include "stepscope/format.h"

struct recording {
    char dir[PATH_MAX];
    const struct ss_file_header *header; /* of this process's file, as it changes */
};

struct recording_check {
    uint64_t spans;        /* read back */
    uint64_t lost;         /* as the recorder counted them */
    int64_t first_loss_ns; /* since the start; only if some were lost */
    uint64_t span_cost_ps;
    uint64_t helper_cpu_ns;
};

/* Where benchmarks write: BENCH_DIR, else TMPDIR, else /var/tmp (/tmp is often no disk). */
const char *recording_place(void);
/* What kind of file system that is, for the head of a table. */
const char *recording_file_system(void);

/* Starts the recorder in a new directory. */
void recording_start(struct recording *recording);
/* How often the recorder's helper thread has come round; one memory read. */
uint64_t recording_beats(const struct recording *recording);
/* Returns when the recorder's helper thread has gone round twice: it is ready for the next
 * burst. */
void recording_catch_up(const struct recording *recording);
/* Stops the recorder, reads the run back and deletes it. */
struct recording_check recording_finish(struct recording *recording);
/* Why figures of this recording do not count, in `text`; NULL if they do. */
const char *recording_spoilt(struct recording_check check, uint64_t expected, char *text,
                             size_t size);

#endif
