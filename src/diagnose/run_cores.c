#include "diagnose/run_cores.h"

#include "diagnose/thresholds.h"
#include "stepscope/counters.h"

/* Where the command has more time than the cores of its loops have worked, its other threads are elsewhere. */
struct run_cores run_cores_of(const struct snapshot *snapshot)
{
    const struct snap_resource *tree =
        snapshot_value(snapshot, SS_COUNTER_ID_TREE_CPU, SNAP_ANY);
    const struct snap_resource *all =
        snapshot_value(snapshot, SS_COUNTER_ID_CPU_BUSY, SS_ALL_CPUS);
    const struct snap_resource *busy = snapshot_allowed_busy(snapshot);

    if (all && busy && tree && tree->mean > busy->mean * tree_elsewhere)
        return (struct run_cores){snapshot_cores(snapshot), all};
    return (struct run_cores){snapshot_allowed_cores(snapshot), busy};
}
