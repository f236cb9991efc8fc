/* Keeps the command's signals and its exit code free of any disk. A process that waits for a frozen
 * disk takes no signal and reaps no child. So all that writes or reads files is done by the worker,
 * a child of the guard; what is left to the guard waits for processes only.
 *
 * The guard passes on what the worker prints, and waits for it at the end; but not for one that
 * waits for a disk: that goes on alone, and finishes the run when the disk answers. A worker whose
 * guard was killed keeps the memory of processes until they have ended (keeper.h). */
#ifndef SUPERVISE_GUARD_H
#define SUPERVISE_GUARD_H

#include "supervise/job.h"

enum guard_end {
    GUARD_DONE,
    GUARD_HAS_NO_WORKER, /* it could not be started: nothing was done but to follow the command */
    GUARD_LOST_WORKER,   /* killed by job->worker_status */
    GUARD_LEFT_WORKER    /* it waits for a disk */
};

/* The command of `job` has been started. Does `work` in a child process, which ends with it, and
 * returns once command and worker have ended. */
enum guard_end guard_follow(struct job *job, void (*work)(void *context), void *context);

/* Of the worker, for its last work: from now on, signals that ask to end end it. False: one did
 * already. */
bool guard_worker_may_end(struct job *job);

#endif
