/* Quantiles of durations in small memory: DDSketch (method 1.4).
 *
 * Values from 100 ns to 1000 s fall into bins whose ends differ by at most 0.8 %, so that a
 * quantile is within 0.4 % of the exact one. Below and above, values are counted only: a quantile
 * there is the smallest or the largest value. Count, sum, smallest and largest are exact.
 * Everything is an integer sum, so merging parts gives the whole, bit for bit, in any order.
 *
 * An empty sketch holds no memory; bins are allocated for the range that occurs, 64 at a time (8
 * bytes each; the whole range has 4253). When memory runs out `error` is set and stays; count, sum,
 * smallest and largest go on, quantiles are NAN from then on.
 *
 * Do not read differences below 1 % out of sketches. The second moment is left out: spread is given
 * by quantiles, errors of means by cells (stats/steady.h). */
#ifndef STATS_SKETCH_H
#define STATS_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sum of nanoseconds of many processes may pass 584 years. */
__extension__ typedef unsigned __int128 sketch_sum;

struct sketch {
    uint64_t *bins;
    int32_t first; /* index of bins[0] */
    int32_t bin_count;
    int error; /* 0 or SS_E_NOMEM */
    uint64_t count;
    uint64_t below; /* of them under 100 ns */
    uint64_t above; /* of them over 1000 s */
    int64_t min_ns;
    int64_t max_ns;
    sketch_sum sum_ns;
};

/* {0} is an empty sketch too. */
void sketch_init(struct sketch *sketch);
void sketch_release(struct sketch *sketch);

/* A negative duration counts as 0. */
void sketch_add(struct sketch *sketch, int64_t ns);
void sketch_add_n(struct sketch *sketch, int64_t ns, uint64_t times);

/* Adds all of `from` to `to`. An error of either stays in `to`. */
void sketch_merge(struct sketch *to, const struct sketch *from);

/* Puts back what a sketch that was written held, bin by bin: the number of a bin counts from the
 * one of 1 ns, as `first` does. Totals are the caller's to set. False: there is no such bin, or
 * memory is short. */
bool sketch_restore_bin(struct sketch *sketch, uint64_t bin, uint64_t times);

/* The value below which the share q of 0..1 lies: the one at place 1 + floor(q (count - 1)) of the
 * sorted values. NAN if it is empty or has an error. */
double sketch_quantile(const struct sketch *sketch, double q);

/* Where the bin `bins[index]` begins; it ends where the next one begins. */
double sketch_bin_begin(const struct sketch *sketch, int32_t index);

/* Neighbouring bars that hold all values, for a picture: whole bins put together, so that there are
 * at most `most` of them (3 or more). The first begins at the smallest value, the last ends at the
 * largest. Returns how many; 0 if it is empty or has an error. */
struct sketch_bar {
    double low_ns, high_ns;
    uint64_t count;
};
size_t sketch_bars(const struct sketch *sketch, struct sketch_bar *out, size_t most);

/* 0 if it is empty. */
double sketch_mean(const struct sketch *sketch);

#endif
