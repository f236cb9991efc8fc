/* Work after the command has ended that a signal may cut short, while how the command ended stays what
 * we end with: it is done by a process of its own. */
#ifndef SUPERVISE_APART_H
#define SUPERVISE_APART_H

#include "supervise/signals.h"

/* Does the work, with the signals that we were started with; those that come to us go on to it.
 * Returns when it is over: 0, or the signal that ended it. Without another process to be had, it is done
 * here, and no signal ends it. */
int apart_do(const struct signals *signals, void (*work)(void *context), void *context);

#endif
