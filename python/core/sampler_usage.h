/* What the kernel says about the loop thread and about the sampler itself, as counters of the run: page
 * faults and CPU time since the last look. */
#ifndef SAMPLER_USAGE_H
#define SAMPLER_USAGE_H

#include <stdint.h>

struct usage {
    uint32_t tid; /* 0: nothing is known yet */
    int64_t when_ns;
    uint64_t minor, major;
    int64_t cpu_ns;
};

/* Reads the numbers of a thread, and records the changes if there was a look at the same one before:
 * "loop minor faults" and "loop major faults" as numbers, "loop cpu" as a share of one core. */
void usage_record(struct usage *last, uint32_t tid);

/* CPU time of the calling thread as a share of one core, "stack sampler cpu": what looking costs. */
struct own_usage {
    int64_t when_ns; /* 0: nothing is known yet */
    int64_t cpu_ns;
};
void usage_record_own(struct own_usage *last);

#endif
