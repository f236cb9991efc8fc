#include "stats/spikes.h"

#include <math.h>

#include "stats/robust.h"

enum { UNJUDGED = 32, RING = SPIKES_BLOCKS * SPIKES_BLOCK };

void spikes_init(struct spikes *spikes)
{
    *spikes = (struct spikes){.harmless_ns = INFINITY};
}

/* The steps that the limit is of, in any order. */
static size_t recent_values(const struct spikes *spikes, double out[SPIKES_RECENT])
{
    size_t count = 0;
    int64_t first = spikes->renewed > SPIKES_RECENT ? spikes->renewed - SPIKES_RECENT : 0;
    for (int64_t i = first; i < spikes->renewed; i++)
        out[count++] = spikes->recent[i % RING];
    return count;
}

static void find_limit(struct spikes *spikes)
{
    double values[SPIKES_RECENT];
    double scratch[SPIKES_RECENT];
    size_t count = recent_values(spikes, values);
    double median = robust_median(values, count, scratch);
    double sigma = robust_sigma(values, count, median, scratch);
    spikes->typical_ns = median;
    spikes->limit_ns = median + fmax(5 * sigma, 0.2 * median);
    spikes->limit_known = true;
}

/* Medians are dear. The limit is 1.2 medians at least, so that a step below 1.2 times the smallest
 * recent one (less a little, for rounding) is no spike, whatever the median is. */
static void renew(struct spikes *spikes)
{
    int64_t blocks = spikes->seen / SPIKES_BLOCK;
    double least = INFINITY;
    for (int64_t i = blocks > SPIKES_BLOCKS - 1 ? blocks - SPIKES_BLOCKS + 1 : 0;
         i < blocks; i++)
        least = fmin(least, spikes->least[i % SPIKES_BLOCKS]);
    spikes->harmless_ns = 1.19 * least;
    spikes->renewed = spikes->seen;
    spikes->limit_known = false;
}

static void note(struct spikes *spikes, double time_ns)
{
    double *least = &spikes->least[spikes->seen / SPIKES_BLOCK % SPIKES_BLOCKS];
    bool first = spikes->seen % SPIKES_BLOCK == 0;
    *least = first || time_ns < *least ? time_ns : *least;
    spikes->recent[spikes->seen % RING] = time_ns;
    spikes->seen++;
    if (spikes->seen >= UNJUDGED && spikes->seen % SPIKES_BLOCK == 0)
        renew(spikes);
}

static void keep(struct spikes *spikes, int64_t step, double time_ns)
{
    int64_t *place = &spikes->step[spikes->count % SPIKES_KEPT];
    if (spikes->count >= SPIKES_KEPT)
        spikes->complete_from = *place + 1;
    *place = step;
    spikes->count++;
    spikes->excess_ns += time_ns - spikes->typical_ns;
}

bool spikes_add(struct spikes *spikes, int64_t step, double time_ns)
{
    bool spike = false;
    if (time_ns > spikes->harmless_ns) {
        if (!spikes->limit_known)
            find_limit(spikes);
        spike = time_ns > spikes->limit_ns;
    }
    if (spike)
        keep(spikes, step, time_ns);
    note(spikes, time_ns);
    if (spikes->seen <= UNJUDGED)
        spikes->complete_from = step + 1;
    return spike;
}

size_t spikes_list(const struct spikes *spikes, int64_t out[SPIKES_KEPT])
{
    int64_t first = spikes->count > SPIKES_KEPT ? spikes->count - SPIKES_KEPT : 0;
    size_t count = 0;
    for (int64_t i = first; i < spikes->count; i++)
        out[count++] = spikes->step[i % SPIKES_KEPT];
    return count;
}
