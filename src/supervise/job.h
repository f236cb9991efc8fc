/* The command as a job: its signals and its stops are passed on, its end is waited for.
 *
 * Two processes have a `struct job`. The guard is the parent of the command: it does all that, and
 * never touches a disk. The worker (guard.h) records, and knows of the command what the guard tells
 * it. */
#ifndef SUPERVISE_JOB_H
#define SUPERVISE_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "supervise/launch.h"
#include "supervise/signals.h"

struct job {
    struct launch launch;
    struct signals signals;
    struct signal_witness witness;
    int64_t to_group_ns[NSIG]; /* when the group last got this signal; 0: never */
    bool stopped;              /* as wait() said last */
    bool ended;
    bool hurry;       /* someone asked us to end, after the command had ended */
    int hurry_signal; /* the signal that did */
    int status;       /* of wait(), once ended */
    int64_t ended_ns;
    struct rusage usage;
    int wake_fd; /* something to read there ends a wait, too; -1: none */

    /* Of the guard. */
    pid_t worker; /* stops and goes on with us; 0: there is none, or none any more */
    int worker_status;
    int64_t look_ns; /* when to look next whether a disk holds the command up */
    bool was_held;   /* the last time */

    /* Of the worker. */
    int news_fd;      /* from the guard; -1: this is the guard */
    bool is_left;     /* the guard does not wait for us any more */
    bool is_deserted; /* it was killed */
};

/* What the guard tells the worker. */
struct job_news {
    bool ended, hurry;
    bool stays_behind; /* the guard does not wait for the worker */
    int status;
    int64_t ended_ns;
    struct rusage usage;
};

/* Starts the command; see launch_command(). If that fails, signals are as they were. */
int job_start(struct job *job, char *const *command, const char *dir);
void job_release(struct job *job);

/* Waits for a signal or until `wait_ns` have passed, and does what signals ask for: passes them on,
 * stops with the command, notices its end, reaps orphans that were left to us. In the worker: waits
 * for news. */
void job_wait(struct job *job, int64_t wait_ns);

#endif
