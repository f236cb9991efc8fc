/* How the batches of the primary loop were made and waited for, for snapshot.c. */
#ifndef MODEL_SNAPSHOT_INPUT_H
#define MODEL_SNAPSHOT_INPUT_H

#include "model/parts.h"
#include "model/snapshot.h"

/* False if memory is short. */
bool snapshot_fill_input(const struct model *model, const struct snap_loop *loop,
                         struct snap_input *out);

#endif
