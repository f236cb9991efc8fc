/* Keeps the memory that processes of the run record into, until each has died, and then adds to its
 * file what had not been copied there: so a kill loses nothing (format 1.2).
 *
 * A process sends a descriptor of its memory to a socket in the run directory. One that is on its
 * way is kept by the kernel, also if the sender dies before we look. That takes a descriptor for
 * each live process. Where the hard limit is too low for all, some wait in the socket, and the
 * processes that find it full offer theirs again: a kill of these loses what a kill without a
 * supervisor loses. */
#ifndef SUPERVISE_KEEPER_H
#define SUPERVISE_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keeper;

enum { KEEPER_FDS = 2 };

/* In this directory, before the command starts. NULL if it cannot be made: processes do without. */
struct keeper *keeper_open(int dir);
void keeper_close(struct keeper *keeper);

/* Frees it in a process that has no descriptor of it any more: another one keeps. */
void keeper_forget(struct keeper *keeper);

/* Lets this process have as many descriptors as it may. Once the command has been started, which
 * keeps the limit that it was given. */
void keeper_raise_limit(void);

/* To be waited for; -1 if `keeper` is NULL, and while it can take nothing. */
int keeper_fd(const struct keeper *keeper);

/* Puts its descriptors into `out`; returns how many. */
size_t keeper_fds(const struct keeper *keeper, int out[KEEPER_FDS]);

/* Takes what processes have sent; completes files once per second, and when processes come often.
 */
void keeper_follow(struct keeper *keeper);

/* What is left of the budget of the run: a part of it is granted to each process that comes. */
void keeper_note_left(struct keeper *keeper, uint64_t bytes);

/* What the file of a process may have, from now on: its recorder follows. Nothing if its memory is
 * not kept. */
void keeper_grant(struct keeper *keeper, const char *name, uint64_t bytes);

/* When many processes have died: the time from which their files can be trimmed, which are large
 * until then. INT64_MAX: not so, or it has passed. */
int64_t keeper_crowd_ns(struct keeper *keeper);

/* Completes the files of processes that have died; at the end, also of those that have become
 * another program. */
void keeper_complete(struct keeper *keeper, bool at_end);

/* Whether a process goes on, after completion at the end: its file may still be empty. */
bool keeper_has_any(const struct keeper *keeper);

#endif
