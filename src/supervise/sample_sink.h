/* Takes what sources read, for one moment in time. */
#ifndef SUPERVISE_SAMPLE_SINK_H
#define SUPERVISE_SAMPLE_SINK_H

#include "supervise/sample_file.h"

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

/* A counter that is not there, or that we may not read: said once. One that has a value, but none just now, is
 * passed over. */
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
