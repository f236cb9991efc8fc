#include "stats/association.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stats/mix.h"
#include "stats/order.h"

enum {
    ENOUGH = 20,     /* shuffles that reached it: p is known well enough */
    LATEST_PART = 4, /* of the windows: how far one may lie behind the other */
    LATE_LEAST = 2   /* windows: what is joined by time smears by one */
};
static const double later_fits = 0.1; /* a rho that is better by this is better */

struct place {
    double value;
    size_t at;
};

static int order_places(const void *a, const void *b)
{
    return order_doubles(&((const struct place *)a)->value, &((const struct place *)b)->value);
}

/* Ranks less their mean, so that a sum of products is a covariance. */
static void rank(const double *x, size_t count, double *out)
{
    struct place place[ASSOCIATION_MOST] = {0};

    for (size_t i = 0; i < count; i++)
        place[i] = (struct place){x[i], i};
    qsort(place, count, sizeof place[0], order_places);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && place[end].value == place[i].value; end++)
            ;
        for (size_t k = i; k < end; k++)
            out[place[k].at] = (double)(i + end - 1) / 2 - (double)(count - 1) / 2;
    }
}

static double product(const double *x, const double *y, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

double association_rho(const double *x, const double *y, size_t count)
{
    double a[ASSOCIATION_MOST], b[ASSOCIATION_MOST];

    if (count < 3 || count > ASSOCIATION_MOST)
        return NAN;
    rank(x, count, a);
    rank(y, count, b);
    const double size = product(a, a, count) * product(b, b, count);
    return size > 0 ? product(a, b, count) / sqrt(size) : NAN;
}

/* Blocks of the ring that x is, from a place that looks random, in an order that does. */
static void shuffle(const double *x, size_t count, size_t block, uint64_t *random, double *out)
{
    const size_t blocks = (count + block - 1) / block;
    const size_t turn = (size_t)(mix_next(random) >> 33) % count;
    size_t order[ASSOCIATION_MOST] = {0}, filled = 0;

    for (size_t i = 0; i < blocks; i++) {
        const size_t other = (size_t)(mix_next(random) >> 33) % (i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (size_t i = 0; i < blocks; i++)
        for (size_t k = order[i] * block; k < (order[i] + 1) * block && k < count; k++)
            out[filled++] = x[(k + turn) % count];
}

double association_p(const double *x, const double *y, size_t count)
{
    double a[ASSOCIATION_MOST], b[ASSOCIATION_MOST], moved[ASSOCIATION_MOST];
    const size_t block = (size_t)ceil(cbrt((double)count));
    uint64_t random = mix64(count);
    int reached = 0, shuffles = 0;

    if (count < ASSOCIATION_LEAST || isnan(association_rho(x, y, count)))
        return NAN;
    rank(x, count, a);
    rank(y, count, b);
    /* Ranks are halves: what is less than one apart is the same but for rounding. */
    const double seen = product(a, b, count) - 0.125;
    while (shuffles < ASSOCIATION_SHUFFLES && reached < ENOUGH) {
        shuffle(a, count, block, &random, moved);
        reached += product(moved, b, count) >= seen;
        shuffles++;
    }
    return (double)(reached + 1) / (double)(shuffles + 1);
}

void association_holm(double *p, size_t count)
{
    struct place place[ASSOCIATION_MOST] = {0};
    size_t asked = 0;
    double most = 0;

    for (size_t i = 0; i < count; i++)
        if (!isnan(p[i]))
            place[asked++] = (struct place){p[i], i};
    qsort(place, asked, sizeof place[0], order_places);
    for (size_t i = 0; i < asked; i++) {
        most = fmax(most, fmin(1, place[i].value * (double)(asked - i)));
        p[place[i].at] = most;
    }
}

/* The value below which a quarter of them are, or which they have. */
static double quarter_of(const double *x, size_t count)
{
    double sorted[ASSOCIATION_MOST];

    memcpy(sorted, x, count * sizeof *x);
    qsort(sorted, count, sizeof sorted[0], order_doubles);
    return sorted[(count - 1) / 4];
}

struct association_level association_explained(const struct association_windows *windows)
{
    const size_t count = windows->count;
    double steps = 0, time = 0, stall = 0, fast_steps = 0, fast_time = 0, fast_stall = 0;

    if (count == 0 || count > ASSOCIATION_MOST)
        return (struct association_level){0, 0};
    const double fast = quarter_of(windows->step_ns, count);
    for (size_t i = 0; i < count; i++) {
        const double weight = windows->steps[i],
                     fast_weight = windows->step_ns[i] <= fast ? weight : 0;
        steps += weight;
        time += weight * windows->step_ns[i];
        stall += weight * windows->stall_ns[i];
        fast_steps += fast_weight;
        fast_time += fast_weight * windows->step_ns[i];
        fast_stall += fast_weight * windows->stall_ns[i];
    }
    const double excess = time - steps * fast_time / fast_steps;
    if (!(excess > 0))
        return (struct association_level){0, 0};
    return (struct association_level){excess / time,
                                      (stall - steps * fast_stall / fast_steps) / excess};
}

bool association_is_late(const double *x, const double *y, size_t count)
{
    const double now = association_rho(x, y, count);

    for (size_t late = LATE_LEAST; late <= count / LATEST_PART; late++)
        if (association_rho(x, y + late, count - late) > now + later_fits)
            return true;
    return false;
}
