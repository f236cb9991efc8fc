/* What the cells of a run say about its steady state, with 95 % intervals (method 3.2, 3.3), and
 * how long a run takes that goes on like that (method 3.7).
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

#include <stddef.h>
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

/* How long a run still takes, from what it did so far and what its plan says
 * (method 3.7).
 *
 * What is left is a list of parts, such as steps and what is outside them, with how many were
 * seen, how many are left, and the mean time of one with its 95 % interval. What is left has noise
 * of its own beside the error of the mean, so an interval is wider by sqrt(1 + seen / left). Steps
 * that become slower (stats/change.h) need the mean of their newest level: that is the caller's
 * choice. */

struct eta_part {
    int64_t seen;
    int64_t left;
    struct interval mean_ns;
};

/* Time until all parts are done, in ns. With a part that is left but was never seen, `high` is
 * INFINITY and the rest counts without it. */
struct interval eta_left(const struct eta_part *parts, size_t count);

enum eta_verdict { ETA_UNKNOWN, ETA_HOLDS, ETA_UNSURE, ETA_MISSED };

/* Whether a run that took `elapsed_ns` so far ends within `deadline_ns`. UNKNOWN: `left` has no
 * upper end and its lower end is within. */
enum eta_verdict eta_deadline(struct interval left, int64_t elapsed_ns, int64_t deadline_ns);

#endif
