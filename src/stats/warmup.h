/* Where the steady state of a run begins (method 2).
 *
 * The second half of the run is the reference; going back from it, the first stretch of cells
 * whose median differs by more than the tolerance ends the steady state. If none does, slow steps
 * at the very beginning are cut off one by one. Can be asked at any time.
 *
 * A tolerance that takes neighbouring cells as independent would not do (method 12.4): of
 * level series of 200 steps that vary by 5 % it calls 20 % (r = 0) to 80 % (r = 0.9) something else
 * than FLAT, this here 1 % to 8 %. So:
 * - All that is before the change must differ as a whole too, to the same side, by more than a
 *   noise that allows for likeness of neighbours. The same noise tells whether the second half is
 *   level.
 * - The trend of the second half does not count as its noise, or a drifting run would pass as FLAT.
 * - Fewer than 20 steady windows are TOO_FEW, which more steps cure; NO_STEADY_STATE is kept for a
 *   transient that reaches the half of the run, which they may not.
 * - Slow steps at the beginning are judged by the noise of steps, not by that of cells, which is
 *   much smaller in long runs. Where all of the first 64 are slow, it goes on cell by cell. */
#ifndef STATS_WARMUP_H
#define STATS_WARMUP_H

#include <stdint.h>

#include "stats/cells.h"

enum { WARMUP_MIN_STEADY = 20 };

enum warmup_class {
    WARMUP_TOO_FEW,         /* fewer than 20 steady windows: conclude nothing */
    WARMUP_FLAT,            /* steady, but perhaps for a few slow steps at the start */
    WARMUP_SLOWER_FIRST,    /* a warm-up */
    WARMUP_FASTER_FIRST,    /* became slower: no warm-up, see FLAT for `start` */
    WARMUP_DRIFTING,        /* the second half is not level */
    WARMUP_NO_STEADY_STATE, /* it is, but another level reaches the half of the run */
};

struct warmup {
    enum warmup_class class;
    /* The first steady window, a cut of the cells. The half of the run if it becomes faster up to
     * there or longer. */
    int64_t start;
    int64_t granularity; /* windows: the true start may lie up to this much before */
    int64_t change;      /* window near which the level last changed, -1: it did not */
    int64_t missing;     /* TOO_FEW: how many more windows it takes, if all are steady */
    double typical_ns;   /* median time of a step in the second half */
    double tolerance_ns; /* how much another level may differ from it */
    double cost_ns;      /* time before `start`, less what as many typical steps take */
};

void warmup_find(const struct cells *cells, struct warmup *out);

#endif
