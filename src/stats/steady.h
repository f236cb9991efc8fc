/* What the cells of a run say about its steady state, with 95 % intervals (rule book 0, 6.3).
 *
 * `start` is a cut of the cells (stats/cells.h), usually warmup.start. All are ratios of sums, so
 * `mid` is exact, and the shares of all parts and of the rest add up to 1. With fewer than 20
 * cells the ends are infinite, or the bounds that the number has by nature.
 *
 * What n windows have not shown may still come, 1 in n: the ends allow for one more that takes
 * twice as long as usual, all of it in the part or all of it outside. Without that, intervals from
 * 50 steps of a run with 1 % slow steps miss the true mean in 6 of 10 runs, because most show no
 * slow step at all. It widens them by 2 % of the step at n = 50, by 0.1 % at n = 1000. */
#ifndef STATS_STEADY_H
#define STATS_STEADY_H

#include <stdint.h>

#include "stats/cells.h"
#include "stats/interval.h"

/* Mean time of a step in ns. */
struct interval steady_step_ns(const struct cells *cells, int64_t start);

/* Share of a part of the time, within 0..1. */
struct interval steady_share(const struct cells *cells, int64_t start, int part);

/* A column per second: steps (CELLS_STEPS) or a part that counts something, as samples. */
struct interval steady_rate(const struct cells *cells, int64_t start, int column);

/* How many more windows are needed until the mean time of a step is known to +- `relative` (0.02:
 * 2 %); 0 if it is. With too few for an interval: how many are missing to have one. */
int64_t steady_more_needed(const struct cells *cells, int64_t start, double relative);

#endif
