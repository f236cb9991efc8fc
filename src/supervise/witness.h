/* Tells whether a signal went to the whole process group or to the supervisor alone.
 *
 * The command shares the group of the supervisor. A Ctrl-C, or a kill() of the group, reaches it
 * without our help: passing such a signal on would give it the signal twice. siginfo does not tell
 * the two apart, so a third member of the group, a process that does nothing else, is asked whether
 * it got the signal too. The kernel serves the newest member of a group first: whoever was forked
 * by the supervisor has a signal before the supervisor sees it. */
#ifndef SUPERVISE_WITNESS_H
#define SUPERVISE_WITNESS_H

#include <stdbool.h>
#include <sys/types.h>

struct witness {
    pid_t pid;
    int fd; /* -1: there is none */
};

enum testimony { WITNESS_GOT_IT, WITNESS_DID_NOT, WITNESS_IS_GONE };

/* All signals must be blocked. Without memory or processes there is no witness, which is no
 * failure. */
void witness_start(struct witness *witness);

/* Whether it got `signal` since it was last asked. */
enum testimony witness_ask(struct witness *witness, int signal);

/* It ends by itself, and also when the supervisor dies. */
void witness_stop(struct witness *witness);

#endif
