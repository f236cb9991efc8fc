#include "html/svg.h"

#include <math.h>
#include <stdio.h>

#include "render/units.h"

enum { AXIS_HEIGHT = 22, LABEL_DROP = 16, X_TICKS = 5, Y_TICKS = 4 };
static const double LARGE = 10000; /* from here on a number is "12.3 k" */

/* 1, 2 or 5 and zeros: the nearest. */
static double round_step(double step)
{
    const double power = pow(10, floor(log10(step)));
    const double digit = step / power;

    return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}

size_t svg_ticks(double low, double high, unsigned wanted, double out[SVG_TICKS])
{
    size_t count = 0;

    if (!(high > low) || wanted == 0 || !isfinite(high - low))
        return 0;
    const double step = round_step((high - low) / wanted);
    const double first = ceil(low / step - 1e-9);
    for (int i = 0; i < SVG_TICKS; i++) {
        const double value = (first + i) * step;
        if (value > high + step * 1e-9)
            break;
        out[count++] = value == 0 ? 0 : value; /* never -0 */
    }
    return count;
}

double svg_round_up(double value)
{
    if (!(value > 0) || !isfinite(value))
        return 1;
    const double step = round_step(value / Y_TICKS);
    return step * ceil(value / step - 1e-9);
}

double svg_x(const struct svg_plot *plot, double x)
{
    const double width = plot->right - plot->left;
    const double share = width > 0 ? (x - plot->left) / width : 0;

    return SVG_WIDTH * fmin(fmax(share, 0), 1);
}

double svg_y(const struct svg_plot *plot, double y)
{
    const double share = plot->top > 0 ? y / plot->top : 0;

    return plot->height * (1 - fmin(fmax(share, 0), 1));
}

void svg_begin(struct svg_plot *plot, const char *name, const char *label)
{
    html_printf(plot->html,
                "<div class=\"plot\" data-chart=\"%s\">"
                "<svg class=\"frame\" width=\"100%%\" height=\"%u\" role=\"img\" "
                "aria-label=\"%s\">\n",
                name, plot->height + AXIS_HEIGHT, label);
}

void svg_tick_x(const struct svg_plot *plot, double x, const char *text, const char *class)
{
    const double percent = svg_x(plot, x) * 100 / SVG_WIDTH;

    html_printf(plot->html,
                "<line class=\"%s\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"%u\"/>"
                "<text class=\"x\" x=\"%.2f%%\" y=\"%u\">",
                class, percent, percent, plot->height + 4, percent, plot->height + LABEL_DROP);
    html_text(plot->html, text);
    html_markup(plot->html, "</text>\n");
}

/* Seconds, minutes or hours: one unit for all ticks. */
void svg_axis_x_time(const struct svg_plot *plot)
{
    const double length = plot->right - plot->left;
    const double unit = plot->right < 300 ? 1 : plot->right < 3 * 3600 ? 60 : 3600;
    const char *name = unit == 1 ? "s" : unit == 60 ? "min" : "h";
    double tick[SVG_TICKS];
    char text[64];

    const size_t count =
        length > 0 ? svg_ticks(plot->left / unit, plot->right / unit, X_TICKS, tick) : 0;
    for (size_t i = 0; i < count; i++) {
        snprintf(text, sizeof text, "%.10g %s", tick[i], name);
        svg_tick_x(plot, tick[i] * unit, text, "grid");
    }
}

/* A line across the chart and what it stands for. */
static void put_level(const struct svg_plot *plot, double value, const char *text)
{
    const double y = svg_y(plot, value);

    html_printf(plot->html,
                "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text class=\"y\" x=\"-6\" y=\"%.1f\">%s</text>\n",
                y, y, y + 4, text);
}

void svg_axis_y(const struct svg_plot *plot, const char *unit, double unit_size)
{
    double tick[SVG_TICKS];
    const size_t count = svg_ticks(0, plot->top / unit_size, Y_TICKS, tick);
    char text[64];

    for (size_t i = 0; i < count; i++) {
        const bool is_last = i + 1 == count;
        if (tick[i] >= LARGE)
            units_count(text, (uint64_t)tick[i]);
        else
            snprintf(text, sizeof text, "%.10g%s%s", tick[i], is_last && *unit ? " " : "",
                     is_last ? unit : "");
        put_level(plot, tick[i] * unit_size, text);
    }
}

void svg_mark(const struct svg_plot *plot, double x, const char *text)
{
    html_printf(plot->html, "<text class=\"x beyond\" x=\"%.2f%%\" y=\"-1\">\u25b2<title>",
                svg_x(plot, x) * 100 / SVG_WIDTH);
    html_text(plot->html, text);
    html_markup(plot->html, "</title></text>\n");
}

void svg_shapes(const struct svg_plot *plot)
{
    html_printf(plot->html,
                "<svg class=\"shapes\" width=\"100%%\" height=\"%u\" "
                "viewBox=\"0 0 %d %u\" preserveAspectRatio=\"none\">\n",
                plot->height, SVG_WIDTH, plot->height);
}

void svg_end(const struct svg_plot *plot)
{
    html_markup(plot->html, "</svg></svg></div>\n");
}

void svg_path_begin(const struct svg_plot *plot, const char *class)
{
    html_printf(plot->html, "<path class=\"%s\" d=\"", class);
}

void svg_path_box(const struct svg_plot *plot, double from, double to, double low, double high)
{
    const double left = svg_x(plot, from), right = svg_x(plot, to);
    const double bottom = svg_y(plot, low);
    /* a pixel at least, each way: what is there can be seen */
    const double wide = fmax(right, left + 0.8);
    const double upper = fmin(svg_y(plot, high), bottom - 1);

    html_printf(plot->html, "M%.1f %.1fH%.1fV%.1fH%.1fZ", left, upper, wide, bottom, left);
}

void svg_path_level(const struct svg_plot *plot, double from, double to, double y, bool joined)
{
    const double height = svg_y(plot, y);

    if (joined)
        html_printf(plot->html, "V%.1fH%.1f", height, svg_x(plot, to));
    else
        html_printf(plot->html, "M%.1f %.1fH%.1f", svg_x(plot, from), height, svg_x(plot, to));
}

void svg_path_end(const struct svg_plot *plot)
{
    html_markup(plot->html, "\"/>\n");
}
