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
#include "names.h"
#include "pen.h"
#include "stepscope/error.h"
#include "stepscope/recorder.h"
#include "store.h"

enum { LANES_PER_CHUNK = 256, LANE_CHUNKS = 256, CALIBRATION_TRIES = 16 };

struct run_settings;

/* Which replica this process is, as a framework told it, at any time. */
struct told_rank {
    int rank, world;
};

struct session {
    struct store store;
    struct helper helper;
    enum ss_clock clock;
    _Atomic int32_t gate; /* its number at the gate; another one after a fork */
    uint32_t users;       /* threads that have a lane, and the session's own reference */

    struct lane *chunks[LANE_CHUNKS];
    _Atomic uint32_t lanes;
    struct lane *free_lanes;
    unsigned char *directory; /* its last directory segment */
    struct pen control;

    uint32_t names_written, names_missed, names_refused;
    struct ticks_pair first;
    uint64_t ticks_per_s;
    int64_t next_calibration_ns;
    struct ticks_pair last_beat;
};

int session_start(const struct ss_options *options);
void session_stop(void);
const char *session_status(void);

/* The pen of this thread, with a lane if need be; NULL: do not record this event. Slow path. */
struct pen *session_pen(void);

/* Interns and, if a recording is on, writes the name to its file before it returns. */
uint32_t session_intern(const struct name *name);

/* A frame of stack samples (notes.h); false if nothing is recorded or there is no room. */
bool session_put_frame(const struct ss_rec_frame *frame, const char *function, const char *file);

/* Which replica this process is, if nothing has said so before (notes.h). */
void session_set_rank(int rank, int world);

/* Of session.c: opens the file of a new session, with its header and its first lane. SS_E. */
int session_open(struct session *session, const struct run_settings *settings,
                 const struct told_rank *told);
void session_fill_rank(struct ss_file_header *header, const struct run_settings *settings,
                       const struct told_rank *told);

struct lane *session_lane_at(struct session *session, uint32_t number);

/* For the helper thread: all take the recorder lock. */
void session_calibrate(struct session *session);
void session_note_jump(struct session *session, const struct ticks_pair *before,
                       const struct ticks_pair *after);
void session_every_second(struct session *session);

/* The calling thread's pen. Initial-exec, because a call to find it would cost as much as the rest
 * of an event. */
extern _Thread_local struct pen session_tls __attribute__((tls_model(SS_TLS_MODEL)));

#endif
