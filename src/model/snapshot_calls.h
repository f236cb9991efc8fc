/* Of snapshot.c: what is known of a name in the primary loop. */
#ifndef MODEL_SNAPSHOT_CALLS_H
#define MODEL_SNAPSHOT_CALLS_H

#include "model/parts.h"
#include "model/snapshot.h"

/* From the window `start` on: the steady steps. False: memory is short. */
bool snapshot_fill_calls(const struct loop *loop, int64_t start, uint32_t name,
                         struct snap_span *out);

#endif
