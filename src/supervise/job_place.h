/* Where the launches of a job meet: one directory, in which each has its run.
 *
 *     stepscope-runs/
 *         slurm-4711.0/            the job: a manifest, and the result once it is known
 *             rank-0/              a run as any other, with its part
 *             rank-1/
 *
 * The launcher's ids name it, or --job. A training that is started again under the same ids gets a
 * directory of its own, slurm-4711.0-2: the place of a rank is taken once. */
#ifndef SUPERVISE_JOB_PLACE_H
#define SUPERVISE_JOB_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/launcher.h"
#include "supervise/run_place.h"

struct job_place {
    struct launcher_ids ids; /* job "": this launch is no part of one */
    char *shown;             /* the directory of the job, as one would type it */
    char *run;               /* that of this launch, which is there and empty */
    uint64_t launch;         /* its id */
};

/* Finds the job of this process and makes a place in it. `job` is that of --job, or NULL. Without a
 * job all stays NULL. 0, or SS_E with a sentence; release it in either case. */
int job_place_make(struct job_place *place, const struct run_place_wish *wish, const char *job,
                   struct ss_error *error);
void job_place_release(struct job_place *place);

/* Nothing was started: removes the job's directory if no other launch is in it. */
void job_place_remove(const struct job_place *place);

#endif
