#include "model/series.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "stepscope/error.h"

enum { CELLS_PER_CHUNK = CELLS_MAX / SERIES_CHUNKS };

int series_init(struct series *series, uint64_t source)
{
    memset(series, 0, sizeof *series);
    series->parts = calloc((size_t)CELLS_ROWS * SERIES_PARTS, sizeof *series->parts);
    if (!series->parts)
        return SS_E_NOMEM;
    cells_init(&series->cells, series->parts, SERIES_PARTS);
    spikes_init(&series->spikes);
    sample_init(&series->sample, source);
    series->chunk_size = CELLS_PER_CHUNK;
    return SS_E_OK;
}

static void release_chunk(struct sketch *chunk)
{
    for (int i = 0; i < SERIES_SKETCHES; i++)
        sketch_release(&chunk[i]);
}

void series_release(struct series *series)
{
    for (int i = 0; i < SERIES_CHUNKS; i++)
        release_chunk(series->chunk[i]);
    free(series->parts);
    series->parts = NULL;
}

static void merge_chunks(struct series *series)
{
    for (int i = 0; i < SERIES_CHUNKS / 2; i++) {
        for (int k = 0; k < SERIES_SKETCHES; k++) {
            struct sketch merged;
            sketch_init(&merged);
            sketch_merge(&merged, &series->chunk[2 * i][k]);
            sketch_merge(&merged, &series->chunk[2 * i + 1][k]);
            sketch_release(&series->chunk[2 * i][k]);
            sketch_release(&series->chunk[2 * i + 1][k]);
            series->chunk[i][k] = merged;
        }
    }
    memset(series->chunk[SERIES_CHUNKS / 2], 0,
           sizeof series->chunk[0] * (SERIES_CHUNKS - SERIES_CHUNKS / 2));
    series->chunks = SERIES_CHUNKS / 2;
    series->chunk_size *= 2;
}

/* Most windows have one step, and a division takes as long as all the rest. */
static int64_t a_step(int64_t ns, int64_t steps)
{
    return steps == 1 ? ns : ns / steps;
}

static void note_slow(struct series *series, const struct series_window *window)
{
    int64_t time_ns = a_step(window->time_ns, window->steps);
    int at = series->slow_count;
    if (at == SERIES_SLOWEST && series->slowest[at - 1].time_ns >= time_ns)
        return;
    at -= at == SERIES_SLOWEST;
    for (; at > 0 && series->slowest[at - 1].time_ns < time_ns; at--)
        series->slowest[at] = series->slowest[at - 1];
    struct slow_step *slow = &series->slowest[at];
    slow->number = series->steps;
    slow->start_ns = window->start_ns;
    slow->time_ns = time_ns;
    for (int i = 0; i < SS_STAGE_COUNT; i++)
        slow->stage_ns[i] = window->stage_ns[i] / window->steps;
    series->slow_count += series->slow_count < SERIES_SLOWEST;
}

bool series_add(struct series *series, const struct series_window *window)
{
    int64_t parts[SERIES_PARTS];
    memcpy(parts, window->stage_ns, sizeof window->stage_ns);
    parts[SERIES_SAMPLES] = window->samples;
    parts[SERIES_BATCHES] = window->batches;
    parts[SERIES_BYTES] = window->bytes;
    const struct cells_window cell = {.first_step = series->steps,
                                      .steps = window->steps,
                                      .start_ns = window->start_ns,
                                      .time_ns = window->time_ns,
                                      .parts = parts};
    cells_add(&series->cells, &cell);
    note_slow(series, window);
    const double step_ns = window->steps == 1 ? (double)window->time_ns
                                              : (double)window->time_ns / (double)window->steps;
    (void)spikes_add(&series->spikes, series->steps, step_ns);
    sample_add(&series->sample, series->steps, step_ns);
    series->steps += window->steps;

    struct sketch *chunk = series->chunk[series->chunks];
    const uint64_t times = (uint64_t)window->steps;
    sketch_add_n(&chunk[SERIES_STEP], a_step(window->time_ns, window->steps), times);
    for (uint32_t left = window->stages; left; left &= left - 1) {
        const int i = LOWEST_BIT(left);
        if (window->stage_ns[i] != 0) /* 0 is filled in when quantiles are asked for */
            sketch_add_n(&chunk[i], a_step(window->stage_ns[i], window->steps), times);
    }
    if (++series->chunk_windows < series->chunk_size)
        return false;
    series->chunk_windows = 0;
    if (++series->chunks < SERIES_CHUNKS)
        return false;
    merge_chunks(series);
    return true;
}

int series_chunk_from(const struct series *series, int64_t start)
{
    int64_t chunk = (start + series->chunk_size - 1) / series->chunk_size;
    return chunk < SERIES_CHUNKS ? (int)chunk : SERIES_CHUNKS;
}

static void add_head(const struct series *series, int64_t from, int64_t to, int column,
                     struct sketch *out)
{
    const struct cells *cells = &series->cells;
    to = to < cells->windows ? to : cells->windows;
    for (int64_t i = from; i < to && i < CELLS_HEAD; i++) {
        const struct cell *window = &cells->head[i];
        int64_t ns = column == SERIES_STEP ? window->time_ns
                                           : cells->parts[(CELLS_MAX + i) * SERIES_PARTS + column];
        sketch_add_n(out, ns / window->steps, (uint64_t)window->steps);
    }
}

void series_merge_from(const struct series *series, int64_t start, int column, struct sketch *out)
{
    int chunk = series_chunk_from(series, start);
    uint64_t steps = 0;
    for (int i = chunk; i <= series->chunks && i < SERIES_CHUNKS; i++) {
        sketch_merge(out, &series->chunk[i][column]);
        steps += series->chunk[i][SERIES_STEP].count;
    }
    if (steps > out->count) /* steps without this stage took 0 of it */
        sketch_add_n(out, 0, steps - out->count);
    add_head(series, start, chunk * series->chunk_size, column, out);
}
