/* How long steps take: a histogram of the steady ones. Its bins grow with the time (each ends at
 * the same multiple of its begin), so that a long tail and the bulk are seen in one chart. */
#include <math.h>
#include <stdio.h>

#include "html/html_parts.h"
#include "html/svg.h"

enum { BINS_MOST = 60, BINS_LEAST = 4, HEIGHT = 160, LINE_HEIGHT = 13 };
static const double finest = 1.02;   /* end over begin of a bin: sketches know no more */
static const double bars_most = 0.7; /* of the height: names of quantiles are above */

struct spread {
    double low, high; /* logarithms of times */
    size_t bins;
    double count[BINS_MOST];
    double largest;
};

static double bin_place(const struct spread *spread, double ns)
{
    return (log(ns) - spread->low) / (spread->high - spread->low) * (double)spread->bins;
}

/* A bin of the sketch may lie in several of ours: each gets its part. */
static void add_bin(struct spread *spread, double begin_ns, double end_ns, double count)
{
    const double from = fmax(bin_place(spread, begin_ns), 0);
    const double to = fmin(bin_place(spread, end_ns), (double)spread->bins);

    for (size_t i = (size_t)from; (double)i < to; i++) {
        const double part = fmin(to, (double)(i + 1)) - fmax(from, (double)i);
        if (part > 0)
            spread->count[i] += count * part / (to - from);
    }
}

static bool find_spread(struct spread *spread, const struct sketch *times)
{
    const double low = fmax((double)times->min_ns, 100), high = (double)times->max_ns;

    *spread = (struct spread){0};
    if (times->count == 0 || times->error || !(high > 0))
        return false;
    const double middle = sqrt(low * fmax(high, low)), ratio = fmax(high / low, 1);
    const double least = pow(finest, BINS_LEAST);
    const double width = fmax(ratio, least) * finest;
    spread->low = log(middle) - log(width) / 2;
    spread->high = log(middle) + log(width) / 2;
    spread->bins = (size_t)fmin(BINS_MOST, log(width) / log(finest));
    for (int32_t i = 0; i < times->bin_count; i++)
        if (times->bins[i] > 0)
            add_bin(spread, sketch_bin_begin(times, i), sketch_bin_begin(times, i + 1),
                    (double)times->bins[i]);
    for (size_t i = 0; i < spread->bins; i++)
        spread->largest = fmax(spread->largest, spread->count[i]);
    return spread->largest > 0;
}

/* Round times: evenly spaced; 1, 2, 5, 10, ... if they reach further; only powers of 10 beyond
 * that. */
static size_t find_ticks(double low, double high, double tick[SVG_TICKS])
{
    static const int digits[] = {1, 2, 5};
    const size_t used = high / low < 200 ? 3 : 1;
    size_t count = 0;

    if (high / low < 4)
        return svg_ticks(low, high, 4, tick);
    for (int power = (int)floor(log10(low)); power <= (int)log10(high); power++)
        for (size_t k = 0; k < used && count < SVG_TICKS; k++) {
            const double value = digits[k] * pow(10, power);
            if (value >= low && value <= high)
                tick[count++] = value;
        }
    return count;
}

static void put_axis(const struct svg_plot *plot, const struct spread *spread)
{
    double tick[SVG_TICKS];
    const size_t count = find_ticks(exp(spread->low), exp(spread->high), tick);
    char text[UNITS_SIZE];

    for (size_t i = 0; i < count; i++)
        svg_tick_x(plot, log(tick[i]), units_duration(text, (int64_t)(tick[i] + 0.5)), "grid");
}

struct mark {
    const char *name;
    double ns;
};

static double percent_of(const struct svg_plot *plot, double ns)
{
    return svg_x(plot, log(ns)) * 100 / SVG_WIDTH;
}

static void put_mark(const struct svg_plot *plot, const struct mark *mark)
{
    const double percent = percent_of(plot, mark->ns);

    html_printf(plot->html,
                "<line class=\"quantile\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" "
                "y2=\"%u\"/>\n",
                percent, percent, plot->height);
}

static void put_mark_text(const struct svg_plot *plot, const struct mark *mark, size_t line)
{
    const double percent = percent_of(plot, mark->ns);
    char text[UNITS_SIZE];

    html_printf(plot->html,
                "<text class=\"quantile\" x=\"%.2f%%\" dx=\"%d\" y=\"%zu\" "
                "text-anchor=\"%s\">%s %s</text>\n",
                percent, percent > 80 ? -4 : 4, 10 + LINE_HEIGHT * line,
                percent > 80 ? "end" : "start", mark->name,
                units_duration(text, llround(mark->ns)));
}

/* Lines first, so that none crosses a text out. */
static void put_quantiles(const struct svg_plot *plot, struct snap_quantiles known)
{
    const struct mark marks[] = {
        {"p50", known.p50_ns}, {"p95", known.p95_ns}, {"p99", known.p99_ns}};
    const size_t count = sizeof marks / sizeof marks[0];

    for (size_t i = 0; i < count; i++)
        if (marks[i].ns > 0 && isfinite(marks[i].ns))
            put_mark(plot, &marks[i]);
    for (size_t i = 0; i < count; i++)
        if (marks[i].ns > 0 && isfinite(marks[i].ns))
            put_mark_text(plot, &marks[i], i);
}

static void put_chart(struct html_page *page, const struct spread *spread)
{
    const struct snap_loop *loop = page->report.loop;
    const struct snap_quantiles known =
        report_quantiles(loop->quantiles, (uint64_t)loop->steady_steps);
    struct svg_plot plot = {.html = &page->html,
                            .height = HEIGHT,
                            .left = spread->low,
                            .right = spread->high,
                            .top = svg_round_up(spread->largest / bars_most)};
    const double width = (spread->high - spread->low) / (double)spread->bins;

    svg_begin(&plot, "spread", "how many steady steps took how long");
    put_axis(&plot, spread);
    svg_axis_y(&plot, "", 1);
    svg_shapes(&plot);
    svg_path_begin(&plot, "histogram");
    for (size_t i = 0; i < spread->bins; i++)
        if (spread->count[i] > 0)
            svg_path_box(&plot, spread->low + width * ((double)i + 0.06),
                         spread->low + width * ((double)i + 0.94), 0, spread->count[i]);
    svg_path_end(&plot);
    html_markup(&page->html, "</svg>\n");
    put_quantiles(&plot, known);
    html_markup(&page->html, "</svg></div>\n");
}

void html_spread(struct html_page *page)
{
    const struct snap_loop *loop = page->report.loop;
    struct spread spread;

    if (!loop || !report_has_statistics(loop) || !find_spread(&spread, &loop->times))
        return;
    html_heading(page, "How long steps take",
                 "number of steady steps; the time axis is logarithmic");
    put_chart(page, &spread);
}
