#include "output/numbers.h"

#include <math.h>
#include <stdio.h>

struct scale scale_for(double typical_ns)
{
    const double ns = isfinite(typical_ns) && typical_ns > 0 ? typical_ns : 0;
    struct scale scale = {.unit = units_scale_for(ns < 1e18 ? (int64_t)ns : INT64_MAX)};
    const double value = ns / (double)scale.unit.ns;

    scale.decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : 1;
    if (scale.unit.ns == 1)
        scale.decimals = 0;
    return scale;
}

const char *scale_text(char out[UNITS_SIZE], double ns, struct scale scale)
{
    const double value = ns / (double)scale.unit.ns;
    const double least = pow(10, -scale.decimals);

    if (!isfinite(value))
        snprintf(out, UNITS_SIZE, "-");
    else if (value > 0 && value < 0.5 * least)
        snprintf(out, UNITS_SIZE, "<%.*f", scale.decimals, least);
    else
        snprintf(out, UNITS_SIZE, "%.*f", scale.decimals, value);
    return out;
}

const char *share_text(char out[UNITS_SIZE], double share)
{
    const double percent = 100 * share;

    if (!isfinite(percent))
        snprintf(out, UNITS_SIZE, "-");
    else if (percent > 0 && percent < 0.05)
        snprintf(out, UNITS_SIZE, "<0.1 %%");
    else
        snprintf(out, UNITS_SIZE, "%.1f %%", percent);
    return out;
}

const char *digits_text(char out[UNITS_SIZE], double value, double precision)
{
    int decimals = value > 0 ? 2 - (int)floor(log10(value)) : 0;

    if (!isfinite(value)) {
        snprintf(out, UNITS_SIZE, "-");
        return out;
    }
    if (isfinite(precision) && precision > 0) {
        const int needed = (int)ceil(-log10(precision));
        decimals = needed > decimals ? needed : decimals;
    }
    decimals = decimals < 0 ? 0 : decimals > 6 ? 6 : decimals;
    snprintf(out, UNITS_SIZE, "%.*f", decimals, value);
    return out;
}

double relative_error(struct interval interval)
{
    const double below = interval.mid - interval.low, above = interval.high - interval.mid;
    const double half = below > above ? below : above;

    return isfinite(half) && interval.mid > 0 ? half / interval.mid : INFINITY;
}
