/* The machine during training: a chart for each unit on the time axis of the steps, and the
 * table. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "html/html_parts.h"
#include "html/svg.h"
#include "report/machine_rows.h"
#include "report/report_parts.h"

enum { HEIGHT = 70, LINES_MOST = 8 };

static double value_at(const struct machine_row *row, size_t place)
{
    return row->resource.course[place] / row->size;
}

/* From `first` on, the rows that share a chart: the same unit, in a row, as many as can be
 * distinguished apart. web/charts.js groups them as well. */
static size_t chart_end(const struct machine_rows *rows, size_t first)
{
    size_t end = first + 1;

    while (end < rows->count && end - first < LINES_MOST &&
           strcmp(rows->row[end].unit, rows->row[first].unit) == 0)
        end++;
    return end;
}

/* The lines of a chart, with their numbers. */
static void put_keys(struct html *html, const struct machine_row *row, size_t count)
{
    char mean[UNITS_SIZE], most[UNITS_SIZE];

    html_markup(html, "<table class=\"lines\"><thead><tr><th></th><th class=\"n\">mean</th>"
                      "<th class=\"n\">most</th><th></th><th></th></tr></thead><tbody>\n");
    for (size_t i = 0; i < count; i++) {
        html_printf(html,
                    "<tr><td><svg class=\"key\" width=\"22\" height=\"12\" "
                    "aria-hidden=\"true\"><path class=\"line l%zu\" d=\"M0 6H22\"/></svg> "
                    "%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td>%s</td><td>",
                    i, row[i].label, digits_text(mean, row[i].resource.mean / row[i].size),
                    digits_text(most, row[i].resource.max / row[i].size), row[i].unit);
        html_text(html, row[i].note);
        html_markup(html, "</td></tr>\n");
    }
    html_markup(html, "</tbody></table>\n");
}

/* Its values are of equal parts of the time; some may not be known. */
static void put_line(const struct svg_plot *plot, const struct machine_row *row)
{
    const double width = (plot->right - plot->left) / SNAP_COURSE;

    for (size_t i = 0; i < SNAP_COURSE; i++)
        if (isfinite(value_at(row, i)))
            svg_path_level(plot, plot->left + width * (double)i,
                           plot->left + width * (double)(i + 1), value_at(row, i),
                           i > 0 && isfinite(value_at(row, i - 1)));
}

static void put_chart(struct html_page *page, const struct machine_row *row, size_t count)
{
    const struct snap_resources *resources = &page->report.analysis->snapshot->resources;
    struct svg_plot plot = {.html = &page->html,
                            .height = HEIGHT,
                            .left = html_seconds(page, resources->begin_ns),
                            .right = html_seconds(page, resources->end_ns)};
    double largest = 0;
    char class[32];

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < SNAP_COURSE; k++)
            largest = fmax(largest, value_at(&row[i], k));
    plot.top = strcmp(row->unit, "%") == 0 ? 100 : svg_round_up(largest);
    svg_begin(&plot, "machine", "a resource of the machine over time");
    svg_axis_x_time(&plot);
    svg_axis_y(&plot, row->unit, 1);
    svg_shapes(&plot);
    for (size_t i = 0; i < count; i++) {
        snprintf(class, sizeof class, "line l%zu", i);
        svg_path_begin(&plot, class);
        put_line(&plot, &row[i]);
        svg_path_end(&plot);
    }
    svg_end(&plot);
    put_keys(&page->html, row, count);
}

void html_machine(struct html_page *page)
{
    struct machine_rows rows;

    if (!snapshot_is_watched(page->report.analysis->snapshot))
        return;
    html_heading(page, "Machine", "");
    machine_rows_choose(&rows, page->report.analysis->snapshot, page->report.loop);
    for (size_t i = 0, end; i < rows.count; i = end) {
        end = chart_end(&rows, i);
        put_chart(page, &rows.row[i], end - i);
    }
    report_loop_states(&page->report);
    report_gpu_holds(&page->report);
}
