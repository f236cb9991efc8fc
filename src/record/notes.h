/* Records that only our own layers between a framework and the recorder write: what was hooked, and
 * the stacks that were sampled. For extensions that have the recorder inside; not installed.
 * As with the public calls, nothing here fails, prints or changes errno. */
#ifndef RECORD_NOTES_H
#define RECORD_NOTES_H

#include <stdbool.h>

#include "stepscope/format.h"
#include "stepscope/recorder.h"

/* Another number for each recording, and in each forked child; 0: nothing is recorded now. What was
 * told to one recording must be told to the next one again. Starts none by itself. */
uint32_t notes_recording(void);

/* A fact on the process, told to each recording that begins from now on; there is one such. The
 * texts must stay. */
void notes_fact(const char *key, const char *value);

/* Which of how many replicas this process is, as a framework says later than its environment could;
 * what that said stays. In the header of this recording's file, and of later ones. */
void notes_rank(int rank, int world);

/* A hook is in place, or was left out for this reason (NULL: it is in place). */
void notes_hook(const char *target, const char *reason);

/* What a frame id means, before the first sample that has it; never given up at the cap. Head and
 * lengths of `frame` do not count. False: not written, the id means nothing. */
bool notes_frame(const struct ss_rec_frame *frame, const char *function, const char *file);

/* The stack of a thread at `when` (ss_now()), innermost frame first; at most NOTES_FRAMES_MAX. */
enum { NOTES_FRAMES_MAX = (SS_MAX_UNITS * SS_UNIT - 24) / 4 };
void notes_sample(uint32_t tid, ss_ticks when, const uint32_t *frames, unsigned count);

/* From `start` to `end` the run was not itself. */
void notes_perturbed(ss_ticks start, ss_ticks end, enum ss_perturbation reason);

/* How long the calling thread has had to wait for a core, and what other threads of the process
 * have run, both so far, at `when`. */
void notes_clock(ss_ticks when, uint64_t waited_ns, uint64_t others_ns);

/* From `when` on the training runs as `name` says, in this round of an experiment;
 * SS_FLAG_PERTURBED: it has not settled yet. */
void notes_arm(ss_ticks when, ss_name name, unsigned flags, uint64_t round);

#endif
