#include "stats/cells.h"

#include <assert.h>
#include <string.h>

#include "base/compiler.h"
#include "stats/mix.h"
#include "stats/robust.h"

void cells_init(struct cells *cells, int64_t *parts, size_t part_count)
{
    memset(cells, 0, sizeof(*cells));
    cells->size = 1;
    cells->parts = parts;
    cells->part_count = part_count;
}

static int64_t *cell_parts(const struct cells *cells, size_t row)
{
    return cells->parts + row * cells->part_count;
}

static void add_parts(const struct cells *cells, size_t row, const int64_t *parts)
{
    for (size_t k = 0; k < cells->part_count; k++)
        cell_parts(cells, row)[k] += parts[k];
}

static void clear_cell(struct cells *cells, size_t place)
{
    cells->cell[place] = (struct cell){.max_step = -1};
    for (size_t k = 0; k < cells->part_count; k++)
        cell_parts(cells, place)[k] = 0;
}

static void keep_larger_max(struct cell *cell, int64_t max_ns, int64_t max_step)
{
    if (max_step >= 0 && (cell->max_step < 0 || max_ns > cell->max_ns)) {
        cell->max_ns = max_ns;
        cell->max_step = max_step;
    }
}

static void merge_pair(struct cells *cells, size_t to)
{
    struct cell left = cells->cell[2 * to];
    const struct cell *right = &cells->cell[2 * to + 1];
    left.windows += right->windows;
    left.steps += right->steps;
    left.time_ns += right->time_ns;
    left.median_ns = (left.median_ns + right->median_ns) / 2;
    keep_larger_max(&left, right->max_ns, right->max_step);
    cells->cell[to] = left;
    for (size_t k = 0; k < cells->part_count; k++)
        cell_parts(cells, to)[k] = cell_parts(cells, 2 * to)[k] + cell_parts(cells, 2 * to + 1)[k];
}

static void merge_pairs(struct cells *cells)
{
    double medians[CELLS_MAX];
    double smooth[CELLS_MAX];
    double scratch[2 * CELLS_MAX];
    for (size_t i = 0; i < CELLS_MAX; i++)
        medians[i] = cells->cell[i].median_ns;
    robust_despike(medians, CELLS_MAX, smooth, scratch);
    for (size_t i = 0; i < CELLS_MAX; i++)
        cells->cell[i].median_ns = smooth[i];
    for (size_t i = 0; i < CELLS_MAX / 2; i++)
        merge_pair(cells, i);
    cells->count = CELLS_MAX / 2;
    cells->size *= 2;
}

/* Whether the window at this place is the one of its 128th of the cell that is sampled. */
static int is_sampled(const struct cells *cells, int64_t place)
{
    if (cells->size <= CELLS_SAMPLE)
        return 1;
    uint64_t stride = (uint64_t)cells->size / CELLS_SAMPLE; /* a power of two */
    uint64_t stratum = (uint64_t)place >> LOWEST_BIT(stride);
    return ((uint64_t)place & (stride - 1)) == (mix64(stratum) & (stride - 1));
}

static double sample_median(const struct cells *cells)
{
    double scratch[CELLS_SAMPLE];
    return robust_median(cells->sample, cells->sampled, scratch);
}

static ATTR_NOINLINE void close_cell(struct cells *cells)
{
    cells->cell[cells->count].median_ns = sample_median(cells);
    cells->sampled = 0;
    cells->count++;
    if (cells->count == CELLS_MAX)
        merge_pairs(cells);
}

static ATTR_NOINLINE void add_to_head(struct cells *cells, const struct cells_window *window)
{
    size_t place = (size_t)cells->windows;
    cells->head[place] = (struct cell){
        .windows = 1,
        .steps = window->steps,
        .time_ns = window->time_ns,
        .first_step = window->first_step,
        .start_ns = window->start_ns,
        .max_ns = window->time_ns / window->steps,
        .max_step = window->first_step,
        .median_ns = (double)window->time_ns / (double)window->steps,
    };
    for (size_t k = 0; k < cells->part_count; k++)
        cell_parts(cells, CELLS_MAX + place)[k] = window->parts[k];
}

/* Most windows have one step, and a division takes as long as all the rest. */
static int64_t a_step(const struct cells_window *window)
{
    return window->steps == 1 ? window->time_ns : window->time_ns / window->steps;
}

void cells_add(struct cells *cells, const struct cells_window *window)
{
    struct cell *cell = &cells->cell[cells->count];
    if ((cells->windows & (cells->size - 1)) == 0) { /* its size is a power of two */
        clear_cell(cells, cells->count);
        cell->first_step = window->first_step;
        cell->start_ns = window->start_ns;
    }
    cell->windows++;
    cell->steps += window->steps;
    cell->time_ns += window->time_ns;
    add_parts(cells, cells->count, window->parts);
    if (cells->windows < CELLS_HEAD)
        add_to_head(cells, window);
    else
        keep_larger_max(cell, a_step(window), window->first_step);
    if (is_sampled(cells, cells->windows))
        cells->sample[cells->sampled++] = window->steps == 1
                                              ? (double)window->time_ns
                                              : (double)window->time_ns / (double)window->steps;
    cells->windows++;
    if (cell->windows == cells->size)
        close_cell(cells);
}

int64_t cells_cut(const struct cells *cells, int64_t window)
{
    if (window <= CELLS_HEAD)
        return window;
    return (window + cells->size - 1) / cells->size * cells->size;
}

/* How many cells hold something. */
static size_t used_cells(const struct cells *cells)
{
    return cells->count + (cells->windows % cells->size != 0);
}

static int64_t column_of(const struct cells *cells, const struct cell *cell, size_t row, int column)
{
    if (column == CELLS_STEPS)
        return cell->steps;
    if (column == CELLS_TIME)
        return cell->time_ns;
    assert(column >= 0 && (size_t)column < cells->part_count);
    return cell_parts(cells, row)[column];
}

/* The sum of a cell without those windows of the head that are before `start`. */
static int64_t cell_sum_from(const struct cells *cells, size_t place, int64_t start, int column)
{
    int64_t sum = column_of(cells, &cells->cell[place], place, column);
    for (int64_t i = (int64_t)place * cells->size; i < start; i++) {
        assert(i < CELLS_HEAD);
        size_t head = (size_t)i;
        sum -= column_of(cells, &cells->head[head], CELLS_MAX + head, column);
    }
    return sum;
}

int64_t cells_sum(const struct cells *cells, int64_t start, int column)
{
    int64_t sum = 0;
    for (size_t i = (size_t)(start / cells->size); i < used_cells(cells); i++)
        sum += cell_sum_from(cells, i, start, column);
    return sum;
}

size_t cells_column(const struct cells *cells, int64_t start, int column, double *out)
{
    size_t count = 0;
    for (size_t i = (size_t)(start / cells->size); i < used_cells(cells); i++)
        out[count++] = (double)cell_sum_from(cells, i, start, column);
    return count;
}

int64_t cells_first_whole(const struct cells *cells, int64_t start)
{
    return (start + cells->size - 1) / cells->size * cells->size;
}

size_t cells_medians(const struct cells *cells, int64_t start, double *out)
{
    size_t first = (size_t)(cells_first_whole(cells, start) / cells->size);
    size_t count = 0;
    for (size_t i = first; i < cells->count; i++)
        out[count++] = cells->cell[i].median_ns;
    int64_t filled = cells->windows % cells->size;
    if (first <= cells->count && 2 * filled >= cells->size && filled > 0)
        out[count++] = sample_median(cells);
    return count;
}

int64_t cells_max(const struct cells *cells, int64_t start, int64_t *step)
{
    struct cell largest = {.max_step = -1};
    for (int64_t i = start; i < CELLS_HEAD && i < cells->windows; i++)
        keep_larger_max(&largest, cells->head[i].max_ns, cells->head[i].max_step);
    for (size_t i = (size_t)(start / cells->size); i < used_cells(cells); i++)
        keep_larger_max(&largest, cells->cell[i].max_ns, cells->cell[i].max_step);
    *step = largest.max_step;
    return largest.max_ns;
}

/* What holds the window at a cut first; NULL past the end. */
static const struct cell *cell_at(const struct cells *cells, int64_t start)
{
    if (start >= cells->windows)
        return NULL;
    return start < CELLS_HEAD ? &cells->head[start] : &cells->cell[start / cells->size];
}

int64_t cells_step_at(const struct cells *cells, int64_t start)
{
    const struct cell *cell = cell_at(cells, start);

    return cell ? cell->first_step : -1;
}

int64_t cells_start_ns(const struct cells *cells, int64_t start)
{
    const struct cell *cell = cell_at(cells, start);

    return cell ? cell->start_ns : -1;
}
