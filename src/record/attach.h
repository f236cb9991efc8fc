/* Threads and their lanes: a thread gets a lane at its first event and gives it back when it ends;
 * the next new thread goes on in the same lane. Callers hold the recorder lock. */
#ifndef RECORD_ATTACH_H
#define RECORD_ATTACH_H

#include "pen.h"

/* A free lane: its block is made. NULL: no space or memory. */
struct lane *attach_new_lane(struct session *session);

/* Gives the calling thread's pen a lane; false, counted, if there is none. */
bool attach_pen(struct session *session, struct pen *pen);

/* Ends a thread's use of its lane: spans still open are written as unfinished. */
void attach_detach(struct pen *pen);

/* Does that for threads that ended without a word (a raw clone, a foreign runtime). */
void attach_reclaim_dead(struct session *session);

/* One thread less needs the session; the last one frees it. */
void attach_drop_user(struct session *session);

#endif
