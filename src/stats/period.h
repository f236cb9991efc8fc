/* Do slow steps come at regular distances (rule book 10.1, 4)?
 *
 * Given are the numbers of all outliers among the steps of a stretch. A period counts if outliers
 * stand in at least 80 % of its places, 4 at least (3 for a period that is known beforehand, as
 * the interval of logs or checkpoints), and chance would put them there in less than 1 of 1000
 * runs, all places and lengths that were looked at taken together (Chernoff's bound). Of several
 * the least likely by chance wins; its outliers are taken out, and the rest is looked at again.
 *
 * Only exact periods are found, as of what is done every N steps; what is done every N seconds is
 * not. Two outliers that are neighbours in a period may have 31 others between them at most. */
#ifndef STATS_PERIOD_H
#define STATS_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PERIOD_MAX_OUTLIERS = 512 };

struct period {
    int64_t steps;     /* the distance */
    int64_t first;     /* the first place in the stretch */
    size_t places;     /* in the stretch */
    size_t hits;       /* of them that are outliers */
    bool known;        /* one of the periods that were known */
    double log_chance; /* natural logarithm of the chance, not above log(0.001) */
};

/* The outliers, `count` <= PERIOD_MAX_OUTLIERS in rising order, among the steps from `from` up to
 * `to` (not included). Writes the periods found, the surest first, into `out` of `max` places, and
 * returns how many there are. */
size_t period_find(const int64_t *outliers, size_t count, int64_t from, int64_t to,
                   const int64_t *known, size_t known_count, struct period *out,
                   size_t max);

#endif
