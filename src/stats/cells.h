/* A series of step times of any length in fixed memory (method 1.3).
 *
 * The series is kept as at most 256 cells of `size` neighbouring windows each; a window is the
 * smallest stretch with a true end, usually one step (step model 7.1). When the cells are
 * full, pairs are merged and `size` doubles: 128 to 256 cells stand for any run of more than 128
 * windows. The first 64 windows are kept singly as well, so that a slow start of a few steps can
 * be cut off exactly. The same windows give the same cells, bit for bit. It is 21 KB, and 2.5 KB
 * for each part.
 *
 * A cell holds exact sums: of time, of steps, and of `part_count` parts that the caller names (the
 * stages of a step, samples trained). Of what is not summed it holds the median of the time a
 * step takes and the largest.
 *
 * A *cut* is a place, counted in windows, from which on the cells can be summed exactly: any place
 * within the first 64 windows, else a multiple of `size`. Functions that take `start` need a cut.
 *
 * Two things are done with care (method 12.3). A cell of more than 128 windows takes its median
 * from one window of each 128th of it, at a place that looks random, so that no period can alias,
 * as it would with the first 99. Before pairs are merged, single outliers among the medians are
 * replaced by their neighbours' median: a plain mean of two medians turns the oldest cells into
 * plain means, which 1 % of steps that take 10 times as long lift by 9 %. The second moment is left
 * out: intervals rest on how cells differ, not on how steps differ within one. */
#ifndef STATS_CELLS_H
#define STATS_CELLS_H

#include <stddef.h>
#include <stdint.h>

enum {
    CELLS_MAX = 256,
    CELLS_HEAD = 64,
    CELLS_ROWS = CELLS_MAX + CELLS_HEAD, /* rows of parts that the caller provides */
    CELLS_SAMPLE = 128,
};

/* What cells_sum() and cells_column() sum; parts are 0, 1, ... */
enum { CELLS_STEPS = -2, CELLS_TIME = -1 };

struct cell {
    int64_t windows;
    int64_t steps;
    int64_t time_ns;
    int64_t first_step; /* number of the first step, and when it began */
    int64_t start_ns;
    int64_t max_ns;   /* of the time a step takes, without the windows of the head */
    int64_t max_step; /* where; -1: none */
    double median_ns; /* of the time a step takes */
};

struct cells {
    int64_t size;    /* windows in a full cell, a power of two */
    int64_t windows; /* added so far */
    size_t count;    /* full cells; cell[count] is being filled */
    size_t part_count;
    int64_t *parts; /* CELLS_ROWS rows of part_count sums: cells first, then the head */
    struct cell cell[CELLS_MAX];
    struct cell head[CELLS_HEAD];
    double sample[CELLS_SAMPLE]; /* of the cell that is being filled */
    size_t sampled;
};

struct cells_window {
    int64_t first_step;
    int64_t steps; /* >= 1 */
    int64_t start_ns;
    int64_t time_ns;
    const int64_t *parts; /* part_count values */
};

/* `parts`: CELLS_ROWS * part_count values, the caller's, for as long as `cells` is used; NULL if
 * part_count is 0. */
void cells_init(struct cells *cells, int64_t *parts, size_t part_count);

void cells_add(struct cells *cells, const struct cells_window *window);

/* The first cut at or after a window. */
int64_t cells_cut(const struct cells *cells, int64_t window);

/* Exact sum of a column over the windows from `start` on. */
int64_t cells_sum(const struct cells *cells, int64_t start, int column);

/* The sums of a column cell by cell from `start` on, the first and the last perhaps of a part of
 * a cell. `out` has room for CELLS_MAX values; returns how many there are. */
size_t cells_column(const struct cells *cells, int64_t start, int column, double *out);

/* The medians of whole cells from `start` on; the cell that is being filled counts from half of
 * its size on. `out` has room for CELLS_MAX values; returns how many there are. The k-th is of the
 * `size` windows from cells_first_whole() + k * size on. */
size_t cells_medians(const struct cells *cells, int64_t start, double *out);
int64_t cells_first_whole(const struct cells *cells, int64_t start);

/* The longest time of a step from `start` on, and which step that was; 0 and -1 if none is. */
int64_t cells_max(const struct cells *cells, int64_t start, int64_t *step);

/* The number of the first step of the window at a cut, -1 past the end. */
int64_t cells_step_at(const struct cells *cells, int64_t start);

/* When the window at a cut began, -1 past the end. */
int64_t cells_start_ns(const struct cells *cells, int64_t start);

#endif
