/* For attribution.c: the counters that may explain slow steps, window by window. */
#ifndef DIAGNOSE_ATTRIBUTION_COUNTERS_H
#define DIAGNOSE_ATTRIBUTION_COUNTERS_H

#include "model/snapshot.h"

struct attribution_series {
    double rate[SNAP_WINDOWS]; /* part of the time, or events a second; NAN: not known */
    int64_t apart_ns;          /* what is nearer cannot be told apart */
};

struct attribution_counter {
    const char *cause; /* id of a finding; NULL: none */
    unsigned counter;
    const char *words;
    bool is_time;
    /* False: it has no values here. */
    bool (*fill)(const struct snapshot *snapshot, const struct ss_run *run,
                 unsigned counter, struct attribution_series *out);
};

enum { ATTRIBUTION_COUNTERS = 12 };
extern const struct attribution_counter attribution_counters[ATTRIBUTION_COUNTERS];

#endif
