/* Of snapshot.c: the steady steps of a loop as stretches of time, and system counters in each of them. */
#ifndef MODEL_SNAPSHOT_WINDOWS_H
#define MODEL_SNAPSHOT_WINDOWS_H

#include "model/resources.h"
#include "model/snapshot.h"

/* As many neighbouring cells each as make SNAP_WINDOWS of them or fewer; `start` is a cut. */
void snapshot_fill_windows(const struct cells *cells, int64_t start,
                           struct snap_windows *out);

/* The mean of a value in each, or what a total gained a second. */
void snapshot_fill_row_windows(const struct resource_set *set,
                               const struct resource_row *row,
                               const struct snap_windows *windows,
                               struct snap_resource *out);

#endif
