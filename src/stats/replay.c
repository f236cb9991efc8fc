#include "stats/replay.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "stats/mix.h"
#include "stats/order.h"

enum { TIMES = 200, STEPS = 100, AHEAD_MOST = 256, DRAWN = 1024 };

/* Times of batches, each as likely as the others. */
struct times {
    double ns[DRAWN];
};

static unsigned next_random(uint64_t *state)
{
    return (unsigned)(mix_next(state) >> 33) % DRAWN;
}

/* How many standard deviations above the middle the largest of N normal numbers is. */
static double largest_of(double count)
{
    const double twice = 2 * log(fmax(count, 200) / 2.5066);

    return sqrt(twice - log(twice));
}

/* The time of a batch that is as unusual as a normal number z. Between the quantiles that are known
 * the logarithm is a line; below the median it goes on as above it. */
static double time_at(const struct replay *replay, double z)
{
    const double at[REPLAY_QUANTILES] = {0, 1.2816, 1.6449, 2.3263, largest_of(replay->count)};
    const double *ns = replay->make_ns;
    int i = 1;

    while (i < REPLAY_QUANTILES - 1 && z > at[i])
        i++;
    const double low = log(fmax(ns[i - 1], 1)), high = log(fmax(ns[i], 1));
    return fmin(exp(low + (high - low) * (z - at[i - 1]) / (at[i] - at[i - 1])),
                ns[REPLAY_QUANTILES - 1]);
}

/* Goes along the normal distribution; then all are scaled so that the mean is the one that was
 * seen. */
static void fill_times(const struct replay *replay, struct times *out)
{
    const double step = 0.002, most = 4;
    double part = 0, sum = 0;
    int filled = 0;

    for (int i = 0; filled < DRAWN; i++) {
        const double z = step * i - most;
        part += step * exp(-z * z / 2) / 2.506628;
        while (filled < DRAWN && (part * DRAWN >= filled + 0.5 || z > most))
            sum += out->ns[filled++] = time_at(replay, z);
    }
    for (int i = 0; sum > 0 && i < DRAWN; i++)
        out->ns[i] *= replay->make_mean_ns * DRAWN / sum;
}

struct queue {
    double free_at[REPLAY_WORKERS]; /* when each worker is done with what it has */
    double start[AHEAD_MOST];       /* when the last steps began */
    double done;                    /* when the last one ended */
};

/* Who makes batch t. */
static double *worker_for(const struct replay *replay, struct queue *queue, int t)
{
    double *worker = queue->free_at;

    if (replay->in_turn)
        return &queue->free_at[t % replay->workers];
    for (int i = 1; i < replay->workers; i++)
        worker = queue->free_at[i] < *worker ? &queue->free_at[i] : worker;
    return worker;
}

static void play_step(const struct replay *replay, struct queue *queue, int t, double make)
{
    double ready = queue->done + make; /* no workers: made when it is asked for */
    double hand = 0;

    if (replay->workers > 0) {
        hand = replay->hand_ns;
        double *worker = worker_for(replay, queue, t);
        const int room = t - replay->ahead; /* this batch has it once that step began */
        ready = (room < 0 ? *worker : fmax(*worker, queue->start[room % AHEAD_MOST])) + make;
        *worker = ready;
    }
    queue->start[t % AHEAD_MOST] = fmax(queue->done, ready) + hand;
    queue->done = queue->start[t % AHEAD_MOST] + replay->rest_ns;
}

/* Mean step of one replay: batches come as often as there are workers together, so that whole
 * rounds count. */
static double play(const struct replay *replay, const struct times *times, uint64_t *random)
{
    const int round = replay->workers > 0 ? replay->workers : 1;
    const int first = 2 * replay->ahead, steps = (STEPS + round - 1) / round * round;
    struct queue queue = {.done = 0};
    double before = 0;

    for (int t = 0; t < first + steps; t++) {
        before = t == first ? queue.done : before;
        play_step(replay, &queue, t, times->ns[next_random(random)]);
    }
    return (queue.done - before) / steps;
}

struct interval replay_step_ns(const struct replay *replay)
{
    struct replay fits = *replay;
    struct times times;
    uint64_t random = 1;
    double steps[TIMES], sum = 0;

    fits.workers = fits.workers > REPLAY_WORKERS ? REPLAY_WORKERS : fits.workers;
    fits.ahead = fits.ahead < 1 ? 1 : fits.ahead > AHEAD_MOST ? AHEAD_MOST : fits.ahead;
    fill_times(&fits, &times);
    for (int i = 0; i < TIMES; i++) {
        steps[i] = play(&fits, &times, &random);
        sum += steps[i];
    }
    qsort(steps, TIMES, sizeof steps[0], order_doubles);
    return (struct interval){steps[TIMES / 20], sum / TIMES, steps[TIMES - TIMES / 20]};
}
