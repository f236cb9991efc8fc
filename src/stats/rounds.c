#include "stats/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/student.h"

static const double both_sides_of_95 = 0.975, errors_of_95 = 1.96;

void rounds_init(struct rounds *rounds, size_t arms)
{
    *rounds = (struct rounds){.arms = arms};
}

void rounds_release(struct rounds *rounds)
{
    free(rounds->cells);
    *rounds = (struct rounds){0};
}

static bool make_room(struct rounds *rounds, size_t count)
{
    size_t room = rounds->room ? rounds->room : 16;

    while (room < count)
        room *= 2;
    if (room > rounds->room) {
        struct rounds_cell *cells =
            realloc(rounds->cells, room * rounds->arms * sizeof rounds->cells[0]);
        if (!cells)
            return false;
        memset(cells + rounds->room * rounds->arms, 0,
               (room - rounds->room) * rounds->arms * sizeof cells[0]);
        rounds->cells = cells;
        rounds->room = room;
    }
    if (rounds->count < count)
        rounds->count = count;
    return true;
}

void rounds_halve(struct rounds *rounds)
{
    for (size_t i = 0; i < rounds->count; i++)
        for (size_t arm = 0; arm < rounds->arms; arm++) {
            const struct rounds_cell cell = rounds->cells[i * rounds->arms + arm];
            struct rounds_cell *const to = &rounds->cells[i / 2 * rounds->arms + arm];
            rounds->cells[i * rounds->arms + arm] = (struct rounds_cell){0};
            to->ns += cell.ns;
            to->units += cell.units;
        }
    rounds->count = (rounds->count + 1) / 2;
}

static const struct rounds_cell *cell_of(const struct rounds *rounds, size_t round, size_t arm)
{
    return &rounds->cells[round * rounds->arms + arm];
}

bool rounds_add(struct rounds *rounds, size_t round, size_t arm, double ns, double units)
{
    if (!make_room(rounds, round + 1))
        return false;
    struct rounds_cell *cell = &rounds->cells[round * rounds->arms + arm];
    cell->ns += ns;
    cell->units += units;
    return true;
}

static bool did_something(const struct rounds_cell *cell)
{
    return cell->units > 0 && cell->ns > 0;
}

size_t rounds_of(const struct rounds *rounds, size_t arm)
{
    size_t count = 0;

    for (size_t i = 0; i < rounds->count; i++)
        count += did_something(cell_of(rounds, i, arm));
    return count;
}

static double rate(struct rounds_cell sum)
{
    return sum.ns > 0 ? sum.units / sum.ns : 0;
}

/* Rates of one arm, or of one as a part of another's (other == arm: of none). */
struct pair {
    struct rounds_cell arm, other;
};

static double value_of(struct pair sum, bool is_ratio)
{
    const double whole = is_ratio ? rate(sum.other) : 1;

    return whole > 0 ? rate(sum.arm) / whole : 0;
}

static bool pair_of(const struct rounds *rounds, size_t round, size_t arm, size_t other,
                    struct pair *out)
{
    *out = (struct pair){*cell_of(rounds, round, arm), *cell_of(rounds, round, other)};
    return did_something(&out->arm) && did_something(&out->other);
}

static void add(struct rounds_cell *sum, struct rounds_cell cell, double sign)
{
    sum->ns += sign * cell.ns;
    sum->units += sign * cell.units;
}

static struct interval estimate(const struct rounds *rounds, size_t arm, size_t other)
{
    const bool is_ratio = arm != other;
    struct pair all = {0}, one;
    double mean = 0, squares = 0;
    size_t count = 0;

    for (size_t i = 0; i < rounds->count; i++)
        if (pair_of(rounds, i, arm, other, &one)) {
            add(&all.arm, one.arm, 1);
            add(&all.other, one.other, 1);
            count++;
        }
    const double mid = value_of(all, is_ratio);
    if (count < ROUNDS_FEWEST)
        return (struct interval){0, mid, INFINITY};
    for (size_t i = 0, seen = 0; i < rounds->count; i++)
        if (pair_of(rounds, i, arm, other, &one)) {
            struct pair rest = all;
            add(&rest.arm, one.arm, -1);
            add(&rest.other, one.other, -1);
            const double left = value_of(rest, is_ratio), gap = left - mean;
            mean += gap / (double)++seen;
            squares += gap * (left - mean);
        }
    const double error = sqrt(squares * (double)(count - 1) / (double)count);
    const double half = error * student_quantile(both_sides_of_95, (double)(count - 1));
    return (struct interval){fmax(0, mid - half), mid, mid + half};
}

struct interval rounds_rate(const struct rounds *rounds, size_t arm)
{
    return estimate(rounds, arm, arm);
}

struct interval rounds_ratio(const struct rounds *rounds, size_t arm, size_t other)
{
    if (arm == other)
        return (struct interval){1, 1, 1};
    return estimate(rounds, arm, other);
}

static int order_values(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Means of all pairs of values, each with itself too, in order. NULL: no memory. */
static double *walsh_averages(const double *values, size_t count, size_t *pairs)
{
    double *const out = malloc((count * (count + 1) / 2 + 1) * sizeof *out);

    *pairs = 0;
    for (size_t i = 0; out && i < count; i++)
        for (size_t k = i; k < count; k++)
            out[(*pairs)++] = (values[i] + values[k]) / 2;
    if (out)
        qsort(out, *pairs, sizeof *out, order_values);
    return out;
}

struct interval rounds_typical(const struct rounds *rounds, size_t arm, size_t other)
{
    struct interval result = {0, 0, INFINITY};
    double *const logs = malloc((rounds->count + 1) * sizeof *logs);
    struct pair one;
    size_t count = 0, pairs;

    for (size_t i = 0; logs && i < rounds->count; i++)
        if (pair_of(rounds, i, arm, other, &one))
            logs[count++] = log(value_of(one, arm != other));
    double *const averages =
        count >= ROUNDS_FOR_TYPICAL ? walsh_averages(logs, count, &pairs) : NULL;
    if (averages) {
        const double n = (double)count;
        const double half = errors_of_95 * sqrt(n * (n + 1) * (2 * n + 1) / 24);
        const size_t cut = (size_t)fmax(0, floor(n * (n + 1) / 4 - half));
        const size_t middle = pairs / 2;
        const double mid =
            pairs % 2 ? averages[middle] : (averages[middle - 1] + averages[middle]) / 2;
        result = (struct interval){exp(averages[cut]), exp(mid), exp(averages[pairs - 1 - cut])};
    }
    free(averages);
    free(logs);
    return result;
}

struct interval rounds_gain(struct interval ratio)
{
    if (!(ratio.low > 0) || !isfinite(ratio.high))
        return (struct interval){0, 0, INFINITY};
    return (struct interval){1 - 1 / ratio.low, 1 - 1 / ratio.mid, 1 - 1 / ratio.high};
}
