#include "stats/turns.h"

#include <math.h>
#include <stdbool.h>

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
