#include "supervise/sample_pace.h"

enum {
    HALVINGS_MOST = 20,
    HALVINGS_BY_SIZE = 8 /* of the rate, until the file is full */
};
static const int64_t period_ns = 100000000;
static const int64_t thin_after_ns = 600000000000;

static unsigned halvings(int64_t age_ns, double used)
{
    const unsigned by_size = (unsigned)(used * HALVINGS_BY_SIZE);
    unsigned by_age = 0;

    while (by_age < HALVINGS_MOST && age_ns >> by_age > thin_after_ns)
        by_age++;
    return by_age > by_size ? by_age : by_size;
}

int64_t sample_pause(int64_t age_ns, double used, uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    const int64_t period = period_ns << halvings(age_ns, used);
    return period / 2 + (int64_t)(*random % (uint64_t)period);
}
