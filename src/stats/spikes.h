/* Steps that take much longer than those around them, found as they come (method 4.4).
 *
 * A spike is a step above med + max(5 sigma, 20 % of med), where both are of the 64 steps before
 * it (renewed every 16). All are counted; the numbers of the newest 512 are kept, to look for a
 * period in them (stats/spikes.h). The first 32 steps are not judged. */
#ifndef STATS_SPIKES_H
#define STATS_SPIKES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SPIKES_KEPT = 512,
    SPIKES_RECENT = 64,
    SPIKES_BLOCK = 16,
    SPIKES_BLOCKS = SPIKES_RECENT / SPIKES_BLOCK + 1, /* the one being filled too */
};

struct spikes {
    int64_t seen;       /* steps, all */
    int64_t count;      /* spikes, all */
    double excess_ns;   /* what they took beyond the median, all */
    int64_t renewed;    /* the limit is of the steps before this one */
    double harmless_ns; /* no more than the limit can be, whatever it is */
    bool limit_known;   /* the next two are worked out when a step is beyond that */
    double typical_ns;  /* of the recent steps */
    double limit_ns;
    double recent[SPIKES_BLOCKS * SPIKES_BLOCK]; /* step i at i % their number */
    double least[SPIKES_BLOCKS];                 /* the smallest of each block of them */
    int64_t step[SPIKES_KEPT];                   /* the newest at count % SPIKES_KEPT - 1 */
    int64_t complete_from;                       /* all spikes from this step on are kept */
};

void spikes_init(struct spikes *spikes);

/* Steps come in the order of their numbers. Says whether it is a spike. */
bool spikes_add(struct spikes *spikes, int64_t step, double time_ns);

/* The numbers of the spikes kept, in order; returns how many. */
size_t spikes_list(const struct spikes *spikes, int64_t out[SPIKES_KEPT]);

/* Do slow steps come at regular distances (method 4.5)?
 *
 * Given are the numbers of all outliers among the steps of a stretch. A period counts if outliers
 * stand in at least 80 % of its places, 4 at least (3 for a period that is known beforehand, as
 * the interval of logs or checkpoints), and chance would put them there in less than 1 of 1000
 * runs, all places and lengths that were looked at taken together (Chernoff's bound). Of several
 * the least likely by chance wins; its outliers are taken out, and the rest is looked at again.
 *
 * Only exact periods are found, as of what is done every N steps; what is done every N seconds is
 * not. Two outliers that are neighbours in a period may have 31 others between them at most. */
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
                   const int64_t *known, size_t known_count, struct period *out, size_t max);

#endif
