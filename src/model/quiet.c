#include "model/phase.h"

enum { OFTEN = 8 /* one in so many */ };

/* How many powers of two are not above it. */
static int length_of(uint32_t forwards)
{
    int length = 0;
    while (length < QUIET_LENGTHS && forwards >> length)
        length++;
    return length;
}

bool quiet_is_unusual(const struct quiet_runs *runs)
{
    const int length = length_of(runs->now);
    return length > 0 && runs->updates >= OFTEN &&
           runs->as_long[length - 1] * OFTEN <= runs->updates;
}

void quiet_note(struct quiet_runs *runs)
{
    const int length = length_of(runs->now);
    runs->updates++;
    for (int i = 0; i < length; i++)
        runs->as_long[i]++;
    runs->now = 0;
}
