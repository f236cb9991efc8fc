/* Loops and ranks beside each other: the table, and a strip for each over the time of the run. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "html/html_parts.h"
#include "html/svg.h"
#include "stats/robust.h"

enum { STRIPS_MOST = 16, COLUMNS = 120, STRIP_HEIGHT = 16, SHADES = 5 };

/* 0 for what is no slower than usual, up to SHADES - 1 for twice as slow and more. */
static int shade_of(double ns, double usual_ns)
{
    const double slower = usual_ns > 0 ? ns / usual_ns - 1 : 0;

    return slower < 0.05 ? 0 : slower < 0.2 ? 1 : slower < 0.5 ? 2 : slower < 1 ? 3 : 4;
}

static void put_strip(struct html_page *page, const struct snap_loop *loop, size_t number,
                      struct step_bucket *column, double usual_ns)
{
    const struct step_course *course = step_courses_find(page->courses, loop);
    const struct analysis *analysis = page->report.analysis;
    struct svg_plot plot = {.html = &page->html, .height = STRIP_HEIGHT, .top = 1};

    if (!course)
        return;
    plot.right = (double)report_wall_ns(analysis) * 1e-9;
    html_printf(&page->html, "<tr><th>loop %zu%s", number, loop->rank >= 0 ? ", " : "");
    if (loop->rank >= 0)
        html_printf(&page->html, "rank %d", loop->rank);
    html_printf(&page->html,
                "</th><td class=\"b\"><svg class=\"strip\" viewBox=\"0 0 %d %d\" "
                "preserveAspectRatio=\"none\" aria-hidden=\"true\">",
                SVG_WIDTH, STRIP_HEIGHT);
    const size_t count = step_course_columns(course, column, COLUMNS);
    for (int shade = 0; shade < SHADES; shade++) {
        html_printf(&page->html, "<path class=\"heat%d\" d=\"", shade);
        for (size_t i = 0; i < count; i++)
            if (shade_of(step_bucket_mean(&column[i]), usual_ns) == shade)
                svg_path_box(&plot, html_seconds(page, column[i].start_ns),
                             html_seconds(page, column[i].end_ns), 0, 1);
        html_markup(&page->html, "\"/>");
    }
    html_markup(&page->html, "</svg></td></tr>\n");
}

/* The median of the loops' medians: against it a straggler shows. */
static double usual_step(const struct snapshot *snapshot)
{
    double median[STRIPS_MOST], scratch[STRIPS_MOST];
    size_t count = 0;

    for (size_t i = 0; i < snapshot->loop_count && count < STRIPS_MOST; i++)
        if (snapshot->loops[i].quantiles.p50_ns > 0)
            median[count++] = snapshot->loops[i].quantiles.p50_ns;
    return count > 0 ? robust_median(median, count, scratch) : 0;
}

static void put_shades(struct html *html)
{
    static const char *const slower[SHADES] = {"as usual", "by 5 % and more", "20 %", "50 %",
                                               "100 %"};

    html_markup(html, "<ul class=\"keys\">\n");
    for (int shade = 0; shade < SHADES; shade++)
        html_printf(html,
                    "<li><svg class=\"key\" width=\"12\" height=\"12\" "
                    "aria-hidden=\"true\"><rect class=\"heat%d\" width=\"12\" "
                    "height=\"12\"/></svg> %s</li>\n",
                    shade, slower[shade]);
    html_markup(html, "</ul>\n");
}

static void put_strips(struct html_page *page)
{
    const struct snapshot *snapshot = page->report.analysis->snapshot;
    struct step_bucket *column = calloc(COLUMNS, sizeof *column);
    const double usual_ns = usual_step(snapshot);
    char text[UNITS_SIZE], note[128];

    if (!column) {
        sink_fail(page->html.out, SS_E_NOMEM, ENOMEM);
        return;
    }
    snprintf(note, sizeof note, "darker means slower than the typical step (%s)",
             units_duration(text, (int64_t)usual_ns));
    html_heading(page, "Over the run", note);
    put_shades(&page->html);
    html_table_begin(page, " class=\"strips\"");
    html_markup(&page->html, "<tbody>\n");
    for (size_t i = 0; i < snapshot->loop_count && i < STRIPS_MOST; i++)
        put_strip(page, &snapshot->loops[i], i, column, usual_ns);
    html_markup(&page->html, "</tbody>");
    html_table_end(page);
    if (snapshot->loop_count > STRIPS_MOST)
        html_printf(&page->html, "<p class=\"note\">and %zu more</p>\n",
                    snapshot->loop_count - STRIPS_MOST);
    free(column);
}

void html_loops(struct html_page *page)
{
    if (page->report.analysis->snapshot->loop_count < 2)
        return;
    report_loops(&page->report);
    report_ranks(&page->report);
    html_medium_end(page);
    put_strips(page);
}
