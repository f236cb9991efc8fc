/* Ranks of one run that wait for the slowest of them (rule book 9.3). Steps take equally long on all, so
 * what counts is each one's own work: the step without its time in communication. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "diagnose/causes.h"
#include "stats/robust.h"

enum { RANKS_MOST = 256 };

struct ranks {
    const struct snap_loop *loop[RANKS_MOST]; /* the main one of each */
    size_t count;
    int windows; /* that all have */
};

/* Of each rank the loop with most time, which comes first. */
static void collect(const struct patient *patient, struct ranks *ranks)
{
    const struct snapshot *snapshot = patient->snapshot;

    *ranks = (struct ranks){.windows = SNAP_OWN_WINDOWS};
    for (size_t i = 0; i < snapshot->loop_count && ranks->count < RANKS_MOST; i++) {
        const struct snap_loop *loop = &snapshot->loops[i];
        bool is_new = loop->rank >= 0;
        for (size_t k = 0; k < ranks->count; k++)
            is_new &= ranks->loop[k]->rank != loop->rank;
        if (!is_new)
            continue;
        ranks->loop[ranks->count++] = loop;
        if (loop->own_windows < ranks->windows)
            ranks->windows = loop->own_windows;
    }
}

/* By which part more than the others a rank works in a window. */
static double excess(const struct ranks *ranks, size_t rank, int window)
{
    double others[RANKS_MOST], scratch[RANKS_MOST];
    size_t count = 0;

    for (size_t i = 0; i < ranks->count; i++)
        if (i != rank)
            others[count++] = ranks->loop[i]->own_ns[window];
    const double usual = robust_median(others, count, scratch);
    return usual > 0 ? ranks->loop[rank]->own_ns[window] / usual - 1 : 0;
}

/* The middle of its windows; 0 if too few of them are slow. */
static double lasting_excess(const struct ranks *ranks, size_t rank)
{
    double each[SNAP_OWN_WINDOWS], scratch[SNAP_OWN_WINDOWS];
    int slow = 0;

    for (int i = 0; i < ranks->windows; i++) {
        each[i] = excess(ranks, rank, i);
        slow += each[i] > straggler_each;
    }
    if (slow < straggler_part * ranks->windows)
        return 0;
    return robust_median(each, (size_t)ranks->windows, scratch);
}

/* What a step would gain if the rank worked as fast as the others do, window by window. With too few windows for an
 * interval, an estimate. */
static struct interval gain_of(const struct ranks *ranks, size_t rank,
                               enum share_kind *kind)
{
    double gain[SNAP_OWN_WINDOWS], scratch[2 * SNAP_OWN_WINDOWS], sum = 0;
    const size_t count = (size_t)ranks->windows;

    for (int i = 0; i < ranks->windows; i++) {
        const double more = excess(ranks, rank, i);
        gain[i] = ranks->loop[rank]->own_ns[i] * more / (1 + more) /
                  ranks->loop[rank]->step_ns.mid;
        sum += gain[i];
    }
    const double half = interval_half_width(gain, count, scratch),
                 mean = sum / (double)count;
    const bool is_known = isfinite(half);
    const double least = is_known ? fmax(0, mean - half) : mean * few_times_least,
                 most = fmin(1, is_known ? mean + half : mean * few_times_most);
    *kind = is_known ? SHARE_INTERVAL : SHARE_ESTIMATE;
    return (struct interval){least, mean, most};
}

/* Whoever waits for it has the wait as communication: one cause, not two. */
static void excuse_waiting(struct patient *patient, int rank)
{
    struct finding *comm = cause_find(patient, "comm-bound");

    if (!comm)
        return;
    comm->severity = FINDING_INFO;
    cause_text(comm->unknown, "how much of it is more than the wait for rank %d", rank);
}

static double own_work(const struct ranks *ranks, size_t rank)
{
    double scratch[SNAP_OWN_WINDOWS];

    return robust_median(ranks->loop[rank]->own_ns, (size_t)ranks->windows, scratch);
}

static void add(struct patient *patient, const struct ranks *ranks, size_t slowest,
                double more)
{
    const struct snap_loop *loop = ranks->loop[slowest];
    char own[UNITS_SIZE];
    enum share_kind kind;
    const struct interval gain = gain_of(ranks, slowest, &kind);
    /* The rule that found it is the test; the interval says how much it is. */
    struct finding *finding = cause_add(patient, "straggler",
                                        gain.mid >= stage_bands.high   ? FINDING_HIGH
                                        : gain.mid >= stage_bands.warn ? FINDING_WARN
                                                                       : FINDING_INFO,
                                        gain, "the step");

    if (!finding)
        return;
    finding->kind = kind;
    cause_text(
        finding->claim,
        "rank %d works %.0f %% longer in each step than the others, which wait for "
        "it: %.1f %% of the step",
        loop->rank, 100 * more, 100 * gain.mid);
    cause_text(finding->evidence,
               "its own work takes %s a step, without communication; that of %zu ranks "
               "(processes that train together) was compared in %d stretches of the run",
               units_duration(own, (int64_t)own_work(ranks, slowest)), ranks->count,
               ranks->windows);
    cause_text(
        finding->check,
        "exchange its place or its data with another: does the delay move with it?");
    if (ranks->count == 2)
        cause_text(finding->unknown,
                   "with two ranks, whether one is slow or one is fast");
    excuse_waiting(patient, loop->rank);
}

void causes_of_ranks(struct patient *patient)
{
    struct ranks ranks;
    double most = 0;
    size_t slowest = 0;

    collect(patient, &ranks);
    if (ranks.count < 2 || !cause_can_see(patient, "straggler", SS_STAGE_COMM))
        return;
    if (ranks.windows < STRAGGLER_WINDOWS) {
        cause_unobservable(patient, "straggler",
                           "too few steps to compare the processes with each other",
                           "a longer run");
        return;
    }
    for (size_t i = 0; i < ranks.count; i++) {
        const double more = lasting_excess(&ranks, i);
        if (more > most) {
            most = more;
            slowest = i;
        }
    }
    if (most >= straggler_excess)
        add(patient, &ranks, slowest, most);
}
