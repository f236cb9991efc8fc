/* When batches were made, and when they were waited for, by their numbers: the last ones of a thread, in bounded
 * memory. Who makes them and who waits may be of different processes, so that both are put together only
 * when somebody asks (snapshot_input.c). */
#ifndef MODEL_BATCH_LOG_H
#define MODEL_BATCH_LOG_H

#include "stepscope/reader.h"
#include <stdbool.h>

/* Waits, and batches of one worker: workers may come and go with each epoch. */
enum { BATCH_LOG_WAITS = 256, BATCH_LOG_MADE = 64 };

struct batch_time {
    int64_t number, start_ns, end_ns;
};

struct batch_log {
    bool is_producer;
    uint64_t count; /* all; the last `most` are kept */
    uint32_t most;
    struct batch_time batch[];
};

/* A span of stage data or produce whose argument is the number of its batch. Makes the log at the first one; without
 * memory there is none. A thread has one kind: what it did first. */
void batch_log_add(struct batch_log **log, bool is_producer,
                   const struct ss_record *record);

static inline uint32_t batch_log_kept(const struct batch_log *log)
{
    return log->count < log->most ? (uint32_t)log->count : log->most;
}

/* The oldest that is kept is 0. */
static inline const struct batch_time *batch_log_at(const struct batch_log *log,
                                                    uint32_t place)
{
    return &log->batch[(log->count - batch_log_kept(log) + place) % log->most];
}

#endif
