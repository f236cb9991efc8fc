/* What other threads do for a loop. Joined by time: overlays, waits and compilations inside the
 * loop's own call that happen on other threads (step model 1.7). Joined by number: batches
 * that were made, or waited for; who makes them and who waits may be of different processes, so
 * that both are put together only for a report. */
#ifndef MODEL_OTHER_THREADS_H
#define MODEL_OTHER_THREADS_H

#include <stdbool.h>

#include "model/item.h"
#include "stepscope/reader.h"

enum { OVERLAYS_KEPT = 256 };

struct overlay {
    int64_t start_ns, end_ns;
    /* Of batches that it waited for, and how many; those without a size do not count. */
    int64_t bytes;
    int32_t batches;
};

struct overlays {           /* of a process */
    struct overlay *window; /* OVERLAYS_KEPT, sorted, disjoint; NULL: none was seen */
    int count;
    uint64_t seen; /* all */
};

void overlays_release(struct overlays *overlays);

/* A span flagged `overlay`, of stage `stage`, that did not fail. False: no memory. */
bool overlay_add(struct overlays *overlays, enum ss_stage stage, const struct ss_record *record);

/* Taken is what lies in a window; what ends before it is forgotten. */
int64_t overlay_take(struct overlays *overlays, int64_t start_ns, int64_t end_ns);

/* Gives an item what was got during it. */
void overlay_add_batches(struct overlays *waits, const struct item *item);

/* Waits, and batches of one worker: workers may come and go with each epoch. */
enum { BATCH_LOG_WAITS = 256, BATCH_LOG_MADE = 64 };

struct batch_time {
    int64_t number, start_ns, end_ns;
};

/* The last ones of a thread. */
struct batch_log {
    bool is_producer;
    uint64_t count; /* all; the last `most` are kept */
    uint32_t most;
    struct batch_time batch[];
};

/* A span of stage data or produce whose argument is the number of its batch. Makes the log at the
 * first one; without memory there is none. A thread has one kind: what it did first. */
void batch_log_add(struct batch_log **log, bool is_producer, const struct ss_record *record);

static inline uint32_t batch_log_kept(const struct batch_log *log)
{
    return log->count < log->most ? (uint32_t)log->count : log->most;
}

/* The oldest that is kept is 0. */
static inline const struct batch_time *batch_log_at(const struct batch_log *log, uint32_t place)
{
    return &log->batch[(log->count - batch_log_kept(log) + place) % log->most];
}

#endif
