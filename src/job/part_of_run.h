/* The part of a run that is recorded: from what its supervisor has summed up. */
#ifndef JOB_PART_OF_RUN_H
#define JOB_PART_OF_RUN_H

#include "diagnose/finding.h"
#include "job/part.h"
#include "read/run.h"

/* Adds the ranks that recorded, the host's machine and the findings; what names the launch and its
 * clocks is the caller's. 0 or SS_E_NOMEM. */
int part_of_run(struct job_part *part, const struct snapshot *snapshot, const struct ss_run *run,
                const struct diagnosis *diagnosis);

#endif
