/* A session: one recording of one process, from start to stop, into one file.
 *
 * Locks, always taken in this order: the life lock (start, stop, fork, exit), the recorder lock
 * (lanes, names, control lane), the store's lock. The helper thread never takes the life lock.
 *
 * A thread that is not the one that calls ss_stop() may be in the middle of an event, so a stopped
 * session stays mapped until each of its threads has noticed (at its next event) or ended. */
#ifndef RECORD_SESSION_H
#define RECORD_SESSION_H

#include "helper.h"
#include "lane.h"
#include "names.h"
#include "stepscope/error.h"
#include "stepscope/recorder.h"
#include "store.h"

/* What the next event must do. Undecided: look at the environment, or come back after a fork. */
enum mode { MODE_UNDECIDED, MODE_COUNTER, MODE_CLOCK, MODE_OFF };

enum { LANES_PER_CHUNK = 256, LANE_CHUNKS = 256 };

struct session {
    struct store store;
    struct helper helper;
    enum ss_clock clock;
    _Atomic bool over;
    _Atomic uint32_t *alive; /* in memory that a forked child finds zeroed */
    uint32_t users;          /* threads with a lane, and the session's own reference */

    struct lane *chunks[LANE_CHUNKS];
    _Atomic uint32_t lanes;
    struct lane *free_lanes;
    unsigned char *directory; /* its last directory segment */
    struct lane *control;

    uint32_t names_written, names_missed;
    struct ticks_pair first;
    uint64_t ticks_per_s;
    int64_t next_calibration_ns;
};

extern _Atomic int session_mode;

/* The lane of this thread, attached if need be; NULL: do not record this event. Slow path. */
struct lane *session_lane(void);

int session_start(const struct ss_options *options);
void session_stop(void);
const char *session_status(void);

struct store *session_store(struct session *session);
bool session_is_over(struct session *session);
uint64_t session_now(struct session *session);
void session_thread_name(char out[32]);
struct lane *session_lane_at(struct session *session, uint32_t number);

/* Interns and, if a recording is on, writes the name to its file before it returns. */
uint32_t session_intern(const struct name *name);
uint64_t session_ticks_of_ns(int64_t ns);

/* For the helper thread: both take the recorder lock. */
void session_calibrate(struct session *session);
void session_every_second(struct session *session);

/* The calling thread's lane: never NULL, poisoned when it has none. Initial-exec, because a call
 * to find it would cost as much as the rest of an event. */
extern _Thread_local struct lane *session_tls __attribute__((tls_model(SS_TLS_MODEL)));

#endif
