/* How long a run still takes, from what it did so far and what its plan says (design.md 7;
 * intervals as in rule book 6.3).
 *
 * What is left is a list of parts: steps, and each kind of cut (evaluation, checkpoint, what is
 * between epochs), with how many were seen, how many are left, and the mean time of one with its
 * 95 % interval. What is left has noise of its own beside the error of the mean, so an interval is
 * wider by sqrt(1 + seen / left). Steps that become slower (stats/change.h) need the mean of their
 * newest level: that is the caller's choice. */
#ifndef STATS_ETA_H
#define STATS_ETA_H

#include <stddef.h>
#include <stdint.h>

#include "stats/interval.h"

struct eta_part {
    int64_t seen;
    int64_t left;
    struct interval mean_ns;
};

/* The mean of a few independent times, from their count, sum and sum of squares: Student's t. Of a
 * single one anything up to twice as long is possible; of none, anything. */
struct interval eta_mean(int64_t count, double sum_ns, double sum_of_squares);

/* Time until all parts are done, in ns. With a part that is left but was never seen, `high` is
 * INFINITY and the rest counts without it. */
struct interval eta_left(const struct eta_part *parts, size_t count);

enum eta_verdict { ETA_UNKNOWN, ETA_HOLDS, ETA_UNSURE, ETA_MISSED };

/* Whether a run that took `elapsed_ns` so far ends within `deadline_ns`. UNKNOWN: `left` has no
 * upper end and its lower end is within. */
enum eta_verdict eta_deadline(struct interval left, int64_t elapsed_ns,
                              int64_t deadline_ns);

#endif
