/* The control lane: names, facts on the process, calibrations. Any thread may write to it, under
 * the recorder lock, and may wait for space: none of this is on the path of an event. */
#ifndef RECORD_CONTROL_H
#define RECORD_CONTROL_H

#include <stdbool.h>

#include "ticks.h"

struct session;

/* Callers hold the recorder lock. What cannot be written is counted as lost_names. */
void control_put_info(struct session *session, const char *key, const char *value);
void control_put_calibration(struct session *session, const struct ticks_pair *pair);
/* False: no space, and the id means nothing. */
bool control_put_frame(struct session *session, const struct ss_rec_frame *frame,
                       const char *function, const char *file);
/* All names that the file does not have yet; those that find no space are tried again later. */
void control_put_names(struct session *session);

#endif
