/* Threads and their lanes: a thread gets a lane at its first event and gives it back when it ends;
 * the next new thread goes on in the same lane. Callers hold the recorder lock. */
#ifndef RECORD_ATTACH_H
#define RECORD_ATTACH_H

#include "lane.h"

/* A lane that nobody has: its block is made, it is not attached yet. NULL: no space or memory. */
struct lane *attach_new_lane(struct session *session);

/* A lane for the calling thread; NULL, counted, if there is none. */
struct lane *attach_take(struct session *session);

/* Ends the owner's use. In a session that is over, nothing more is written to the lane. */
void attach_give_back(struct lane *lane);

/* Gives back what threads left that ended without a word (raw clone, exit of a foreign runtime). */
void attach_reclaim_dead(struct session *session);

/* One thread less needs the session; the last one frees it. */
void attach_drop_user(struct session *session);

#endif
