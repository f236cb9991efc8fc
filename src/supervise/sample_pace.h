/* How often the machine is looked at: ten times a second; after 10 minutes the pauses grow with the age of the run,
 * and as the file of samples fills, so that a long run stays small. */
#ifndef SUPERVISE_SAMPLE_PACE_H
#define SUPERVISE_SAMPLE_PACE_H

#include <stdint.h>

/* Until the next look, in ns, at that age of the run and with such a part of the file used. Pauses are between half of
 * the period and one and a half: a loop as regular as we are would otherwise always be seen at the same place.
 * `random` is the caller's and not 0. */
int64_t sample_pause(int64_t age_ns, double used, uint64_t *random);

#endif
