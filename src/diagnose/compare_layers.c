#include "diagnose/compare_layers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/compare.h"

static const double least_share = 0.005; /* of the step */
static const double layer_matters = 0.01;
static const double WIDTH_IN_ERRORS = 1.96;

bool compare_layers_take(struct compare_layers *out, const struct snap_loop *loop)
{
    *out = (struct compare_layers){0};
    out->has_backward = !loop->layers.no_backward;
    out->layer = calloc(loop->layers.count + 1, sizeof *out->layer);
    for (size_t i = 0; out->layer && i < loop->layers.count; i++) {
        const struct snap_layer *row = &loop->layers.rows[i];
        if (row->is_inner || !(row->share.mid >= least_share))
            continue;
        struct compare_layer *layer = &out->layer[out->count];
        const double ns = row->forward_ns + row->backward_ns;
        const double width = (row->share.high - row->share.mid) / row->share.mid;
        layer->path = strdup(row->path);
        layer->ns = ns;
        layer->error_ns = ns * (isfinite(width) ? width / WIDTH_IN_ERRORS : 1);
        if (!layer->path)
            return false;
        out->count++;
    }
    return out->layer != NULL;
}

void compare_layers_release(struct compare_layers *layers)
{
    for (size_t i = 0; i < layers->count; i++)
        free(layers->layer[i].path);
    free(layers->layer);
    *layers = (struct compare_layers){0};
}

/* Of one layer on one side: a value of each run that has it. */
struct arm {
    double value[COMPARE_MOST_RUNS], error[COMPARE_MOST_RUNS];
    size_t count;
    double mean_ns, spread; /* spread: what runs of the same thing differ by, as a share */
};

static const struct compare_layer *find(const struct compare_layers *layers, const char *path)
{
    for (size_t i = 0; i < layers->count; i++)
        if (strcmp(layers->layer[i].path, path) == 0)
            return &layers->layer[i];
    return NULL;
}

static struct arm arm_of(const struct compare_side *side, const char *path, bool per_sample)
{
    struct arm arm = {.count = 0};
    double sum = 0;

    for (size_t i = 0; i < side->count; i++) {
        const struct compare_run *run = &side->runs[i];
        const struct compare_layer *layer = find(&run->layers, path);
        const double unit = per_sample ? run->samples : 1;
        if (!layer)
            continue;
        arm.value[arm.count] = layer->ns / unit;
        arm.error[arm.count] = layer->error_ns / unit;
        sum += arm.value[arm.count++];
        arm.spread = hypot(arm.spread, run->run_sigma);
    }
    arm.mean_ns = arm.count ? sum / (double)arm.count : NAN;
    arm.spread /= arm.count ? (double)arm.count : 1;
    return arm;
}

static struct compare_row compare_arm_pair(const struct comparison *with, const struct arm *a,
                                           const struct arm *b)
{
    const double step_ns = with->row[COMPARE_STEP].a_ns;
    struct compare_row row = {.in_a = a->count > 0,
                              .in_b = b->count > 0,
                              .a_ns = a->mean_ns,
                              .b_ns = b->mean_ns,
                              .change = {NAN, NAN, NAN},
                              .chance = NAN};
    if (!row.in_a || !row.in_b)
        return row;
    const struct compare_arm one = {a->value, a->error, a->count, a->spread * a->mean_ns, 0};
    const struct compare_arm other = {b->value, b->error, b->count, b->spread * b->mean_ns, 0};
    const struct compare_gap gap = compare_arms(&one, &other);
    const struct interval found = compare_interval(&gap.difference);
    row.change = (struct interval){found.low / step_ns, found.mid / step_ns, found.high / step_ns};
    row.chance = compare_chance(&gap.difference);
    return row;
}

static double size_of(const struct compare_row *row)
{
    const double a = row->in_a ? row->a_ns : 0, b = row->in_b ? row->b_ns : 0;
    return fabs(b - a);
}

static int by_change(const void *x, const void *y)
{
    const double a = size_of(&((const struct compare_layer_row *)x)->row);
    const double b = size_of(&((const struct compare_layer_row *)y)->row);
    return (a < b) - (a > b);
}

/* Layers of which one run has the backward pass and the other has not are no pairs. */
static bool can_be_compared(const struct compare_side *a, const struct compare_side *b)
{
    return a->runs[0].layers.count > 0 && b->runs[0].layers.count > 0 &&
           a->runs[0].layers.has_backward == b->runs[0].layers.has_backward;
}

static size_t add_side(struct compare_layer_row *rows, size_t count,
                       const struct compare_layers *layers)
{
    for (size_t i = 0; i < layers->count; i++) {
        size_t k = 0;
        while (k < count && strcmp(rows[k].path, layers->layer[i].path) != 0)
            k++;
        if (k == count && count < COMPARE_LAYERS_MOST)
            rows[count++].path = layers->layer[i].path;
    }
    return count;
}

size_t compare_layer_rows(const struct comparison *with, const struct compare_side *a,
                          const struct compare_side *b,
                          struct compare_layer_row rows[COMPARE_LAYERS_MOST])
{
    const bool is_blind = with->unsteady && with->level == COMPARE_INDICATION;
    double chance[COMPARE_LAYERS_MOST];
    size_t count = add_side(rows, 0, &a->runs[0].layers);

    count = add_side(rows, count, &b->runs[0].layers);
    if (!can_be_compared(a, b))
        return 0;
    for (size_t i = 0; i < count; i++) {
        const struct arm one = arm_of(a, rows[i].path, with->per_sample);
        const struct arm other = arm_of(b, rows[i].path, with->per_sample);
        rows[i].row = compare_arm_pair(with, &one, &other);
    }
    qsort(rows, count, sizeof *rows, by_change);
    for (size_t i = 0; i < count; i++)
        chance[i] = rows[i].row.chance;
    compare_correct(chance, count);
    for (size_t i = 0; i < count; i++) {
        struct compare_row *row = &rows[i].row;
        row->chance = chance[i];
        if (!is_blind && row->in_a && row->in_b)
            row->word = compare_judge(row->change, row->chance, layer_matters);
    }
    return count;
}
