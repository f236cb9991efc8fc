#include "stats/modes.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "stats/order.h"
#include "stats/robust.h"

static const double rarest = 0.15;    /* part of the values on one side */
static const double apart = 0.1;      /* of the lower level */
static const double in_valley = 0.05; /* part of the values between the levels */

/* First place of the upper side: where the two means differ most, weighed by how many they have. */
static size_t best_cut(const double *sorted, size_t count)
{
    const size_t least = (size_t)(rarest * (double)count) + 1;
    double all = 0, lower = 0, most = 0;
    size_t best = 0;

    for (size_t i = 0; i < count; i++)
        all += sorted[i];
    for (size_t i = 1; i + least <= count; i++) {
        lower += sorted[i - 1];
        if (i < least)
            continue;
        const double n = (double)i, m = (double)(count - i);
        const double difference = (all - lower) / m - lower / n;
        const double gained = difference * difference * n * m;
        if (gained > most) {
            most = gained;
            best = i;
        }
    }
    return best;
}

void modes_find(const double *x, size_t count, double *scratch, struct modes *out)
{
    double *sorted = scratch, *spare = scratch + count;

    *out = (struct modes){0};
    if (count < MODES_LEAST)
        return;
    memcpy(sorted, x, count * sizeof *x);
    qsort(sorted, count, sizeof *sorted, order_doubles);
    const size_t cut = best_cut(sorted, count);
    if (cut == 0)
        return;
    out->low = robust_median(sorted, cut, spare);
    out->high = robust_median(sorted + cut, count - cut, spare);
    const double way = out->high - out->low;
    size_t between = 0, above = 0;
    for (size_t i = 0; i < count; i++) {
        between += sorted[i] > out->low + way / 4 && sorted[i] < out->high - way / 4;
        above += sorted[i] > out->low + way / 2;
    }
    /* Of a level that is rarer than it may be, the cut has taken some of the other one along. */
    out->high_share = (double)above / (double)count;
    out->are_two = way >= apart * out->low && out->high_share >= rarest &&
                   out->high_share <= 1 - rarest && (double)between <= in_valley * (double)count;
}

static const double least = 10;    /* values of a kind */
static const double surely = 2.58; /* standard deviations: 1 % */

void turns_find(const double *x, size_t count, double cut, struct turns *out)
{
    double above = 0, stretches = 0, above_stretches = 0;

    *out = (struct turns){TURNS_RANDOM, 0, 0};
    for (size_t i = 0; i < count; i++) {
        const bool is_above = x[i] > cut;
        const bool is_first = i == 0 || is_above != (x[i - 1] > cut);
        above += is_above;
        stretches += is_first;
        above_stretches += is_first && is_above;
    }
    const double n = (double)count, below = n - above;
    if (above > 0)
        out->stretch = above / above_stretches;
    if (above < least || below < least)
        return;
    const double expected = 2 * above * below / n + 1;
    const double variance = (expected - 1) * (expected - 2) / (n - 1);
    out->z = (stretches - expected) / sqrt(variance);
    if (fabs(out->z) > surely)
        out->order = out->z < 0 ? TURNS_STRETCHES : TURNS_ALTERNATE;
}
