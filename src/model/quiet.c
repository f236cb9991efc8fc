#include "model/phase.h"

enum { OFTEN = 8 /* one in eight */ };

/* How many powers of two are not above it. */
static int length_of(uint32_t forwards)
{
    int length = 0;
    while (length < QUIET_LENGTHS && forwards >> length)
        length++;
    return length;
}

/* At most one in eight updates has had about as many. */
static bool is_unusual(const struct quiet_runs *runs, int length)
{
    return runs->updates >= OFTEN && runs->as_long[length - 1] * OFTEN <= runs->updates;
}

bool quiet_evaluates(const struct quiet_runs *runs)
{
    const int length = length_of(runs->now);
    return length > 0 && ((runs->updates > 0 && !runs->is_used) || is_unusual(runs, length));
}

/* Notes whose update it is, and returns whether it is the first one of that optimizer. Those by
 * hand have no name: of them only the first of all is one. */
static bool is_first(struct quiet_runs *runs, uint32_t owner)
{
    for (int i = 0; i < runs->owners; i++)
        if (runs->owner[i] == owner)
            return false;
    if (owner && runs->owners < QUIET_OWNERS) {
        runs->owner[runs->owners++] = owner;
        return true;
    }
    return runs->updates == 0;
}

void quiet_note(struct quiet_runs *runs, uint32_t owner, bool inside)
{
    const int length = length_of(runs->now);
    if (is_first(runs, owner))
        runs->is_used = runs->is_used || length > 0 || inside;
    runs->updates++;
    for (int i = 0; i < length; i++)
        runs->as_long[i]++;
    runs->now = 0;
}
