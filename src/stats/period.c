#include "stats/period.h"

#include <math.h>
#include <string.h>

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
static void consider(struct search *s, int64_t steps, int64_t place, bool known,
                     double tests)
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
            if (steps >= MIN_PERIOD && (is_outlier(s, s->step[j] + steps) ||
                                        is_outlier(s, s->step[j] + 2 * steps)))
                consider(s, steps, s->step[i], false, (double)steps * (double)longest);
        }
    }
}

static void take_out(struct search *s, const struct period *period)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        if ((s->step[i] - period->first) % period->steps != 0)
            s->step[kept++] = s->step[i];
    }
    s->count = kept;
}

size_t period_find(const int64_t *outliers, size_t count, int64_t from, int64_t to,
                   const int64_t *known, size_t known_count, struct period *out,
                   size_t max)
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
