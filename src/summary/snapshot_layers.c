#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "summary/snapshot_parts.h"

/* What the time of layers is a part of, cell by cell: own time of the stages in the stretches, and
 * what turns it into a mean of a steady step. */
struct whole {
    int cells;
    double scale[LAYER_PASSES];
    double ns[LAYER_CELLS]; /* scaled */
    double sum_ns;          /* scaled */
    double step_ns;         /* that part of a steady step */
};

static double sum_of(const struct loop_layers *layers, int stage)
{
    double sum = 0;
    for (int i = 0; i < layers_cells(layers); i++)
        sum += (double)layers->stage_ns[i][stage];
    return sum;
}

static double mean_of(const struct snap_loop *loop, int stage)
{
    return loop->stage[stage].measured && loop->stage[stage].mean_ns > 0
               ? loop->stage[stage].mean_ns
               : 0;
}

/* A framework that runs forward, backward and update in one call has them in `compute`. */
static struct whole find_whole(const struct loop_layers *layers, const struct snap_loop *loop)
{
    static const int apart[LAYER_PASSES] = {SS_STAGE_FORWARD, SS_STAGE_BACKWARD};
    struct whole whole = {.cells = layers_cells(layers)};
    const bool is_one = sum_of(layers, SS_STAGE_FORWARD) <= 0;
    for (int pass = 0; pass < LAYER_PASSES; pass++) {
        const int stage = is_one ? SS_STAGE_COMPUTE : apart[pass];
        const double sum = sum_of(layers, stage);
        whole.scale[pass] = sum > 0 ? mean_of(loop, stage) / sum : 0;
        if (is_one && pass > 0)
            break;
        whole.step_ns += sum > 0 ? mean_of(loop, stage) : 0;
        for (int i = 0; i < whole.cells; i++)
            whole.ns[i] += whole.scale[pass] * (double)layers->stage_ns[i][stage];
    }
    for (int i = 0; i < whole.cells; i++)
        whole.sum_ns += whole.ns[i];
    return whole;
}

static double at_least_0(double value)
{
    return value > 0 ? value : 0;
}

/* Why nothing of the backward pass is of a layer; NULL: it is, or there is no such pass. */
static const char *why_no_backward(const struct loop_layers *layers, const struct snap_loop *loop,
                                   const char *reason)
{
    int64_t found_ns = 0;
    for (uint32_t i = 0; i < layers->count; i++)
        for (int k = 0; k < layers_cells(layers); k++)
            saturate_add(&found_ns, layers->node[i].cell_ns[k][LAYER_BACKWARD]);
    if (sum_of(layers, SS_STAGE_FORWARD) <= 0)
        return found_ns > 0
                   ? NULL
                   : "forward, backward and update are one call of the framework, of which only forward calls layers";
    if (mean_of(loop, SS_STAGE_BACKWARD) <= 0)
        return NULL;
    return reason ? reason : found_ns > 0 ? NULL : "no part of it could be assigned to a layer";
}

/* The share of the stages, whose mean is known, times their part of the step. */
static void fill_times(const struct layer_node *node, const struct whole *whole, double step_ns,
                       int passes, struct snap_layer *out)
{
    double part[LAYER_CELLS], scratch[3 * LAYER_CELLS], ns[LAYER_PASSES] = {0};
    for (int i = 0; i < whole->cells; i++) {
        part[i] = 0;
        for (int pass = 0; pass < passes; pass++) {
            const double in_pass = whole->scale[pass] * (double)node->cell_ns[i][pass];
            part[i] += in_pass;
            ns[pass] += in_pass;
        }
    }
    out->forward_ns = ns[LAYER_FORWARD];
    out->backward_ns = ns[LAYER_BACKWARD];
    const double of_step = step_ns > 0 ? whole->step_ns / step_ns : NAN;
    const struct interval share = interval_ratio(part, whole->ns, (size_t)whole->cells, scratch);
    out->share.mid = share.mid * of_step;
    out->share.low = at_least_0(share.low * of_step);
    out->share.high = share.high * of_step;
}

/* Places of the nodes, each before what is below it, those of one parent as they were found. */
static void put_below(const struct loop_layers *layers, uint32_t parent, uint32_t *order,
                      uint32_t *count)
{
    for (uint32_t i = parent; i < layers->count; i++) /* what is below was found later */
        if (layers->node[i].parent == parent) {
            order[(*count)++] = i;
            put_below(layers, i + 1, order, count);
        }
}

/* The outermost module that has layers; NULL: there are several. */
static const char *only_root(const struct loop_layers *layers)
{
    uint32_t root = 0;
    for (uint32_t i = 0; i < layers->count; i++) {
        if (layers->node[i].depth != 1)
            continue;
        if (root && layers->node[i].parent != root)
            return NULL;
        root = layers->node[i].parent;
    }
    return root ? layers->node[root - 1].path : NULL;
}

/* So layer_names.c ends the class of what is compiled. */
static const char COMPILED[] = ", compiled";

static bool take_end(char *text, const char *end)
{
    const size_t bytes = strlen(text), of_end = strlen(end);
    if (bytes < of_end || strcmp(text + bytes - of_end, end) != 0)
        return false;
    text[bytes - of_end] = '\0';
    return true;
}

static bool fill_row(const struct snap_loop *loop, const struct loop_layers *layers,
                     const struct layer_node *node, const char *root, struct snap_layer *out)
{
    const size_t skipped = root && node->depth > 0 ? strlen(root) + 1 : 0;
    out->path = strdup(node->path + skipped);
    out->kind = strdup(node->kind ? node->kind : "");
    out->is_compiled = out->kind && take_end(out->kind, COMPILED);
    out->depth = node->depth;
    out->calls =
        (double)node->calls / (double)layers->stretches *
        (loop->steps > 0 && loop->updates > 0 ? (double)loop->updates / (double)loop->steps : 1);
    return out->path && out->kind;
}

static bool fill_rows(const struct loop_layers *layers, struct snap_loop *loop, uint32_t *order,
                      uint32_t *place)
{
    struct snap_layers *out = &loop->layers;
    const struct whole whole = find_whole(layers, loop);
    const char *root = only_root(layers);
    const int passes = out->no_backward ? LAYER_BACKWARD : LAYER_PASSES;
    uint32_t count = 0;
    double covered_ns = 0;
    put_below(layers, 0, order, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct layer_node *node = &layers->node[order[i]];
        struct snap_layer *row = &out->rows[out->count++];
        place[order[i]] = i + 1;
        if (!fill_row(loop, layers, node, root, row))
            return false;
        fill_times(node, &whole, loop->step_ns.mid, passes, row);
        row->parent = node->parent ? place[node->parent - 1] : 0;
        if (row->parent) {
            out->rows[row->parent - 1].is_inner = true;
            out->rows[row->parent - 1].is_compiled = false; /* the compiler left it to Python */
        } else {
            covered_ns += row->forward_ns + row->backward_ns;
        }
    }
    out->coverage = whole.sum_ns > 0 ? covered_ns / whole.sum_ns : NAN;
    return true;
}

enum { FEW_UPDATES = 20 };

static const char *reason_of(const struct snap_loop *loop)
{
    return loop->stage[SS_STAGE_COMPUTE].measured    ? "the framework compiles a step as a whole"
           : !loop->stage[SS_STAGE_FORWARD].measured ? "nothing told of layers that were called"
           : loop->updates < FEW_UPDATES
               ? "too few updates to sample one"
               : "a sampled step would have cost more than a thousandth of so short a run; STEPSCOPE_LAYERS=20 samples every 20th";
}

bool snapshot_fill_layers(const struct loop_layers *layers, const char *reason,
                          const char *reason_backward, struct snap_loop *loop)
{
    struct snap_layers *out = &loop->layers;
    out->coverage = NAN;
    if (!layers || layers->stretches == 0 || layers->count == 0) {
        out->reason = strdup(reason ? reason : reason_of(loop));
        return out->reason != NULL;
    }
    const char *without = why_no_backward(layers, loop, reason_backward);
    out->no_backward = without ? strdup(without) : NULL;
    uint32_t *order = calloc(layers->count, sizeof *order);
    uint32_t *place = calloc(layers->count, sizeof *place);
    out->rows = calloc(layers->count, sizeof *out->rows);
    out->stretches = layers->stretches;
    out->cost_ns = layers->cost_ns;
    const bool is_fine = (out->no_backward || !without) && order && place && out->rows &&
                         fill_rows(layers, loop, order, place);
    free(order);
    free(place);
    return is_fine;
}

void snapshot_release_layers(struct snap_layers *layers)
{
    for (size_t i = 0; i < layers->count; i++) {
        free(layers->rows[i].path);
        free(layers->rows[i].kind);
    }
    free(layers->rows);
    free(layers->reason);
    free(layers->no_backward);
}
