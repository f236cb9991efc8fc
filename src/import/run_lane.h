/* Makes a process file of a settled trace: its steps, and what was done in them by stage. */
#ifndef IMPORT_RUN_LANE_H
#define IMPORT_RUN_LANE_H

#include "import/trace.h"

struct run_lane_place {
    int dir;             /* descriptor of the run directory */
    uint32_t *processes; /* how many files are there already; counted on */
    int64_t origin_ns;   /* since 1970: where the clock of the run begins */
    const char *source;  /* the name of the trace, as a fact */
};

/* One process for the host; of a trace that has steps of devices only, one for each of these.
 * 0 or errno. */
int run_lane_write(const struct trace *trace, const struct run_lane_place *place);

#endif
