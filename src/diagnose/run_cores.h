/* Which cores the run works on: those that the threads of its loops may use, if it works on no others. */
#ifndef DIAGNOSE_RUN_CORES_H
#define DIAGNOSE_RUN_CORES_H

#include "model/snapshot.h"

struct run_cores {
    size_t count;                     /* 0: not observable */
    const struct snap_resource *busy; /* the time in which they worked; NULL: not known */
};

struct run_cores run_cores_of(const struct snapshot *snapshot);

#endif
