/* The statistics of one loop, for snapshot.c. */
#ifndef MODEL_SNAPSHOT_LOOP_H
#define MODEL_SNAPSHOT_LOOP_H

#include "model/parts.h"
#include "model/snapshot.h"

bool snapshot_fill_loop(const struct model *model, const struct thread *thread,
                        const struct loop *loop, struct snap_loop *out);
void snapshot_quantiles(const struct sketch *sketch, struct snap_quantiles *out);

/* Share of the steady time, from the window `start` on, of something that is known by chunk of the series. */
struct interval snapshot_chunk_share(const struct loop *loop, int64_t start,
                                     const int64_t chunk_ns[SERIES_CHUNKS]);

#endif
