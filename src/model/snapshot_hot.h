/* Of snapshot.c: the lines that samples found, by stage. */
#ifndef MODEL_SNAPSHOT_HOT_H
#define MODEL_SNAPSHOT_HOT_H

#include "model/hot.h"
#include "model/snapshot.h"

/* `is_loop` says which threads hold loops. False: memory is short. */
bool snapshot_fill_hot(const struct hot *hot,
                       bool (*is_loop)(const void *context, const struct hot_thread *),
                       const void *context, struct snap_hot *out);
void snapshot_release_hot(struct snap_hot *hot);

/* The 95 % interval of a share of which `count` of `all` independent samples were seen (Wilson). */
struct interval snapshot_share(uint64_t count, uint64_t all);

#endif
