/* The steps of a loop as a series: cells for sums, means and warm-up (stats/cells.h), and sketches
 * for quantiles, both by stage. The sketches stand for at most 32 chunks of the run, so that those
 * of the warm-up can be left out when it is known where it ends; chunks are whole cells. */
#ifndef MODEL_SERIES_H
#define MODEL_SERIES_H

#include "model/work.h"
#include "stats/cells.h"
#include "stats/sample.h"
#include "stats/sketch.h"
#include "stats/spikes.h"

enum {
    SERIES_CHUNKS = 32,
    SERIES_SAMPLES = SS_STAGE_COUNT, /* part of the cells: samples trained */
    SERIES_BATCHES,                  /* and batches (micro-batches) */
    SERIES_BYTES,                    /* of those */
    SERIES_PARTS,
    SERIES_SLOWEST = 16
};

/* Sketches: SS_STAGE_OTHER is the remainder; SERIES_STEP is the step itself. */
enum { SERIES_STEP = SS_STAGE_COUNT, SERIES_SKETCHES };

struct slow_step {
    int64_t number, start_ns, time_ns; /* time of one step of its window */
    int64_t stage_ns[SS_STAGE_COUNT];
};

struct series {
    struct cells cells;
    int64_t *parts;
    struct sketch chunk[SERIES_CHUNKS][SERIES_SKETCHES];
    int chunks;                        /* full ones; chunk[chunks] is being filled */
    int64_t chunk_size, chunk_windows; /* windows of a full chunk, of the one being filled */
    int64_t steps;
    struct spikes spikes;
    struct sample sample;
    struct slow_step slowest[SERIES_SLOWEST]; /* slowest first */
    int slow_count;
};

struct series_window {
    int64_t start_ns;
    int64_t steps;
    int64_t time_ns;
    uint32_t stages;                  /* bits: stages that it has, as in struct work */
    int64_t stage_ns[SS_STAGE_COUNT]; /* OTHER: the remainder; they add up to time_ns */
    int64_t samples, batches, bytes;
};

/* 0 or SS_E_NOMEM. */
int series_init(struct series *series, uint64_t source);
void series_release(struct series *series);

/* Returns true if two chunks became one: others who count by chunk must do the same. */
bool series_add(struct series *series, const struct series_window *window);

/* First chunk that has only windows from `start` on (a cut of the cells). */
int series_chunk_from(const struct series *series, int64_t start);

/* Adds a column of the windows from `start` on to `out`, which the caller releases: whole chunks,
 * and what is before the first of them as far as it is kept singly. */
void series_merge_from(const struct series *series, int64_t start, int column, struct sketch *out);

#endif
