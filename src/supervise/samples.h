/* System samples: the machine and the processes of the run, looked at from outside, ten times per
 * second what changes fast and once per second the rest. After 10 minutes the pauses grow with the
 * age of the run, and as the file fills, so that a long run stays small. */
#ifndef SUPERVISE_SAMPLES_H
#define SUPERVISE_SAMPLES_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "model/model.h"

struct samples;

/* Samples go into a file of their own in `dir`. NULL if that cannot be made: the run has none then.
 * The command was launched at that time of CLOCK_MONOTONIC_RAW; what one that runs already used
 * before does not count. */
enum { SAMPLES_RUNS_ALREADY = 0 };
struct samples *samples_start(int dir, pid_t command, int64_t launched_ns);

/* Takes what is due at this time; returns when it is to be called again (now_ns()), within 2 s: a
 * supervisor that gives no sign of life looks killed. `model` says which
 * threads hold loops; NULL: nothing has been read yet, so a few of the processes that record are
 * looked at. */
int64_t samples_take(struct samples *samples, const struct model *model);

/* Writes what has been taken. For the next reader of the run: records that come later than others
 * of their time are in no order with them. Nothing if `samples` is NULL. */
void samples_flush(struct samples *samples);

/* The command has ended, and this is what it used in all; NULL: not known, or it goes on. */
void samples_end(struct samples *samples, const struct rusage *usage);

/* Until the next look, in ns, at that age of the run and with such a part of the file used. Pauses
 * are between half of the period and one and a half: a loop as regular as we are would otherwise
 * always be seen at the same place. `random` is the caller's and not 0. */
int64_t sample_pause(int64_t age_ns, double used, uint64_t *random);

#endif
