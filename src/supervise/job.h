/* The command as a job: its signals and its stops are passed on, its end is waited for. */
#ifndef SUPERVISE_JOB_H
#define SUPERVISE_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "supervise/launch.h"
#include "supervise/signals.h"
#include "supervise/witness.h"

struct job {
    struct launch launch;
    struct signals signals;
    struct witness witness;
    int64_t to_group_ns[NSIG]; /* when the group last got this signal; 0: never */
    bool stopped;              /* as wait() said last */
    bool ended;
    bool hurry; /* someone asked us to end, after the command had ended */
    int status; /* of wait(), once ended */
    int64_t ended_ns;
    struct rusage usage;
};

/* Starts the command; see launch_command(). If that fails, signals are as they were. */
int job_start(struct job *job, char *const *command, const char *dir);
void job_release(struct job *job);

/* Waits for a signal or until `wait_ns` have passed, and does what signals ask for: passes them on,
 * stops with the command, notices its end, reaps orphans that were left to us. */
void job_wait(struct job *job, int64_t wait_ns);

#endif
