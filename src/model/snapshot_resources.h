/* Of snapshot.c: system counters while the primary loop ran, and what its threads did by stage. */
#ifndef MODEL_SNAPSHOT_RESOURCES_H
#define MODEL_SNAPSHOT_RESOURCES_H

#include "model/hot.h"
#include "model/model.h"
#include "model/snapshot.h"

/* `is_loop` says which threads hold loops. False: memory is short. */
bool snapshot_fill_resources(const struct model *model,
                             bool (*is_loop)(const void *context,
                                             const struct hot_thread *),
                             struct snapshot *snapshot);

#endif
