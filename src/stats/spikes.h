/* Steps that take much longer than those around them, found as they come (rule book 10.1, 3, 12).
 *
 * A spike is a step above med + max(5 sigma, 20 % of med), where both are of the 64 steps before
 * it (renewed every 16). All are counted; the numbers of the newest 512 are kept, to look for a
 * period in them (stats/period.h). The first 32 steps are not judged. */
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
    int64_t step[SPIKES_KEPT]; /* the newest at count % SPIKES_KEPT - 1 */
    int64_t complete_from;     /* all spikes from this step on are kept */
};

void spikes_init(struct spikes *spikes);

/* Steps come in the order of their numbers. Says whether it is a spike. */
bool spikes_add(struct spikes *spikes, int64_t step, double time_ns);

/* The numbers of the spikes kept, in order; returns how many. */
size_t spikes_list(const struct spikes *spikes, int64_t out[SPIKES_KEPT]);

#endif
