#include "base/size.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t size_parse(const char *text)
{
    static const char units[] = "KMGT";
    char *end;

    if (!text || text[0] < '0' || text[0] > '9')
        return 0;
    errno = 0;
    const uint64_t value = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    const unsigned shift = unit ? 10u * (unsigned)(unit - units + 1) : 0;
    if (errno || (*end && (!unit || end[1])) || value > UINT64_MAX >> shift)
        return 0;
    return value << shift;
}
