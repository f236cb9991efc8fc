/* Inside the step: how forward and backward divide by layers of the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "render/numbers.h"
#include "render/table.h"
#include "report/report_json.h"
#include "report/report_parts.h"

enum { LAYERS_SHOWN = 20, INDENT = 2 };
static const double LEAST_SHARE = 0.005; /* of the step: less is only in --json */

static int by_share(const void *a, const void *b)
{
    const struct snap_layer *x = *(const struct snap_layer *const *)a;
    const struct snap_layer *y = *(const struct snap_layer *const *)b;
    return x->share.mid > y->share.mid   ? -1
           : x->share.mid < y->share.mid ? 1
           : x < y                       ? -1 /* what is around it */
                                         : x > y;
}

/* The heaviest ones; whatever is around one of them is at least as heavy. NULL: no memory. */
static bool *choose(const struct snap_layers *layers, size_t *shown)
{
    const struct snap_layer **sorted = calloc(layers->count, sizeof *sorted);
    bool *chosen = calloc(layers->count, sizeof *chosen);
    *shown = 0;
    for (size_t i = 0; sorted && i < layers->count; i++)
        sorted[i] = &layers->rows[i];
    if (sorted && chosen) {
        qsort(sorted, layers->count, sizeof *sorted, by_share);
        while (*shown < layers->count && *shown < LAYERS_SHOWN &&
               sorted[*shown]->share.mid >= LEAST_SHARE)
            chosen[sorted[(*shown)++] - layers->rows] = true;
    }
    free(sorted);
    return chosen;
}

const char *report_layer_tail(const struct snap_layer *layer)
{
    const char *dot = strrchr(layer->path, '.');
    return layer->parent && dot ? dot + 1 : layer->path;
}

static void add_row(struct table *table, const struct snap_layer *layer, struct scale scale,
                    bool has_backward)
{
    char text[UNITS_SIZE], high[UNITS_SIZE];
    struct buf name = {0};

    buf_printf(&name, "%*s%s", (int)layer->depth * INDENT, "", report_layer_tail(layer));
    if (layer->kind[0])
        buf_printf(&name, " (%s%s)", layer->kind, layer->is_compiled ? ", compiled" : "");
    table_text(table, buf_text(&name));
    table_cell(table, "%s", scale_text(text, layer->forward_ns, scale));
    table_cell(table, "%s", has_backward ? scale_text(text, layer->backward_ns, scale) : "-");
    table_cell(table, "%s", share_text(text, layer->share.mid));
    if (isfinite(layer->share.low) && isfinite(layer->share.high))
        table_cell(table, "%s to %s", share_text(text, layer->share.low),
                   share_text(high, layer->share.high));
    else
        table_cell(table, "-");
    if (layer->kind[0])
        table_cell(table, "%.3g", layer->calls);
    else
        table_cell(table, "-");
    buf_release(&name);
}

/* What has layers in it, and cannot be divided by them. */
static void say_not_divided(struct report *report)
{
    const struct snap_layers *layers = &report->loop->layers;
    struct buf *value = &report->page.value;
    bool is_compiled = false;

    for (size_t i = 0; i < layers->count; i++)
        is_compiled |= layers->rows[i].is_compiled;
    if (is_compiled) {
        buf_add_text(value,
                     "what is compiled runs as a whole: the layers inside it are not separable");
        report_paragraph(report, false);
    }
    if (layers->no_backward) {
        buf_printf(value, "backward cannot be divided by layer: %s", layers->no_backward);
        report_paragraph(report, false);
    }
}

static void say_sampling(struct report *report, size_t left_out)
{
    const struct snap_layers *layers = &report->loop->layers;
    struct buf *value = &report->page.value;
    char text[UNITS_SIZE];

    buf_add_text(value, "layers were sampled from one update to the next ");
    page_count(&report->page, (uint64_t)layers->stretches, "time", "times");
    if (isfinite(layers->coverage))
        buf_printf(value, "; %s of forward and backward is in one of them",
                   share_text(text, layers->coverage < 1 ? layers->coverage : 1));
    if (left_out > 0) {
        buf_add_text(value, "; --json has ");
        page_count(&report->page, left_out, "more layer", "more layers");
    }
    report_paragraph(report, false);
}

void report_layers(struct report *report)
{
    const struct snap_loop *loop = report->loop;
    struct table table;
    size_t shown;

    if (!loop || loop->layers.count == 0 || !(loop->step_ns.mid > 0))
        return;
    bool *chosen = choose(&loop->layers, &shown);
    if (!chosen || shown == 0) {
        free(chosen);
        return;
    }
    const struct scale scale = scale_for(loop->step_ns.mid / 10, loop->step_ns.mid);
    report_title(report, "Inside the step, by layer: %s", scale.unit.name);
    table_init(&table);
    table_column(&table, "", TABLE_TEXT);
    table_column(&table, "forward", TABLE_NUMBER);
    table_column(&table, "backward", TABLE_NUMBER);
    table_column(&table, "share", TABLE_NUMBER);
    table_optional(&table, "95 % interval", TABLE_NUMBER, 2);
    table_optional(&table, "calls", TABLE_NUMBER, 1);
    for (size_t i = 0; i < loop->layers.count; i++)
        if (chosen[i])
            add_row(&table, &loop->layers.rows[i], scale, !loop->layers.no_backward);
    table_print(&table, &report->page, report->style);
    table_release(&table);
    free(chosen);
    say_not_divided(report);
    say_sampling(report, loop->layers.count - shown);
}

static void put_layer(struct json *json, const struct snap_layer *layer, bool has_backward)
{
    json_begin_object(json, NULL);
    json_string(json, "path", layer->path);
    if (layer->kind[0])
        json_string(json, "class", layer->kind);
    else
        json_null(json, "class");
    json_uint(json, "depth", layer->depth);
    json_bool(json, "compiled", layer->is_compiled);
    json_double(json, "calls", layer->calls);
    json_double(json, "forward_ns", layer->forward_ns);
    json_double(json, "backward_ns", has_backward ? layer->backward_ns : NAN);
    report_json_interval(json, "share", "share_ci", layer->share);
    json_end_object(json);
}

static void put_reason(struct json *json, const char *what, const char *reason)
{
    if (!reason)
        return;
    json_begin_object(json, NULL);
    json_string(json, "what", what);
    json_string(json, "reason", reason);
    json_end_object(json);
}

static void put_inside(struct json *json, const struct snap_layers *layers)
{
    const char *reason = layers->reason ? layers->reason : "there are no steps";

    json_begin_object(json, "inside");
    json_double(json, "coverage", layers->count > 0 ? layers->coverage : NAN);
    json_int(json, "samples", layers->stretches);
    json_int(json, "own_cost_ns", layers->cost_ns);
    json_null(json, "flops_per_s");
    json_null(json, "mfu");
    json_null(json, "tokens_per_s");
    json_begin_array(json, "not_measured");
    put_reason(json, "layers", layers->count > 0 ? NULL : reason);
    put_reason(json, "backward", layers->no_backward);
    put_reason(json, "flops_per_s", "nothing counts floating-point operations");
    put_reason(json, "mfu", "nothing counts floating-point operations");
    put_reason(json, "tokens_per_s", "nothing counts tokens");
    json_end_array(json);
    json_end_object(json);
}

void report_json_layers(struct json *json, const struct snap_layers *layers)
{
    if (layers->count > 0)
        json_begin_array(json, "layers");
    else
        json_null(json, "layers");
    for (size_t i = 0; i < layers->count; i++)
        put_layer(json, &layers->rows[i], !layers->no_backward);
    if (layers->count > 0)
        json_end_array(json);
    put_inside(json, layers);
}
