/* Charts as SVG: a frame with axes, and shapes in it.
 *
 * The width is that of the page: x is a share of it, so that labels keep their size on any screen;
 * y is in pixels. Shapes are in an inner image that is stretched, 1000 wide. Colours and lines are
 * of classes: page.css has them, since the page allows no style attributes. */
#ifndef HTML_SVG_H
#define HTML_SVG_H

#include <stdbool.h>
#include <stddef.h>

#include "html/html.h"

enum { SVG_WIDTH = 1000, SVG_TICKS = 12 };

struct svg_plot {
    struct html *html;
    unsigned height; /* of the shapes, in pixels */
    double left, right;
    double top; /* what the uppermost pixel stands for */
};

/* Round numbers from `low` to `high`, about `wanted` of them and at most SVG_TICKS; returns how
 * many. */
size_t svg_ticks(double low, double high, unsigned wanted, double out[SVG_TICKS]);

/* The next round number that is not less: where an axis may end. */
double svg_round_up(double value);

/* Begins a chart; `name` is what the script calls it, `label` what it shows, both our own words.
 * Then the axes; then the shapes. */
void svg_begin(struct svg_plot *plot, const char *name, const char *label);
void svg_axis_x_time(const struct svg_plot *plot); /* left and right are seconds */
void svg_axis_y(const struct svg_plot *plot, const char *unit, double unit_size);
void svg_tick_x(const struct svg_plot *plot, double x, const char *text, const char *class);
/* At the upper edge: something is beyond it; `text` of ours says what. */
void svg_mark(const struct svg_plot *plot, double x, const char *text);
void svg_shapes(const struct svg_plot *plot);
void svg_end(const struct svg_plot *plot);

/* Places in the shapes. */
double svg_x(const struct svg_plot *plot, double x);
double svg_y(const struct svg_plot *plot, double y);

/* A path is begun, gets its parts and is ended: boxes, or levels of a line, which may be joined to
 * the one before. */
void svg_path_begin(const struct svg_plot *plot, const char *class);
void svg_path_box(const struct svg_plot *plot, double from, double to, double low, double high);
void svg_path_level(const struct svg_plot *plot, double from, double to, double y, bool joined);
void svg_path_end(const struct svg_plot *plot);

#endif
