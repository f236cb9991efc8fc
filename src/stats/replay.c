#include "stats/replay.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { TIMES = 200, STEPS = 100, AHEAD_MOST = 256 };

struct random {
    uint64_t state;
};

static double next_random(struct random *random)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random->state >> 11) / 9007199254740992.0;
}

/* The time below which the part `q` of batches lies; below the median as far from it as above. */
static double make_ns(const struct replay *replay, double q)
{
    static const double at[REPLAY_QUANTILES] = {0.5, 0.9, 0.95, 0.99, 1};
    const double *ns = replay->make_ns;

    if (q < at[0])
        return fmax(0, ns[0] - (ns[1] - ns[0]) * (at[0] - q) / (at[1] - at[0]));
    for (int i = 1; i < REPLAY_QUANTILES; i++)
        if (q <= at[i])
            return ns[i - 1] +
                   (ns[i] - ns[i - 1]) * (q - at[i - 1]) / (at[i] - at[i - 1]);
    return ns[REPLAY_QUANTILES - 1];
}

/* What the quantiles make of the mean: times are scaled so that it is the one that was seen. */
static double scale_of(const struct replay *replay)
{
    enum { POINTS = 1000 };
    double sum = 0;

    for (int i = 0; i < POINTS; i++)
        sum += make_ns(replay, (i + 0.5) / POINTS);
    return sum > 0 ? replay->make_mean_ns * POINTS / sum : 0;
}

/* Mean step of one replay. */
static double play(const struct replay *replay, double scale, struct random *random)
{
    double free_at[REPLAY_WORKERS] = {0}, start[AHEAD_MOST] = {0};
    double done = 0;

    for (int t = 0; t < STEPS; t++) {
        const double p = scale * make_ns(replay, next_random(random));
        double begin = done; /* no workers: made when it is asked for */
        double *worker = NULL;
        if (replay->workers > 0) {
            worker = free_at;
            for (int i = 1; i < replay->workers; i++)
                worker = free_at[i] < *worker ? &free_at[i] : worker;
            begin = t >= replay->ahead
                        ? fmax(*worker, start[(t - replay->ahead) % AHEAD_MOST])
                        : *worker;
        }
        const double ready = begin + p;
        if (worker)
            *worker = ready;
        start[t % AHEAD_MOST] = fmax(done, ready);
        done = start[t % AHEAD_MOST] + replay->rest_ns;
    }
    return done / STEPS;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct interval replay_step_ns(const struct replay *replay)
{
    struct replay fits = *replay;
    struct random random = {1};
    double steps[TIMES], sum = 0;

    fits.workers = fits.workers > REPLAY_WORKERS ? REPLAY_WORKERS : fits.workers;
    fits.ahead = fits.ahead < 1 ? 1 : fits.ahead > AHEAD_MOST ? AHEAD_MOST : fits.ahead;
    const double scale = scale_of(&fits);
    for (int i = 0; i < TIMES; i++) {
        steps[i] = play(&fits, scale, &random);
        sum += steps[i];
    }
    qsort(steps, TIMES, sizeof steps[0], compare);
    return (struct interval){steps[TIMES / 20], sum / TIMES, steps[TIMES - TIMES / 20]};
}
