#include "stats/blame.h"

#include <math.h>
#include <stdlib.h>

/* One step, over the ranks that have it. */
struct fold {
    int64_t number;
    size_t ranks;
    size_t last;            /* the rank with most own work */
    double own_ns, comm_ns; /* sums */
    double most_ns, second_ns, least_comm_ns;
};

/* Leaves out ranks with too few steps. Of the others the one with the fewest; `count`: there is
 * none. */
static size_t choose(struct blame_rank *ranks, size_t count, struct blame *out)
{
    size_t most = 0, fewest = count;

    for (size_t i = 0; i < count; i++)
        most = ranks[i].count > most ? ranks[i].count : most;
    for (size_t i = 0; i < count; i++) {
        ranks[i].is_left_out = ranks[i].count == 0 || 2 * ranks[i].count < most;
        if (ranks[i].is_left_out)
            continue;
        out->ranks++;
        if (fewest == count || ranks[i].count < ranks[fewest].count)
            fewest = i;
    }
    return fewest;
}

/* The fold of a step, from `*at` on, where it stops; NULL: there is none. */
static struct fold *fold_of(struct fold *folds, size_t count, size_t *at, int64_t number)
{
    while (*at < count && folds[*at].number < number)
        ++*at;
    return *at < count && folds[*at].number == number ? &folds[*at] : NULL;
}

static void add_to_fold(struct fold *fold, size_t rank, const struct shared_step *step)
{
    const bool is_first = fold->ranks++ == 0;

    if (is_first || step->own_ns > fold->most_ns) {
        fold->second_ns = is_first ? 0 : fold->most_ns;
        fold->most_ns = step->own_ns;
        fold->last = rank;
    } else if (step->own_ns > fold->second_ns) {
        fold->second_ns = step->own_ns;
    }
    if (is_first || step->comm_ns < fold->least_comm_ns)
        fold->least_comm_ns = step->comm_ns;
    fold->own_ns += step->own_ns;
    fold->comm_ns += step->comm_ns;
}

static void fold_ranks(struct fold *folds, size_t steps, const struct blame_rank *ranks,
                       size_t count)
{
    for (size_t r = 0; r < count; r++) {
        size_t at = 0;
        for (size_t i = 0; !ranks[r].is_left_out && i < ranks[r].count; i++) {
            const struct shared_step *step = &ranks[r].steps[i];
            struct fold *fold = fold_of(folds, steps, &at, step->number);
            if (fold)
                add_to_fold(fold, r, step);
        }
    }
}

/* Those that all ranks have; how many they are. */
static size_t keep_common(struct fold *folds, size_t steps, size_t ranks)
{
    size_t kept = 0;

    for (size_t i = 0; i < steps; i++)
        if (folds[i].ranks == ranks)
            folds[kept++] = folds[i];
    return kept;
}

static void fill_rank(struct blame_rank *rank, struct fold *folds, size_t steps)
{
    double own_ns = 0, wait_ns = 0;
    size_t at = 0;

    for (size_t i = 0; i < rank->count; i++) {
        const struct fold *fold = fold_of(folds, steps, &at, rank->steps[i].number);
        if (!fold)
            continue;
        own_ns += rank->steps[i].own_ns;
        wait_ns += rank->steps[i].comm_ns - fold->least_comm_ns;
    }
    rank->own_ns = own_ns / (double)steps;
    rank->wait_ns = wait_ns / (double)steps;
}

/* What is a mean over ranks of each step, and the share of it that they wait. `room` has 5 times as
 * many values as there are steps. */
static void fill_job(const struct fold *folds, size_t steps, double *room, struct blame *out)
{
    double *waits = room, *whole = room + steps, ranks = (double)out->ranks;

    for (size_t i = 0; i < steps; i++) {
        waits[i] = folds[i].comm_ns / ranks - folds[i].least_comm_ns;
        whole[i] = (folds[i].own_ns + folds[i].comm_ns) / ranks;
        out->step_ns += whole[i] / (double)steps;
        out->own_ns += folds[i].own_ns / ranks / (double)steps;
        out->wait_ns += waits[i] / (double)steps;
        out->exchange_ns += folds[i].least_comm_ns / (double)steps;
    }
    out->waiting = interval_ratio(waits, whole, steps, room + 2 * steps);
}

/* The steps in which a rank is last, and what the others wait then. `room` as above; its second
 * part is the time of each step. */
static double fill_blame(struct blame_rank *rank, size_t number, const struct fold *folds,
                         size_t steps, double *room)
{
    double *part = room, *whole = room + steps, sum_ns = 0;
    size_t times = 0;

    for (size_t i = 0; i < steps; i++) {
        const bool is_last = folds[i].last == number;
        part[i] = is_last ? folds[i].most_ns - folds[i].second_ns : 0;
        sum_ns += part[i];
        times += is_last;
    }
    rank->last_share = (double)times / (double)steps;
    if (times > 0)
        rank->blame = interval_ratio(part, whole, steps, room + 2 * steps);
    return sum_ns;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Own work over ranks; `sorted` has room for one value a rank. */
static void fill_spread(const struct blame_rank *ranks, size_t count, double *sorted,
                        struct blame *out)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (!ranks[i].is_left_out)
            sorted[n++] = ranks[i].own_ns;
    qsort(sorted, n, sizeof *sorted, by_value);
    out->own_p50_ns = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
    out->own_p95_ns = sorted[(size_t)ceil(0.95 * (double)n) - 1];
    out->own_max_ns = sorted[n - 1];
}

static void find_most(struct blame_rank *ranks, size_t count, const struct fold *folds,
                      double *room, struct blame *out)
{
    double most_ns = -1, all_ns = 0;

    for (size_t i = 0; i < count; i++) {
        if (ranks[i].is_left_out)
            continue;
        const double sum_ns = fill_blame(&ranks[i], i, folds, out->steps, room);
        all_ns += sum_ns;
        if (sum_ns > most_ns) {
            most_ns = sum_ns;
            out->most = i;
        }
    }
    out->most_part = all_ns > 0 ? most_ns / all_ns : 0;
}

/* `room` has 5 values a step and one a rank. */
static void compare(struct blame_rank *ranks, size_t count, struct fold *folds, size_t most_steps,
                    double *room, struct blame *out)
{
    fold_ranks(folds, most_steps, ranks, count);
    out->steps = keep_common(folds, most_steps, out->ranks);
    if (out->steps == 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (!ranks[i].is_left_out)
            fill_rank(&ranks[i], folds, out->steps);
    fill_job(folds, out->steps, room, out);
    find_most(ranks, count, folds, room, out);
    fill_spread(ranks, count, room + 5 * most_steps, out);
}

bool blame_find(struct blame_rank *ranks, size_t count, struct blame *out)
{
    *out = (struct blame){0};
    const size_t fewest = choose(ranks, count, out);
    if (out->ranks < 2)
        return true;
    const struct blame_rank *shortest = &ranks[fewest];
    struct fold *folds = calloc(shortest->count, sizeof *folds);
    double *room = calloc(5 * shortest->count + count, sizeof *room);
    const bool has_memory = folds && room;
    if (has_memory) {
        for (size_t i = 0; i < shortest->count; i++)
            folds[i].number = shortest->steps[i].number;
        compare(ranks, count, folds, shortest->count, room, out);
    }
    free(folds);
    free(room);
    return has_memory;
}
