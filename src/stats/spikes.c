#include "stats/spikes.h"

#include <math.h>
#include <string.h>

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
    for (int64_t i = blocks > SPIKES_BLOCKS - 1 ? blocks - SPIKES_BLOCKS + 1 : 0; i < blocks; i++)
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

enum { MAX_BETWEEN = 32, MIN_HITS = 4, MIN_KNOWN_HITS = 3, MIN_PERIOD = 2 };

static const double RECALL = 0.8;
static const double CHANCE = 1e-3;

/* The outliers that are not explained yet, and the surest period so far. */
struct search {
    int64_t step[PERIOD_MAX_OUTLIERS];
    size_t count;
    int64_t from;
    int64_t to;
    struct period best; /* steps 0: none */
};

static bool is_outlier(const struct search *s, int64_t step)
{
    size_t low = 0;
    size_t high = s->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->step[middle] < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->count && s->step[low] == step;
}

/* Chernoff's bound, as a logarithm, of the chance of `hits` or more in `places` that each hit with
 * probability p. */
static double log_tail(double hits, double places, double p)
{
    double share = hits / places;
    if (share <= p)
        return 0;
    double bound = hits * log(share / p);
    if (share < 1)
        bound += (places - hits) * log((1 - share) / (1 - p));
    return -bound;
}

/* Keeps the period with a place at `place` if it counts and is surer than the best. `tests`: how
 * many lengths and places were looked at. */
static void consider(struct search *s, int64_t steps, int64_t place, bool known, double tests)
{
    int64_t first = s->from + (place - s->from) % steps;
    struct period p = {.steps = steps, .first = first, .known = known};
    p.places = (size_t)((s->to - 1 - first) / steps + 1);
    double places = (double)p.places;
    double rate = (double)s->count / (double)(s->to - s->from);
    double limit = s->best.steps > 0 ? s->best.log_chance : log(CHANCE);
    if (log_tail(places, places, rate) + log(tests) >= limit)
        return; /* not even if it hit everywhere */
    for (size_t i = 0; i < s->count; i++)
        p.hits += (s->step[i] - first) % steps == 0;
    double hits = (double)p.hits;
    if (p.hits < (known ? MIN_KNOWN_HITS : MIN_HITS) || hits < RECALL * places)
        return;
    p.log_chance = log_tail(hits, places, rate) + log(tests);
    if (p.log_chance < limit)
        s->best = p;
}

static void consider_known(struct search *s, int64_t steps, size_t known_count)
{
    if (steps < MIN_PERIOD)
        return;
    for (size_t i = 0; i < s->count; i++) {
        /* Where the first four places are all missed, so are too many. */
        if (s->step[i] < s->from + 4 * steps)
            consider(s, steps, s->step[i], true, (double)steps * (double)known_count);
    }
}

/* Every two outliers not far from each other propose their distance; it is looked at closer if
 * one of the next two places holds an outlier too. */
static void consider_distances(struct search *s)
{
    int64_t longest = (s->to - s->from) / 4;
    for (size_t i = 0; i < s->count; i++) {
        for (size_t j = i + 1; j < s->count && j <= i + MAX_BETWEEN; j++) {
            int64_t steps = s->step[j] - s->step[i];
            if (steps > longest)
                break;
            if (steps >= MIN_PERIOD &&
                (is_outlier(s, s->step[j] + steps) || is_outlier(s, s->step[j] + 2 * steps)))
                consider(s, steps, s->step[i], false, (double)steps * (double)longest);
        }
    }
}

static void take_out(struct search *s, const struct period *period)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++)
        if ((s->step[i] - period->first) % period->steps != 0)
            s->step[kept++] = s->step[i];
    s->count = kept;
}

size_t period_find(const int64_t *outliers, size_t count, int64_t from, int64_t to,
                   const int64_t *known, size_t known_count, struct period *out, size_t max)
{
    struct search s = {.count = count, .from = from, .to = to};
    if (count > 0)
        memcpy(s.step, outliers, count * sizeof(*outliers));
    size_t found = 0;
    while (found < max && to > from) {
        s.best = (struct period){0};
        for (size_t k = 0; k < known_count; k++)
            consider_known(&s, known[k], known_count);
        consider_distances(&s);
        if (s.best.steps == 0)
            break;
        out[found++] = s.best;
        take_out(&s, &s.best);
    }
    return found;
}
