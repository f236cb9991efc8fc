#include "stats/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/student.h"

static const double both_sides_of_95 = 0.975;

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
