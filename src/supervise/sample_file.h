/* The supervisor's own file of a run: system counters in the format of all process files
 * (docs/format.md, process_kind 1), named s-PID-START-RANDOM.ssp. One thread writes, and never
 * through a mapping: whatever happens to the file, a write fails and no signal comes. What
 * has been flushed is in the page cache and survives the supervisor; what finds no room, on a full
 * disk or at the cap, is counted and dropped. */
#ifndef SUPERVISE_SAMPLE_FILE_H
#define SUPERVISE_SAMPLE_FILE_H

#include "stepscope/counters.h"
#include "stepscope/format.h"

struct sample_file;

/* NULL if it cannot be made. At most `most_bytes` will be written, and 128 KB at least. No sample
 * may be older than `start_ns` (CLOCK_MONOTONIC_RAW, as all times here). */
struct sample_file *sample_file_make(int dir, uint64_t most_bytes, int64_t start_ns);

void sample_file_put(struct sample_file *file, enum ss_counter_id counter,
                     enum ss_system_state state, uint64_t subject, int64_t time_ns, double value);

/* An info of the file: a key and a text, both short. What does not fit is left out. */
void sample_file_note(struct sample_file *file, const char *key, const char *text);

/* What has been put since the last time appears to readers, all at once if one segment holds it. */
void sample_file_flush(struct sample_file *file);

/* The supervisor lives: at least every few seconds. */
void sample_file_beat(struct sample_file *file);

/* How much of what may be written has been, from 0 to 1. */
double sample_file_used(const struct sample_file *file);

/* Nothing more comes. The file stays. */
void sample_file_end(struct sample_file *file);

struct sample_sink {
    struct sample_file *file;
    int64_t time_ns;              /* CLOCK_MONOTONIC_RAW of this round */
    uint8_t told[SS_COUNTER_IDS]; /* the last state that was written, + 1 */
};

static inline void sample_put(struct sample_sink *sink, enum ss_counter_id counter,
                              enum ss_system_state state, uint64_t subject, double value)
{
    sink->told[counter] = (uint8_t)(state + 1);
    sample_file_put(sink->file, counter, state, subject, sink->time_ns, value);
}

static inline void sample_value(struct sample_sink *sink, enum ss_counter_id counter,
                                uint64_t subject, double value)
{
    sample_put(sink, counter, SS_SYSTEM_VALUE, subject, value);
}

/* A counter that is not there, or that may not be read: said once. One that has a value, but none
 * just now, is passed over. */
static inline void sample_missing(struct sample_sink *sink, enum ss_counter_id counter,
                                  enum ss_system_state state)
{
    if (state == SS_SYSTEM_VALUE)
        return;
    if (sink->told[counter] == 0)
        sample_file_put(sink->file, counter, state, 0, sink->time_ns, 0);
    sink->told[counter] = (uint8_t)(state + 1);
}

#endif
