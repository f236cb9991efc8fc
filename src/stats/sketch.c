#include "stats/sketch.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "stepscope/error.h"

/* Each power of two is cut into 128 bins of equal width: the upper bits of a double are the number
 * of its bin. (DDSketch's logarithm, interpolated linearly between powers of two; a bin costs no
 * more than a shift.) */
enum { WIDTH_BITS = 7, SHIFT = 52 - WIDTH_BITS, FIRST_BIN = 1023 << WIDTH_BITS };

static const int64_t LEAST_NS = 100;
static const int64_t MOST_NS = INT64_C(1000000000000);

/* Bins come in whole groups, so that the same values give the same bins in any order. */
enum { GROUP = 64 };

static int32_t bin_of(int64_t ns)
{
    double value = (double)ns;
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return (int32_t)(bits >> SHIFT) - FIRST_BIN;
}

static double low_end_of(int32_t bin)
{
    uint64_t bits = (uint64_t)(bin + FIRST_BIN) << SHIFT;
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* The value that is as far, relatively, from both ends of the bin. */
static double value_of_bin(int32_t bin)
{
    double low = low_end_of(bin);
    double high = low_end_of(bin + 1);
    return 2 * low * high / (low + high);
}

void sketch_init(struct sketch *sketch)
{
    *sketch = (struct sketch){0};
}

void sketch_release(struct sketch *sketch)
{
    free(sketch->bins);
    sketch_init(sketch);
}

/* Makes bins from `first` up to `end` exist. */
static ATTR_NOINLINE int make_room(struct sketch *sketch, int32_t first, int32_t end)
{
    int32_t old_end = sketch->first + sketch->bin_count;
    if (sketch->bin_count > 0 && first >= sketch->first && end <= old_end)
        return 0;
    first -= first % GROUP;
    end += (GROUP - end % GROUP) % GROUP;
    if (sketch->bin_count > 0) {
        first = first < sketch->first ? first : sketch->first;
        end = end > old_end ? end : old_end;
    }
    uint64_t *bins = calloc((size_t)(end - first), sizeof(*bins));
    if (!bins) {
        sketch->error = SS_E_NOMEM;
        return SS_E_NOMEM;
    }
    if (sketch->bin_count > 0)
        memcpy(bins + (sketch->first - first), sketch->bins,
               (size_t)sketch->bin_count * sizeof(*bins));
    free(sketch->bins);
    sketch->bins = bins;
    sketch->first = first;
    sketch->bin_count = end - first;
    return 0;
}

static void add_totals(struct sketch *sketch, uint64_t count, sketch_sum sum_ns, int64_t min_ns,
                       int64_t max_ns)
{
    if (sketch->count == 0 || min_ns < sketch->min_ns)
        sketch->min_ns = min_ns;
    if (sketch->count == 0 || max_ns > sketch->max_ns)
        sketch->max_ns = max_ns;
    sketch->count += count;
    sketch->sum_ns += sum_ns;
}

static bool has_bin(const struct sketch *sketch, int32_t bin)
{
    return (uint32_t)(bin - sketch->first) < (uint32_t)sketch->bin_count;
}

static inline void add(struct sketch *sketch, int64_t ns, uint64_t times)
{
    add_totals(sketch, times, (sketch_sum)ns * times, ns, ns);
    if (UNLIKELY(ns < LEAST_NS || ns > MOST_NS)) {
        *(ns < LEAST_NS ? &sketch->below : &sketch->above) += times;
        return;
    }
    const int32_t bin = bin_of(ns);
    if (LIKELY(has_bin(sketch, bin)) ||
        (sketch->error == 0 && make_room(sketch, bin, bin + 1) == 0))
        sketch->bins[bin - sketch->first] += times;
}

void sketch_add_n(struct sketch *sketch, int64_t ns, uint64_t times)
{
    if (LIKELY(times == 1))
        add(sketch, ns > 0 ? ns : 0, 1);
    else if (times > 0)
        add(sketch, ns > 0 ? ns : 0, times);
}

void sketch_add(struct sketch *sketch, int64_t ns)
{
    add(sketch, ns > 0 ? ns : 0, 1);
}

void sketch_merge(struct sketch *to, const struct sketch *from)
{
    if (from->count == 0)
        return;
    add_totals(to, from->count, from->sum_ns, from->min_ns, from->max_ns);
    to->below += from->below;
    to->above += from->above;
    if (to->error == 0)
        to->error = from->error;
    if (to->error != 0 || from->bin_count == 0)
        return;
    if (make_room(to, from->first, from->first + from->bin_count) != 0)
        return;
    for (int32_t i = 0; i < from->bin_count; i++)
        to->bins[from->first - to->first + i] += from->bins[i];
}

bool sketch_restore_bin(struct sketch *sketch, uint64_t bin, uint64_t times)
{
    if (bin < (uint64_t)bin_of(LEAST_NS) || bin > (uint64_t)bin_of(MOST_NS))
        return false;
    if (make_room(sketch, (int32_t)bin, (int32_t)bin + 1) != 0)
        return false;
    sketch->bins[(int32_t)bin - sketch->first] += times;
    return true;
}

double sketch_quantile(const struct sketch *sketch, double q)
{
    if (sketch->count == 0 || sketch->error != 0)
        return NAN;
    double place = floor(fmin(fmax(q, 0), 1) * (double)(sketch->count - 1));
    uint64_t rank = (uint64_t)place;
    if (rank == 0 || rank < sketch->below)
        return (double)sketch->min_ns;
    uint64_t before = sketch->below;
    for (int32_t i = 0; i < sketch->bin_count; i++) {
        before += sketch->bins[i];
        if (rank < before && rank + 1 < sketch->count) {
            double value = value_of_bin(sketch->first + i);
            return fmin(fmax(value, (double)sketch->min_ns), (double)sketch->max_ns);
        }
    }
    return (double)sketch->max_ns;
}

double sketch_bin_begin(const struct sketch *sketch, int32_t index)
{
    return low_end_of(sketch->first + index);
}

/* From the first to the last bin that holds anything, as bars of equally many bins. */
static size_t bars_of_bins(const struct sketch *sketch, struct sketch_bar *out, size_t most)
{
    int32_t first = 0, end = sketch->bin_count;
    while (first < end && sketch->bins[first] == 0)
        first++;
    while (end > first && sketch->bins[end - 1] == 0)
        end--;
    const int32_t each = (int32_t)(((size_t)(end - first) + most - 1) / most);
    size_t count = 0;
    for (int32_t at = first; at < end; at += each, count++) {
        const int32_t last = at + each < end ? at + each : end;
        out[count] = (struct sketch_bar){low_end_of(sketch->first + at),
                                         low_end_of(sketch->first + last), 0};
        for (int32_t i = at; i < last; i++)
            out[count].count += sketch->bins[i];
    }
    return count;
}

size_t sketch_bars(const struct sketch *sketch, struct sketch_bar *out, size_t most)
{
    size_t count = 0;

    if (sketch->count == 0 || sketch->error != 0)
        return 0;
    if (sketch->below > 0)
        out[count++] = (struct sketch_bar){0, (double)LEAST_NS, sketch->below};
    count += bars_of_bins(sketch, out + count, most - 2);
    if (sketch->above > 0)
        out[count++] = (struct sketch_bar){(double)MOST_NS, 0, sketch->above};
    out[0].low_ns = (double)sketch->min_ns;
    out[count - 1].high_ns = (double)sketch->max_ns;
    return count;
}

double sketch_mean(const struct sketch *sketch)
{
    return sketch->count > 0 ? (double)sketch->sum_ns / (double)sketch->count : 0;
}
