/* For the tests of src/stats/: numbers that look random but are the same in every run, and series
 * of step times with known properties. */
#ifndef TEST_STATS_SUPPORT_H
#define TEST_STATS_SUPPORT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* xorshift64*: not the generator that src/stats/ samples with. */
struct random {
    uint64_t state;
    bool has_spare;
    double spare; /* normal numbers come in pairs */
};

static inline struct random random_from(uint64_t seed)
{
    /* Seeds in a row must not give alike numbers: Murmur's finaliser. */
    seed = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    seed = (seed ^ (seed >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    seed = (seed ^ (seed >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (struct random){.state = (seed ^ (seed >> 33)) | 1};
}

static inline uint64_t random_bits(struct random *random)
{
    random->state ^= random->state >> 12;
    random->state ^= random->state << 25;
    random->state ^= random->state >> 27;
    return random->state * UINT64_C(0x2545f4914f6cdd1d);
}

/* Between 0 and 1, neither included. */
static inline double random_uniform(struct random *random)
{
    return ((double)(random_bits(random) >> 11) + 0.5) / 9007199254740992.0;
}

/* Mean 0, standard deviation 1. */
static inline double random_normal(struct random *random)
{
    random->has_spare = !random->has_spare;
    if (!random->has_spare)
        return random->spare;
    double radius = sqrt(-2 * log(random_uniform(random)));
    double angle = 6.283185307179586 * random_uniform(random);
    random->spare = radius * sin(angle);
    return radius * cos(angle);
}

/* Step times of 10 ms: log-normal, each like its neighbour, some of them spikes. */
struct series {
    struct random random;
    double likeness; /* correlation of neighbours */
    double spread;   /* standard deviation over mean */
    double spike_rate;
    double spike_factor;
    double wave;
};

static inline struct series series_from(uint64_t seed, double likeness, double spread)
{
    struct series series = {random_from(seed), likeness, spread, 0, 1, 0};
    series.wave = random_normal(&series.random);
    return series;
}

static inline double series_next(struct series *series)
{
    double a = series->likeness;
    double value = 1e7 * exp(series->spread * series->wave);
    series->wave = a * series->wave + sqrt(1 - a * a) * random_normal(&series->random);
    if (random_uniform(&series->random) < series->spike_rate)
        value *= series->spike_factor;
    return value;
}

static inline double series_mean(const struct series *series)
{
    return 1e7 * exp(series->spread * series->spread / 2) *
           (1 + series->spike_rate * (series->spike_factor - 1));
}

static inline int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median by sorting; reorders x. */
static inline double sorted_median(double *x, size_t count)
{
    qsort(x, count, sizeof(*x), compare_doubles);
    return count % 2 ? x[count / 2] : (x[count / 2 - 1] + x[count / 2]) / 2;
}

#define assert_near(value, wanted, tolerance)                                                      \
    do {                                                                                           \
        double value_ = (value), wanted_ = (wanted);                                               \
        if (!(fabs(value_ - wanted_) <= (tolerance)))                                              \
            fail_msg("%s is %.12g, not %.12g", #value, value_, wanted_);                           \
    } while (0)

#endif
