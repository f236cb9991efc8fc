#include "render/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };

static const int64_t second_ns = 1000000000;

static const struct units_scale scales[] = {
    {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
enum { SCALES = sizeof scales / sizeof scales[0] };

/* Three digits: 1.23, 12.3, 123. The limits are where rounding would give a fourth one. */
static int decimals(double value)
{
    return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

/* Divides by `step` until three digits suffice; returns the place in the list of `last` + 1
 * units. */
static int scale_down(double *value, double step, int last)
{
    int place = 0;

    while (*value >= 999.5 && place < last) {
        *value /= step;
        place++;
    }
    return place;
}

static void long_duration(char out[UNITS_SIZE], const char *sign, int64_t seconds)
{
    if (seconds < HOUR) {
        snprintf(out, UNITS_SIZE, "%s%" PRId64 " min %02" PRId64 " s", sign, seconds / MINUTE,
                 seconds % MINUTE);
        return;
    }
    int64_t minutes = (seconds + MINUTE / 2) / MINUTE;
    if (minutes < 2 * DAY / MINUTE) {
        snprintf(out, UNITS_SIZE, "%s%" PRId64 " h %02" PRId64 " min", sign, minutes / 60,
                 minutes % 60);
        return;
    }
    int64_t hours = (seconds + HOUR / 2) / HOUR;
    snprintf(out, UNITS_SIZE, "%s%" PRId64 " d %02" PRId64 " h", sign, hours / 24, hours % 24);
}

const char *units_duration(char out[UNITS_SIZE], int64_t ns)
{
    const char *sign = ns < 0 ? "-" : "";
    double value = ns < 0 ? -(double)ns : (double)ns;

    if (value < 1000.0) {
        snprintf(out, UNITS_SIZE, "%" PRId64 " ns", ns);
    } else if (value < 59.95 * (double)second_ns) {
        int place = scale_down(&value, 1000.0, SCALES - 1);
        snprintf(out, UNITS_SIZE, "%s%.*f %s", sign, decimals(value), value, scales[place].name);
    } else {
        long_duration(out, sign, (int64_t)(value / (double)second_ns + 0.5));
    }
    return out;
}

const char *units_bytes(char out[UNITS_SIZE], uint64_t bytes)
{
    static const char *const names[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes;
    int place = scale_down(&value, 1024.0, 6);
    int digits = value == (double)(uint64_t)value ? 0 : decimals(value);

    snprintf(out, UNITS_SIZE, "%.*f %s", digits, value, names[place]);
    return out;
}

static const char *const thousands[] = {"", " k", " M", " G", " T", " P", " E"};

const char *units_count(char out[UNITS_SIZE], uint64_t count)
{
    double value = (double)count;
    int place = scale_down(&value, 1000.0, 6);

    snprintf(out, UNITS_SIZE, "%.*f%s", place ? decimals(value) : 0, value, thousands[place]);
    return out;
}

const char *units_rate(char out[UNITS_SIZE], double per_second)
{
    double value = per_second;
    int place = scale_down(&value, 1000.0, 6);

    snprintf(out, UNITS_SIZE, "%.*f%s/s", decimals(value), value, thousands[place]);
    return out;
}

const char *units_share(char out[UNITS_SIZE], double part, double whole)
{
    if (!(whole > 0.0)) {
        snprintf(out, UNITS_SIZE, "-");
        return out;
    }
    double percent = 100.0 * part / whole;
    if (percent >= 9.95 || percent == 0.0)
        snprintf(out, UNITS_SIZE, "%.*f %%", percent < 99.95 && percent > 0.0, percent);
    else if (percent < 0.0005)
        snprintf(out, UNITS_SIZE, "<0.001 %%");
    else
        snprintf(out, UNITS_SIZE, "%.*f %%", percent < 0.0995 ? 3 : 2, percent);
    return out;
}

const char *units_longer(char out[UNITS_SIZE], double ratio)
{
    if (ratio >= 2)
        snprintf(out, UNITS_SIZE, "%.1fx as long", fmin(ratio, 1e6));
    else if (ratio > 0 && ratio <= 0.5)
        snprintf(out, UNITS_SIZE, "%.1fx as fast", fmin(1 / ratio, 1e6));
    else
        snprintf(out, UNITS_SIZE, "%.1f %% %s", 100 * fabs(ratio - 1),
                 ratio < 1 ? "shorter" : "longer");
    return out;
}

const char *units_integer(char out[UNITS_SIZE], uint64_t value)
{
    char digits[24];
    int count = snprintf(digits, sizeof digits, "%" PRIu64, value);
    char *to = out;

    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}

struct units_scale units_scale_for(int64_t largest_ns)
{
    size_t place = 0;

    while (place + 1 < SCALES && largest_ns >= scales[place + 1].ns)
        place++;
    return scales[place];
}

const char *units_scaled(char out[UNITS_SIZE], int64_t ns, struct units_scale scale)
{
    snprintf(out, UNITS_SIZE, "%.*f", scale.ns > 1 ? 3 : 0, (double)ns / (double)scale.ns);
    return out;
}
