#include "base/quantity.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int64_t ns;
} units[] = {
    {"us", 1000},         {"ms", 1000000},      {"s", 1000000000},     {"m", 60000000000},
    {"min", 60000000000}, {"h", 3600000000000}, {"d", 86400000000000},
};

static int64_t unit_ns(const char *name)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(units[i].name, name) == 0)
            return units[i].ns;
    return 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool duration_parse(const char *text, int64_t *ns)
{
    double value = 0, place = 1;
    const char *at = text;

    if (!is_digit(*at))
        return false;
    for (; is_digit(*at); at++)
        value = 10 * value + (*at - '0');
    if (*at == '.' && is_digit(at[1]))
        for (at++; is_digit(*at); at++)
            value += (place /= 10) * (*at - '0');
    value *= (double)unit_ns(at);
    if (!(value >= 1 && value < 9.2e18))
        return false;
    *ns = (int64_t)(value + 0.5);
    return true;
}

uint64_t size_parse(const char *text)
{
    static const char letters[] = "KMGT";
    char *end;

    if (!text || text[0] < '0' || text[0] > '9')
        return 0;
    errno = 0;
    const uint64_t value = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(letters, *end) : NULL;
    const unsigned shift = unit ? 10u * (unsigned)(unit - letters + 1) : 0;
    if (errno || (*end && (!unit || end[1])) || value > UINT64_MAX >> shift)
        return 0;
    return value << shift;
}
