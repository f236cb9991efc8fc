/* System samples: the machine and the processes of the run, looked at from outside, ten times a second
 * what changes fast and once a second the rest. After 10 minutes the pauses grow with the age of the run,
 * and as the file fills, so that a long run stays small. */
#ifndef SUPERVISE_SAMPLES_H
#define SUPERVISE_SAMPLES_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "model/model.h"

struct samples;

/* Samples go into a file of their own in `dir`. NULL if that cannot be made: the run has none then. The
 * command was launched at that time of CLOCK_MONOTONIC_RAW. */
struct samples *samples_start(const char *dir, pid_t command, int64_t launched_ns);

/* Takes what is due at this time; returns when it is to be called again (now_ns()), within 2 s: a
 * supervisor that gives no sign of life looks killed. `model` says which
 * threads hold loops; NULL: nothing has been read yet, so a few of the processes that record are looked at. */
int64_t samples_take(struct samples *samples, const struct model *model);

/* Writes what has been taken. For whoever reads the run next: records that come later than others of their
 * time are in no order with them. Nothing if `samples` is NULL. */
void samples_flush(struct samples *samples);

/* The command has ended, and this is what it used in all. */
void samples_end(struct samples *samples, const struct rusage *usage);

#endif
