#include "stats/spikes.h"

#include <math.h>

#include "stats/robust.h"

enum { UNJUDGED = 32, RENEWED_EVERY = 16 };

void spikes_init(struct spikes *spikes)
{
    *spikes = (struct spikes){.limit_ns = INFINITY};
}

static void renew_limit(struct spikes *spikes)
{
    double scratch[SPIKES_RECENT];
    size_t count =
        spikes->seen < SPIKES_RECENT ? (size_t)spikes->seen : (size_t)SPIKES_RECENT;
    double median = robust_median(spikes->recent, count, scratch);
    double sigma = robust_sigma(spikes->recent, count, median, scratch);
    spikes->typical_ns = median;
    spikes->limit_ns = median + fmax(5 * sigma, 0.2 * median);
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
    bool spike = time_ns > spikes->limit_ns;
    if (spike)
        keep(spikes, step, time_ns);
    spikes->recent[spikes->seen % SPIKES_RECENT] = time_ns;
    spikes->seen++;
    if (spikes->seen <= UNJUDGED)
        spikes->complete_from = step + 1;
    if (spikes->seen >= UNJUDGED && spikes->seen % RENEWED_EVERY == 0)
        renew_limit(spikes);
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
