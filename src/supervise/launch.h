/* How the supervisor starts the command. */
#ifndef SUPERVISE_LAUNCH_H
#define SUPERVISE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervise/signals.h"

/* What a shell returns for a command that is not there, or cannot be run. */
enum { LAUNCH_NOT_RUNNABLE = 126, LAUNCH_NOT_FOUND = 127 };

struct launch {
    pid_t pid;
    int64_t fork_ns; /* CLOCK_MONOTONIC_RAW */
    int os_error;    /* why exec failed, 0: it did not */
};

/* Forks and runs `command` with STEPSCOPE_RUN set to `dir` and Python hooked. Returns when exec()
 * has succeeded or failed (os_error; the child is gone then). 0, or SS_E if there could be no
 * child. */
int launch_command(struct launch *launch, char *const *command, const char *dir,
                   const struct signals *signals);

/* The same, but the child first does `prepare`, which returns 0 or an errno: then it is as if exec
 * had failed. */
int launch_prepared(struct launch *launch, char *const *command, const char *dir,
                    const struct signals *signals, int (*prepare)(void *context), void *context);

/* Becomes the command; returns errno if that fails. `dir` may be NULL: STEPSCOPE_RUN stays as it
 * is. */
int launch_become(char *const *command, const char *dir);

int launch_exit_code(int os_error);

/* Whether a command is a script that was given without its interpreter. */
bool launch_is_script(const char *command);

#endif
