/* Random numbers (splitmix64): the same for the same seed, on every machine. */
#ifndef DEMO_RANDOM_H
#define DEMO_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* A generator of its own for each purpose: what one draws does not shift another. */
static inline struct random random_for(uint64_t seed, uint64_t purpose, uint64_t index)
{
    struct random random = {seed};
    random.state = random_next(&random) + purpose;
    random.state = random_next(&random) + index;
    return random;
}

static inline uint64_t random_below(struct random *random, uint64_t below)
{
    return random_next(random) % below;
}

/* From -reach to reach. */
static inline float random_about_0(struct random *random, float reach)
{
    return reach * ((float)(random_next(random) >> 40) * 0x1p-23f - 1);
}

#endif
