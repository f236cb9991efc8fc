#include "render/numbers.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static const double WIDEST = 99999.5; /* what would take more than five digits */

static double positive(double value)
{
    return isfinite(value) && value > 0 ? value : 0;
}

struct scale scale_for(double usual_ns, double largest_ns)
{
    const double usual = positive(usual_ns);
    const double most = positive(largest_ns) > usual ? positive(largest_ns) : usual;
    struct scale scale = {.unit = units_scale_for(usual < 1e18 ? (int64_t)usual : INT64_MAX)};

    for (int64_t ns = 1; most / (double)scale.unit.ns >= WIDEST && ns <= 1000000000; ns *= 1000)
        if (ns > scale.unit.ns)
            scale.unit = units_scale_for(ns);
    const double value = most / (double)scale.unit.ns;
    scale.decimals = value < 9.9995 ? 3 : value < 999.995 ? 2 : 1;
    if (usual / (double)scale.unit.ns < 0.1) /* the unit is that of the largest */
        scale.decimals = 3;
    if (scale.unit.ns == 1)
        scale.decimals = 0;
    return scale;
}

/* In a unit of its own, three digits at least. */
static void long_text(char out[UNITS_SIZE], double seconds)
{
    static const struct {
        const char *name;
        double seconds, most;
    } units[] = {{"us", 1e-6, 999.5}, {"ms", 1e-3, 999.5}, {"s", 1, 99.95},
                 {"min", 60, 99.95},  {"h", 3600, 99.95},  {"d", 86400, INFINITY}};
    size_t i = 0;

    while (seconds / units[i].seconds >= units[i].most)
        i++;
    const double value = seconds / units[i].seconds;
    snprintf(out, UNITS_SIZE, "%.*f%s", value < 99.95 ? 1 : 0, value, units[i].name);
}

const char *scale_text(char out[UNITS_SIZE], double ns, struct scale scale)
{
    const double value = ns / (double)scale.unit.ns;
    const double least = pow(10, -scale.decimals);

    if (!isfinite(value))
        snprintf(out, UNITS_SIZE, "-");
    else if (value > 0 && value < 0.5 * least)
        snprintf(out, UNITS_SIZE, "<%.*f", scale.decimals, least);
    else if (value < 999.5)
        snprintf(out, UNITS_SIZE, "%.*f", scale.decimals, value);
    else if (value < WIDEST)
        snprintf(out, UNITS_SIZE, "%.0f", value);
    else
        long_text(out, ns * 1e-9);
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

const char *percent_text(char out[UNITS_SIZE], double share)
{
    const double percent = 100 * share;

    if (percent > 0 && percent < 0.005)
        snprintf(out, UNITS_SIZE, "0.01 %%");
    else
        snprintf(out, UNITS_SIZE, "%.*f %%", percent < 0.095 ? 2 : percent < 9.95 ? 1 : 0, percent);
    return out;
}

/* A part of less than a thousandth would be digits only. */
const char *part_text(char out[NUMBERS_PART_SIZE], double part_ns, double whole_ns)
{
    const struct scale scale = scale_for(whole_ns, whole_ns);
    const double unit = (double)scale.unit.ns;
    char part[UNITS_SIZE], whole[UNITS_SIZE];

    if (part_ns > 0 && part_ns < whole_ns / 1000)
        scale_text(part, part_ns, scale);
    else
        digits_text(part, part_ns / unit);
    snprintf(out, NUMBERS_PART_SIZE, "%s of %s %s", part, digits_text(whole, whole_ns / unit),
             scale.unit.name);
    return out;
}

static int decimals_for(double value, double precision)
{
    int decimals = value > 0 ? 2 - (int)floor(log10(value)) : 0;

    if (isfinite(precision) && precision > 0) {
        const int needed = (int)ceil(-log10(precision));
        decimals = needed > decimals ? needed : decimals;
    }
    return decimals < 0 ? 0 : decimals > 6 ? 6 : decimals;
}

const char *digits_text(char out[UNITS_SIZE], double value)
{
    if (value >= 999.5 && value < 1e15)
        units_integer(out, (uint64_t)(value + 0.5));
    else if (isfinite(value))
        snprintf(out, UNITS_SIZE, "%.*f", decimals_for(value, 0), value);
    else
        snprintf(out, UNITS_SIZE, "-");
    return out;
}

const char *range_text(char out[NUMBERS_RANGE_SIZE], struct interval interval, const char *unit)
{
    const bool large = interval.mid >= WIDEST;
    const double factor = large ? 1e-6 : 1;
    const double mid = interval.mid * factor;
    const double low = interval.low * factor, high = interval.high * factor;
    const int decimals = decimals_for(mid, (high - low) / 2);
    int size =
        snprintf(out, NUMBERS_RANGE_SIZE, "%.*f %s%s", decimals, mid, large ? "M " : "", unit);

    if (isfinite(high - low) && size < NUMBERS_RANGE_SIZE)
        snprintf(out + size, (size_t)(NUMBERS_RANGE_SIZE - size), " (%.*f to %.*f)", decimals, low,
                 decimals, high);
    return out;
}

const char *count_text(char out[UNITS_SIZE], uint64_t count)
{
    return count < 1000000 ? units_integer(out, count) : units_count(out, count);
}

double relative_error(struct interval interval)
{
    const double below = interval.mid - interval.low, above = interval.high - interval.mid;
    const double half = below > above ? below : above;

    return isfinite(half) && interval.mid > 0 ? half / interval.mid : INFINITY;
}
