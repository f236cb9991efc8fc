/* Inside the step: layers as an icicle, each as wide as its time and above what is in it; and the
 * same again from each heavy layer on, to be opened, so that one can look closer without a
 * script. */
#include <stdlib.h>

#include "html/html_parts.h"

enum { ROWS_MOST = 6, CLOSER_ROWS = 3, CLOSER_MOST = 40, ROW_HEIGHT = 24, PASS_HEIGHT = 5 };
enum { COLUMNS = 120, NAME_MOST = 100 };
static const double least_width = 0.003, least_label = 0.03;
/* The least share of the step for a layer that opens. */
static const double worth_looking = 0.01;

struct icicle {
    struct html *html;
    const struct snap_layers *layers;
    struct scale scale;
    uint32_t first_depth, rows;
};

static double time_of(const struct snap_layer *layer)
{
    return layer->forward_ns + layer->backward_ns;
}

static void put_numbers(const struct icicle *icicle, const struct snap_layer *layer)
{
    char forward[UNITS_SIZE], backward[UNITS_SIZE], share[UNITS_SIZE];

    html_printf(icicle->html, "%s %s forward, %s backward, %s of the step",
                scale_text(forward, layer->forward_ns, icicle->scale), icicle->scale.unit.name,
                scale_text(backward, layer->backward_ns, icicle->scale),
                share_text(share, layer->share.mid));
}

static void put_name(struct html *html, const struct snap_layer *layer, const char *name,
                     size_t columns)
{
    struct buf text = {0};

    buf_add_text(&text, name);
    if (layer->kind[0])
        buf_printf(&text, " (%s)", layer->kind);
    html_bytes(html, buf_text(&text), text.size, columns);
    buf_release(&text);
}

static void put_box(const struct icicle *icicle, const struct snap_layer *layer, double from,
                    double width)
{
    struct html *html = icicle->html;
    const unsigned y = (layer->depth - icicle->first_depth) * ROW_HEIGHT;
    const double forward = width * layer->forward_ns / time_of(layer);

    html_markup(html, "<g><title>");
    put_name(html, layer, layer->path, NAME_MOST);
    html_markup(html, ": ");
    put_numbers(icicle, layer);
    html_printf(html,
                "</title><rect class=\"layer\" x=\"%.3f%%\" width=\"%.3f%%\" y=\"%u\" "
                "height=\"%d\"/>"
                "<rect class=\"s-forward\" x=\"%.3f%%\" width=\"%.3f%%\" y=\"%u\" height=\"%d\"/>"
                "<rect class=\"s-backward\" x=\"%.3f%%\" width=\"%.3f%%\" y=\"%u\" "
                "height=\"%d\"/>",
                100 * from, 100 * width, y, ROW_HEIGHT - 1, 100 * from, 100 * forward,
                y + ROW_HEIGHT - 1 - PASS_HEIGHT, PASS_HEIGHT, 100 * (from + forward),
                100 * (width - forward), y + ROW_HEIGHT - 1 - PASS_HEIGHT, PASS_HEIGHT);
    if (width >= least_label) {
        html_printf(html, "<text class=\"name\" x=\"%.3f%%\" y=\"%u\" dx=\"4\">", 100 * from,
                    y + 14);
        put_name(html, layer, report_layer_tail(layer), (size_t)(width * COLUMNS));
        html_markup(html, "</text>");
    }
    html_markup(html, "</g>\n");
}

/* The layer and what is in it, from left to right in the order of their calls. */
static void put_boxes(const struct icicle *icicle, size_t number, double from, double width)
{
    const struct snap_layers *layers = icicle->layers;
    const struct snap_layer *layer = &layers->rows[number];

    if (width < least_width || layer->depth - icicle->first_depth >= icicle->rows)
        return;
    put_box(icicle, layer, from, width);
    for (size_t i = number + 1; i < layers->count && layers->rows[i].depth > layer->depth; i++) {
        if (layers->rows[i].parent != number + 1)
            continue;
        const double own = width * time_of(&layers->rows[i]) / time_of(layer);
        put_boxes(icicle, i, from, own);
        from += own;
    }
}

static uint32_t rows_below(const struct snap_layers *layers, size_t number, uint32_t most)
{
    const uint32_t depth = layers->rows[number].depth;
    uint32_t rows = 1;

    for (size_t i = number + 1; i < layers->count && layers->rows[i].depth > depth; i++)
        if (layers->rows[i].depth - depth + 1 > rows)
            rows = layers->rows[i].depth - depth + 1;
    return rows < most ? rows : most;
}

static void put_svg(struct icicle *icicle, uint32_t rows)
{
    icicle->rows = rows;
    html_printf(icicle->html,
                "<svg class=\"icicle\" width=\"100%%\" height=\"%u\" role=\"img\" "
                "aria-label=\"layers, each as wide as its time\">\n",
                rows * ROW_HEIGHT);
}

/* All outermost modules beside each other. */
static void put_whole(struct icicle *icicle)
{
    const struct snap_layers *layers = icicle->layers;
    double sum = 0, from = 0;
    uint32_t rows = 1;

    for (size_t i = 0; i < layers->count; i++) {
        const uint32_t below = layers->rows[i].parent ? 0 : rows_below(layers, i, ROWS_MOST);
        sum += layers->rows[i].parent ? 0 : time_of(&layers->rows[i]);
        rows = below > rows ? below : rows;
    }
    icicle->first_depth = 0;
    put_svg(icicle, rows);
    for (size_t i = 0; i < layers->count && sum > 0; i++) {
        if (layers->rows[i].parent || !(time_of(&layers->rows[i]) > 0))
            continue;
        const double width = time_of(&layers->rows[i]) / sum;
        put_boxes(icicle, i, from, width);
        from += width;
    }
    html_markup(icicle->html, "</svg>\n");
}

/* What one may open, with what is in it. */
static void put_closer(struct icicle *icicle, size_t number, unsigned *left)
{
    const struct snap_layers *layers = icicle->layers;
    const struct snap_layer *layer = &layers->rows[number];
    struct html *html = icicle->html;

    if (!layer->is_inner || !(layer->share.mid >= worth_looking) || *left == 0)
        return;
    --*left;
    html_markup(html, "<details><summary>");
    put_name(html, layer, layer->path, NAME_MOST);
    html_markup(html, " <small>");
    put_numbers(icicle, layer);
    html_markup(html, "</small></summary>\n");
    icicle->first_depth = layer->depth;
    put_svg(icicle, rows_below(layers, number, CLOSER_ROWS));
    put_boxes(icicle, number, 0, 1);
    html_markup(html, "</svg>\n");
    for (size_t i = number + 1; i < layers->count && layers->rows[i].depth > layer->depth; i++)
        if (layers->rows[i].parent == number + 1)
            put_closer(icicle, i, left);
    html_markup(html, "</details>\n");
}

void html_layers(struct html_page *page)
{
    const struct snap_loop *loop = page->report.loop;
    unsigned left = CLOSER_MOST;

    if (!loop || loop->layers.count == 0 || !(loop->step_ns.mid > 0))
        return;
    report_layers(&page->report);
    html_medium_end(page);
    struct icicle icicle = {.html = &page->html,
                            .layers = &loop->layers,
                            .scale = scale_for(loop->step_ns.mid / 10, loop->step_ns.mid)};
    html_markup(&page->html, "<figure class=\"layers\"><figcaption>Each layer is as wide as its "
                             "time, above what it calls; the stripe below its name is forward, "
                             "then backward. Open a layer to look closer.</figcaption>\n");
    put_whole(&icicle);
    for (size_t i = 0; i < loop->layers.count; i++)
        if (!loop->layers.rows[i].parent)
            put_closer(&icicle, i, &left);
    html_markup(&page->html, "</figure>\n");
}
