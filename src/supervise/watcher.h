/* Watches the machine for a run that a process began by itself, such as a notebook: the samples
 * that the supervisor takes of a command, taken by a process of their own. It is the command
 * `stepscope _watch RUN PID`, which python/stepscope/_watch.py starts.
 *
 * Its standard input is a socket: it writes a byte when it has begun, and ends when the other end
 * is shut down or the process that it watches has ended. It is no child of that process, which
 * would count it as a part of the training. */
#ifndef SUPERVISE_WATCHER_H
#define SUPERVISE_WATCHER_H

#include <sys/types.h>

#define WATCHER_COMMAND "_watch"

/* In a process of its own, which this leaves behind. 0, or SS_E: nothing was started. */
int watcher_start(const char *run, pid_t pid);

#endif
